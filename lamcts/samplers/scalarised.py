"""Views of the observations: bounded columns, and a fixed scalarisation for samplers that handle one loss.

Weights and units of a scalarisation are drawn when a session starts and never change. So the loss of a row stays the
same, unlike its constrained rank.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, cast

import numpy as np

from lamcts.outcomes.constrained_rank import feasible, rankable
from lamcts.outcomes.measured import Predicted, StandardErrors
from lamcts.outcomes.observations import Columns, IncompleteRow, Observations, best_of, level_front
from lamcts.outcomes.scalarisation import SUM_SHARE
from lamcts.rng import child
from lamcts.samplers.base import Proposal, Sampler, Session, Supports
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Json, JsonValue, Note, Rows

MAX_SIZE = 1e300  # the largest size of a number that a search sees: 1e8 of them have a finite sum


def bounded(numbers: Floats) -> Floats:
    """Return numbers of at most `MAX_SIZE` in size, the same array where all are."""
    return np.clip(numbers, -MAX_SIZE, MAX_SIZE) if (np.abs(numbers) > MAX_SIZE).any() else numbers


SAME_COLUMNS = ("x", "kind", "seconds", "trial", "source", "good", "feasible")  # of a view and the original
SAME_POINTS = ("pending", "pending_x", "unseen", "remaining", "distinct", "exact", "point", "related")
COMPARED = ("plain", "y", "best", "front", "best_row", "constrained_rank", "predicted", "sems", "incomplete")
SAME = frozenset({"dim", "repeat", "keyed", *SAME_COLUMNS, *SAME_POINTS})


class _View:
    """What a search reads of observations, with other columns; other names raise AttributeError."""

    same: ClassVar[frozenset[str]] = SAME

    def __init__(self, seen: Observations) -> None:
        self._seen = seen

    def __len__(self) -> int:
        return len(self._seen)

    def __getattr__(self, name: str) -> Any:
        if name not in self.same:
            raise AttributeError(f"{type(self).__name__}: expected an attribute that a search reads, got {name!r}")
        return getattr(self._seen, name)

    def columns(self, first: int = 0) -> Columns:
        """Return copies of the columns of this view from row `first` on."""
        return Columns.of(self, first)


class BoundedColumns(_View):
    """Observations with columns bounded by `MAX_SIZE`, compared as the original: differences do not overflow."""

    same: ClassVar[frozenset[str]] = SAME.union(COMPARED)

    @property
    def f(self) -> Floats:
        return bounded(self._seen.f)

    @property
    def g(self) -> Floats:
        return bounded(self._seen.g)


CORNER_CHANCE = 0.25  # chance that a search looks at one objective alone: the ends of a front (untuned)


def adapt_to_goals(sampler: Sampler, seen: Observations) -> Sampler:
    """Return the sampler itself, or one that sees a scalarisation if it does not handle the columns."""
    supports = sampler.supports
    fits = (supports.fronts or seen.f.shape[1] == 1) and (supports.constraints or not seen.g.shape[1])
    return sampler if fits else Scalarised(sampler)


@dataclass(frozen=True)
class Scalarised:
    """Starts searches that each see the rows through weights of their own (Knowles, ParEGO, 2006).

    inner: the sampler.
    """

    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True)
    inner: Sampler

    @property
    def resumable(self) -> bool:
        return self.inner.resumable

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> Session:
        scale = weighting_of(seen, _weights(seen.f.shape[1], child(rng)))
        return _Scalarised(self.inner.start(region, scalarised(seen, scale), rng), scale)

    def restore(self, state: Json, log: list[JsonValue], region: Region, seen: Observations) -> Session:
        scale = Weighting(**state["scale"])
        return _Scalarised(self.inner.restore(state["inner"], log, region, scalarised(seen, scale)), scale)


def _weights(m: int, rng: np.random.Generator) -> Floats:
    """Return weights [m] of sum 1: one objective alone, or evenly from the simplex."""
    weights: Floats = np.eye(m)[rng.integers(m)] if rng.random() < CORNER_CHANCE else rng.dirichlet(np.ones(m))
    return weights


class _Scalarised:
    """A session that goes on as the inner one does; its state holds the scale too."""

    def __init__(self, inner: Session, scale: "Weighting") -> None:
        self.inner, self.scale = inner, scale
        self.log = inner.log  # the same list: it only grows

    @property
    def incumbent(self) -> int | None:
        return self.inner.incumbent

    @property
    def done(self) -> bool:
        return self.inner.done

    def ask(self, n: int) -> Proposal:
        return self.inner.ask(n)

    def tell(self, notes: list[Note], rows: Rows) -> None:
        self.inner.tell(notes, rows)

    def forget(self, notes: list[Note]) -> None:
        self.inner.forget(notes)

    def move(self, region: Region) -> None:
        self.inner.move(region)

    def recenter(self, row: int) -> None:
        self.inner.recenter(row)

    def proposer(self, note: Note) -> str | None:
        return self.inner.proposer(note)

    def state(self) -> Json:
        return {"inner": self.inner.state(), "scale": asdict(self.scale)}


UNKNOWN_VIOLATION = 1e12  # violation, in units, of one that was not measured, and the largest


@dataclass(frozen=True)
class Weighting:
    """weights [m]; low, spread [m]: least losses and their usual distance from them; unit [c]: usual violations."""

    weights: list[float]
    low: list[float]
    spread: list[float]
    unit: list[float]

    def of(self, f: Floats, g: Floats, kind: Rows) -> Floats:
        """Return the number of each row, [n], lower is better, nan for one without a standing.

        Feasible rows lie in (-1, 1) by the augmented weighted Chebyshev distance of their losses, infeasible ones in
        [2, 3) by the sum of their violations.
        """
        lost, violation = bounded((f - self.low) / self.spread), np.minimum(g / self.unit, UNKNOWN_VIOLATION)
        weighted = np.array(self.weights) * lost  # [n, m]
        far = weighted.max(1) + SUM_SHARE * weighted.sum(1)
        over = np.maximum(np.where(np.isnan(g), UNKNOWN_VIOLATION, violation), 0.0).sum(1)
        number = np.where(feasible(g, kind), far / (1 + np.abs(far)), 2 + over / (1 + over))
        return np.where(rankable(g, kind), number, np.nan)


def weighting_of(seen: Observations, weights: Floats) -> Weighting:
    """Return the scale of a search that begins now."""
    f = seen.f[seen.feasible] if seen.feasible.any() else seen.f[np.isfinite(seen.f).all(1)]
    low = f.min(0) if len(f) else np.zeros(f.shape[1])
    spread = np.median(f, 0) - low if len(f) else np.ones(f.shape[1])
    lone = spread == 0  # one row that is feasible, or equal ones: all rows say what is usual, or else its size
    if lone.any():
        spread[lone] = np.median(np.abs(seen.f[np.isfinite(seen.f).all(1)] - low), 0)[lone]
        spread[spread == 0] = np.ldexp(1.0, np.frexp(low[spread == 0])[1])
    return Weighting(weights.tolist(), low.tolist(), spread.tolist(), [_usual(column) for column in seen.g.T])


def _usual(g: Floats) -> float:
    """Return the usual violation of a constraint [n]; of one that was not broken yet, by how much it was kept."""
    sizes = g[g > 0] if (g > 0).any() else -g[g < 0]
    return float(np.median(sizes)) if len(sizes) else 1.0


class ScalarisedView(_View):
    """Observations of one loss without constraints: a weighted value of each row that can be compared."""

    plain = True

    def __init__(self, seen: Observations, scale: "Weighting") -> None:
        super().__init__(seen)
        self._scale, self._number = scale, np.empty(0)  # the weighted value of the first rows
        self.predicted: dict[int, Predicted] = {}  # those of the observations are of the columns, as are these two
        self.sems = StandardErrors()
        self.incomplete: dict[int, IncompleteRow] = {}

    @property
    def y(self) -> Floats:
        if (known := len(self._number)) < len(self._seen):
            f, g, kind = self._seen.f[known:], self._seen.g[known:], self._seen.kind[known:]
            self._number = np.concatenate([self._number, self._scale.of(f, g, kind)])
        return self._number

    @property
    def f(self) -> Floats:
        return self.y[:, None]

    @property
    def g(self) -> Floats:
        return np.empty((len(self), 0))

    @property
    def best(self) -> int | None:
        return self.best_row(self.good)

    @property
    def front(self) -> Rows:
        return level_front(self.feasible, self.y)

    def best_row(self, rows: Iterable[int], current: int | None = None) -> int | None:
        return best_of(self.y, rows, current)

    def constrained_rank(self, rows: Rows) -> Floats:
        return np.asarray(self.y[rows])


def scalarised(seen: Observations, scale: Weighting) -> Observations:
    """Return what a search of one loss reads of observations."""
    return cast(Observations, ScalarisedView(seen, scale))
