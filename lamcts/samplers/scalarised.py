"""Views of the observations: bounded columns, and a fixed scalarisation for samplers of a single loss.

The weights and units of a scalarisation are fixed when a session starts. So the loss of a row stays the same, unlike
its constrained rank.
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
from lamcts.types import MAX_SIZE, Floats, Json, JsonValue, Note, Rows


def bounded(numbers: Floats) -> Floats:
    """Return numbers clipped to `MAX_SIZE`, the same array if nothing is clipped."""
    return np.clip(numbers, -MAX_SIZE, MAX_SIZE) if (np.abs(numbers) > MAX_SIZE).any() else numbers


SAME_COLUMNS = ("x", "kind", "seconds", "trial", "source", "good", "feasible")  # equal in a view and the original
SAME_POINTS = ("pending", "pending_x", "unseen", "remaining", "distinct", "exact", "point", "related")
COMPARED = ("plain", "y", "best", "front", "best_row", "constrained_rank", "predicted", "sems", "incomplete")
SAME = frozenset({"dim", "repeat", "keyed", *SAME_COLUMNS, *SAME_POINTS})


class _View:
    """Observations with other columns; names that no search reads raise AttributeError."""

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
        """Return copies of the columns of this view, from row `first`."""
        return Columns.of(self, first)


class BoundedColumns(_View):
    """Observations with columns bounded by `MAX_SIZE`, so that differences do not overflow."""

    same: ClassVar[frozenset[str]] = SAME.union(COMPARED)

    @property
    def f(self) -> Floats:
        return bounded(self._seen.f)

    @property
    def g(self) -> Floats:
        return bounded(self._seen.g)


CORNER_CHANCE = 0.25  # probability of a single objective: more finds the ends of a front, less its middle


def adapt_to_goals(sampler: Sampler, seen: Observations) -> Sampler:
    """Return the sampler, wrapped by `Scalarised` if it does not handle the columns."""
    supports = sampler.supports
    fits = (supports.fronts or seen.f.shape[1] == 1) and (supports.constraints or not seen.g.shape[1])
    return sampler if fits else Scalarised(sampler)


@dataclass(frozen=True)
class Scalarised:
    """Starts searches of a single loss, each with random weights (Knowles, ParEGO, 2006).

    inner: the sampler of these searches.
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
    """Return weights [m] of sum 1: a single objective, or a uniform draw of the simplex."""
    weights: Floats = np.eye(m)[rng.integers(m)] if rng.random() < CORNER_CHANCE else rng.dirichlet(np.ones(m))
    return weights


class _Scalarised:
    """A session that delegates to the inner one; its state also has the scale."""

    def __init__(self, inner: Session, scale: "Weighting") -> None:
        self.inner = inner
        self.scale = scale
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


UNKNOWN_VIOLATION = 1e12  # in units: counts for unmeasured constraints, and bounds the others


@dataclass(frozen=True)
class Weighting:
    """weights [m]; low, spread [m]: least losses, and the median gap to them; unit [c]: median violations."""

    weights: list[float]
    low: list[float]
    spread: list[float]
    unit: list[float]

    def of(self, f: Floats, g: Floats, kind: Rows) -> Floats:
        """Return the scalarised loss of each row, [n], nan for rows without a rank.

        Feasible rows lie in (-1, 1), ordered by the augmented weighted Chebyshev distance of their losses. Infeasible
        rows lie in [2, 3), ordered by the sum of their violations.
        """
        weighted = np.array(self.weights) * bounded((f - self.low) / self.spread)  # [n, m]
        distance = weighted.max(1) + SUM_SHARE * weighted.sum(1)
        excess = np.minimum(g / self.unit, UNKNOWN_VIOLATION)
        violation = np.maximum(np.where(np.isnan(g), UNKNOWN_VIOLATION, excess), 0.0).sum(1)
        loss = np.where(feasible(g, kind), distance / (1 + np.abs(distance)), 2 + violation / (1 + violation))
        return np.where(rankable(g, kind), loss, np.nan)


def weighting_of(seen: Observations, weights: Floats) -> Weighting:
    """Return the scale of a new search."""
    f = seen.f[seen.feasible] if seen.feasible.any() else seen.f[np.isfinite(seen.f).all(1)]
    low = f.min(0) if len(f) else np.zeros(f.shape[1])
    spread = np.median(f, 0) - low if len(f) else np.ones(f.shape[1])
    is_flat = spread == 0  # feasible rows are equal: the spread is that of all rows, or else the size of the loss
    if is_flat.any():
        spread[is_flat] = np.median(np.abs(seen.f[np.isfinite(seen.f).all(1)] - low), 0)[is_flat]
        spread[spread == 0] = np.ldexp(1.0, np.frexp(low[spread == 0])[1])
    unit = [_median_violation(column) for column in seen.g.T]
    return Weighting(weights.tolist(), low.tolist(), spread.tolist(), unit)


def _median_violation(g: Floats) -> float:
    """Return the median violation of a constraint [n]; before the first violation, its median margin."""
    sizes = g[g > 0] if (g > 0).any() else -g[g < 0]
    return float(np.median(sizes)) if len(sizes) else 1.0


class ScalarisedView(_View):
    """Observations of a single loss without constraints: the scalarised loss of each row."""

    plain = True

    def __init__(self, seen: Observations, scale: "Weighting") -> None:
        super().__init__(seen)
        self._scale = scale
        self._losses = np.empty(0)  # scalarised losses of the first rows
        self.predicted: dict[int, Predicted] = {}  # this and the next two refer to columns of the observations
        self.sems = StandardErrors()
        self.incomplete: dict[int, IncompleteRow] = {}

    @property
    def y(self) -> Floats:
        if (first := len(self._losses)) < len(self._seen):
            f, g, kind = self._seen.f[first:], self._seen.g[first:], self._seen.kind[first:]
            self._losses = np.concatenate([self._losses, self._scale.of(f, g, kind)])
        return self._losses

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
    """Return the observations as a single loss, for samplers that read `Observations`."""
    return cast(Observations, ScalarisedView(seen, scale))
