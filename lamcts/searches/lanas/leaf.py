"""Draws inside the leaf that the tree selects: what LaNAS does there (thesis 4.2.2). Letters: n rows, d coordinates."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from lamcts.rng import derive
from lamcts.samplers import Batch, LocalSampler, LocalSession, Progress, Proposal
from lamcts.searches.alphax.ridge import Model
from lamcts.types import Floats, Rows, whole_number

if TYPE_CHECKING:
    from lamcts.observations import Observations
    from lamcts.regions.region import Region

FIRST, BLOCK = 1024, 8192  # draws of the whole space at a time, the first and then (untuned)
LISTED = 500_000  # points of a space up to which all are looked at, once for each part of the tree (untuned)
KEPT = 600  # parts whose points are remembered: some trees of 255 (untuned)
MOST, MANY = 20_000, 100_000  # points of a part that are gone through; of more, as many draws of them (untuned)
LOOKED = 16  # draws inside that are looked up at a time: one is wanted, and to tell a network by its graph takes long


@dataclass(frozen=True)
class Leaf(LocalSampler):
    """Draw from the whole space until a draw is fresh and inside: uniform in the leaf (pi_rand of the thesis).

    With a model it is pi_bayes: of some draws inside, the one of the highest expected improvement. A meta-DNN's error
    is taken to be the same everywhere, so that this is the one of the best prediction.

    model: what predicts from the rows of the whole space: an object with `fit`, such as `searches.alphax.Ridge()` or
        `lamcts.neural.metadnn.MetaDnn()` (None: no model); paper: none, or the meta-DNN.
    candidates: draws inside that the model compares (500; points); untuned; paper: not stated.
    refit: results between two fits of the model (50; rows); as the tree of LaNAS.
    draws: of the whole space at most, before a leaf counts as spent and the part above it is drawn from (65536;
        points); untuned; paper: none.
    """

    model: Model | None = None
    candidates: int = 500
    refit: int = 50
    draws: int = 65_536

    def __post_init__(self) -> None:
        for name in ("candidates", "refit", "draws"):
            whole_number(getattr(self, name), f"Leaf: {name}")

    def start(self, region: "Region", seen: "Observations", rng: np.random.Generator) -> "_LeafSession":
        return _LeafSession(self, region, seen, Progress(rng, seen.best_row(region.rows)))


class _LeafSession(LocalSession[Leaf, Progress]):
    def __init__(self, settings: Leaf, region: "Region", seen: "Observations", progress: Progress) -> None:
        super().__init__(settings, region, seen, progress)
        self._shared = SHARED.setdefault(seen, {}).setdefault(repr(settings), _Shared(settings, region.space))

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        if self.settings.model is None or len(self.seen.good) < self.settings.refit:
            self._draw(batch)
        else:
            self._choose(batch)
        return Proposal(batch.x, [None] * len(batch.x))

    def _draw(self, batch: Batch) -> None:
        for x in self._inside():
            for i in range(0, len(x), LOOKED):
                batch.take(x[i : i + LOOKED])
                if not batch.open:
                    return

    def _choose(self, batch: Batch) -> None:
        """Take the best predicted of the draws that are new."""
        x = self._candidates()
        x = x[np.argsort(-self._shared.predicted(self.seen, x), kind="stable")] if len(x) else x
        for i in range(0, len(x), LOOKED):
            batch.take(x[i : i + LOOKED])
            if not batch.open:
                return

    def _candidates(self) -> Floats:
        """Return as many new draws inside as the model compares, [k, d], fewer where there are no more.

        What is known, or no network, takes no place: else a part of which most is known would count as spent.
        """
        most, found = self.settings.candidates, [np.empty((0, self.seen.dim))]
        for x in self._inside():
            for i in range(0, len(x), most):
                found.append(x[i : i + most][self.seen.unseen(x[i : i + most])])
                if sum(map(len, found)) >= most:
                    return np.vstack(found)[:most]
        return np.vstack(found)

    def _inside(self) -> Iterator[Floats]:
        """Yield draws inside the region, block by block; of a space whose points are listed all inside, shuffled."""
        space, drawn, size = self.region.space, 0, FIRST
        if self._shared.listed is not None:
            yield self._shared.listed.shuffled(self.region.steps, self.progress.rng)
            return
        while drawn < self.settings.draws:
            x = space.sample(min(size, self.settings.draws - drawn), self.progress.rng)
            drawn, size = drawn + len(x), BLOCK
            yield x[self.region.contains(x)]


class _Shared:
    """What the searches of one run have in common, as each leaf has its own: the list of points, and the model."""

    def __init__(self, settings: Leaf, space: Any) -> None:
        self._settings, self._space = settings, space
        self._learnt, self._predict = 0, None

    @cached_property
    def listed(self) -> "_Listed | None":
        space = self._space
        rows = space.rows() if space.size <= LISTED and hasattr(space, "rows") else None
        return None if rows is None else _Listed(rows)

    def predicted(self, seen: "Observations", x: Floats) -> Floats:
        """Return what the model of the rows up to the last round expects of `x` [n, d], higher is better, [n]."""
        whole = len(seen.good) // self._settings.refit * self._settings.refit
        if whole != self._learnt:
            rows: Rows = seen.good[:whole]
            model: Any = self._settings.model
            # the seed is no search's own: whichever asks first, after a resume too, the model is the same
            self._predict = model.fit(seen.x[rows], _ranks(seen.y[rows]), derive(0, whole))
            self._learnt = whole
        fitted: Any = self._predict
        predicted: Floats = fitted(x)
        return predicted


SHARED: WeakKeyDictionary["Observations", dict[str, _Shared]] = WeakKeyDictionary()  # of each run by the settings


class _Listed:
    """All points of a space, x [n, d], and which of them lie in the parts that the tree has now."""

    def __init__(self, x: Floats) -> None:
        self.x = x
        self._inside: dict[Any, tuple[Rows, Any]] = {}  # by path; with its steps, so that no new split has an old id

    def shuffled(self, steps: tuple[Any, ...], rng: np.random.Generator) -> Floats:
        """Return the points at the end of a path in random order; where there are more, `MOST` of them."""
        rows = self._rows(steps)
        return self.x[rng.permutation(rows)[:MOST] if len(rows) <= MANY else rows[rng.integers(len(rows), size=MOST)]]

    def _rows(self, steps: tuple[Any, ...]) -> Rows:
        """Return the rows at the end of a path. Splits stay the same objects until the tree is learned anew."""
        path = tuple((id(split), good) for split, good in steps)  # a split of anybody's may have no hash
        if path not in self._inside:
            if len(self._inside) >= KEPT:
                self._inside.clear()
            rows = self._rows(steps[:-1]) if steps else np.arange(len(self.x))
            if steps:
                split, good = steps[-1]
                x = self.x if len(rows) == len(self.x) else self.x.take(rows, axis=0)  # a copy of all takes long
                rows = rows[split.good(x) == good]
            self._inside[path] = rows, steps
        return self._inside[path][0]


def _ranks(losses: Floats) -> Floats:
    """Return places in [0, 1], 1 for the lowest loss: a scale that fits a model whatever the objective."""
    return 1 - losses.argsort(kind="stable").argsort(kind="stable") / max(len(losses) - 1, 1)
