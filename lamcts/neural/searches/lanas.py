"""LaNAS: a full tree of linear splits, refitted in rounds, and draws inside its leaves (thesis ch. 4).

Letters: n rows, d coordinates.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from lamcts import LatentTree
from lamcts.neural.searches.surrogate import RewardModel, Ridge
from lamcts.rng import derive
from lamcts.samplers import Batch, LaMcts, LocalSampler, LocalSession, Progress, Proposal
from lamcts.tree import Linear
from lamcts.types import Floats, Rows, whole_number

if TYPE_CHECKING:
    from lamcts.outcomes.observations import Observations
    from lamcts.spaces.base import SearchSpace
    from lamcts.spaces.regions.region import Region, Step


HEIGHT, FIRST, SELECTS = 8, 200, 50  # thesis 4.3.1
SHARE = 0.1  # c relative to the largest value (thesis 4.3.1, "Hyper-parameters tuning")
RIDGE = Ridge()
UNIT = 2 * math.sqrt(2)  # LatentTree's bound has 2 cp sqrt(2 log n / m), (4.3) has c sqrt(log n / m)
FIRST_DRAWS, BLOCK = 1024, 8192  # draws of the whole space in the first and in later blocks (untuned)
LISTED = 500_000  # largest space whose points are enumerated (untuned)
KEPT = 600  # regions whose rows are cached: a few trees of 255 nodes (untuned)
MOST, MANY = 20_000, 100_000  # rows of a region that are shuffled; above MANY, rows are drawn instead (untuned)
LOOKED = 16  # draws checked at a time: the check of equal networks is slow


def improved(
    largest: float = 100.0, *, first: int | None = None, selects: int | None = None, model: RewardModel = RIDGE
) -> dict[str, Any]:
    """Return the recommended settings of LaNAS: the published tree with model-guided draws in each leaf.

    Parameters
    ----------
    largest : float, default 100.0
        Largest possible value in the objective's unit, such as 100 for accuracies in per cent.
    first : int or None, default None
        Random initial points. None is 200 as published, at most a quarter of the budget of `lamcts.maximize`.
    selects : int or None, default None
        Evaluations between two fits of the tree and of the model. None is a quarter of the initial points, 50 of 200 as
        published.
    model : RewardModel, default Ridge()
        Surrogate model as in `Leaf`; a ridge regression fits in milliseconds.

    Notes
    -----
    A ridge regression of all evaluations selects the network inside the leaf. The regressions of the tree see ranks.
    benchmarks/neural/nas/lanas.py compares both settings on NAS-Bench-101.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.neural.searches import lanas
    >>> f = lamcts.objectives.make("digits4096")
    >>> result = lamcts.maximize(f, budget=60, seed=0, **lanas.improved())
    >>> result.fun > 98
    True
    """
    return _settings(largest, HEIGHT, first, selects, SHARE, model, Linear(min_share=0.0))


def published(
    largest: float = 100.0,
    *,
    height: int = HEIGHT,
    first: int | None = None,
    selects: int | None = None,
    share: float = SHARE,
    model: RewardModel | None = None,
) -> dict[str, Any]:
    """Return the settings of the thesis: raw values, linear splits, uniform draws in the leaf.

    Parameters
    ----------
    largest : float, default 100.0
        Largest possible value in the objective's unit, such as 100 for accuracies in per cent.
    height : int, default 8
        Splits on every path; thesis 4.3.1; the published code: 4.
    first : int or None, default None
        Random initial points. None is 200, thesis 4.3.1, at most a quarter of the budget of `lamcts.maximize`; the
        published code: 10.
    selects : int or None, default None
        Evaluations between two fits of the tree. None is a quarter of the initial points, 50 of 200, thesis 4.3.1; the
        published code: 20.
    share : float, default 0.1
        The constant c of (4.3), relative to `largest`; thesis 4.3.1; the published code: 0.28 by its bound, of 1.
    model : RewardModel, default None
        Surrogate model as in `Leaf`; None: uniform draws. The thesis compares both (fig. 4.5).

    Notes
    -----
    Ask for one point at a time: each select counts all earlier results (alg. 5). What differs: the regression of a node
    is a ridge regression on standardised rows, of at most 2000; a node with fewer than four rows, or with equal values,
    is a leaf above the tree's height.
    """
    return _settings(largest, height, first, selects, share, model, Linear(min_share=0.0, units="raw"))


def _settings(
    largest: float,
    height: int,
    first: int | None,
    selects: int | None,
    share: float,
    model: RewardModel | None,
    splitter: Linear,
) -> dict[str, Any]:
    if not 0 < largest < math.inf:
        raise ValueError(f"lanas: expected a largest value above 0, got {largest!r}: 100.0 for accuracies in per cent")
    cp = share * largest / UNIT
    whole_number(selects, "lanas: selects", optional=True)
    tree = LatentTree(height=height, refit=selects, values="raw", cp=cp, splitter=splitter)
    given = {} if first is None else {"n_init": first}
    return {"sampler": LaNas(Leaf(model=model), tree), "design": "uniform", **given}


class LaNas(LaMcts):  # type: ignore[misc]  # which loads when it is first used
    """LaNAS before the number of its initial points is known, in proportion to which it may refit its tree."""

    n_init = FIRST

    def after_design(self, n_init: int | None) -> tuple[int, LaMcts]:
        """Return the number of initial points (None: as published) and the search that follows them."""
        n = self.n_init if n_init is None else whole_number(n_init, "n_init", least=0)
        refit = self.tree.refit or max(1, n * SELECTS // FIRST)
        return n, LaMcts(replace(self.inner, refit=refit), replace(self.tree, refit=refit))


@dataclass(frozen=True)
class Leaf(LocalSampler):
    """Draw uniformly from the leaf that the tree selects, by rejection (pi_rand of the thesis).

    model: surrogate model that chooses among the draws (None: the first draw).
    candidates: draws that the model compares (500); untuned.
    refit: evaluations between two fits of the model (50); as the tree, thesis 4.3.1.
    draws: draws of the whole space per proposal, at most (65,536); untuned.
    """

    model: RewardModel | None = None
    candidates: int = 500
    refit: int = 50
    draws: int = 65_536

    def __post_init__(self) -> None:
        whole_number(self.candidates, "Leaf: candidates")
        whole_number(self.refit, "Leaf: refit")
        whole_number(self.draws, "Leaf: draws")

    @cached_property
    def _runs(self) -> 'WeakKeyDictionary["Observations", _Shared]':
        """The state that the leaves of each run share."""
        return WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        """Return the settings alone: the state of runs is rebuilt from their evaluations."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def shared(self, seen: "Observations", space: "SearchSpace") -> "_Shared":
        """Return the state that the leaves of one run share."""
        if seen not in self._runs:
            self._runs[seen] = _Shared(self, space)
        return self._runs[seen]

    def classes(self) -> tuple[type["_LeafSession"], type[Progress]]:
        return _LeafSession, Progress


class _LeafSession(LocalSession[Leaf, Progress]):
    def __init__(self, settings: Leaf, region: "Region", seen: "Observations", progress: Progress) -> None:
        super().__init__(settings, region, seen, progress)
        self._shared = settings.shared(seen, region.space)

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
        """Take the draws with the best predictions."""
        x = self._candidates()
        x = x[np.argsort(-self._shared.predicted(self.seen, x), kind="stable")] if len(x) else x
        for i in range(0, len(x), LOOKED):
            batch.take(x[i : i + LOOKED])
            if not batch.open:
                return

    def _candidates(self) -> Floats:
        """Return unevaluated draws inside the leaf for the model, at most `candidates`: [k, d]."""
        most, found = self.settings.candidates, [np.empty((0, self.seen.dim))]
        for x in self._inside():
            for i in range(0, len(x), most):
                found.append(x[i : i + most][self.seen.unseen(x[i : i + most])])
                if sum(map(len, found)) >= most:
                    return np.vstack(found)[:most]
        return np.vstack(found)

    def _inside(self) -> Iterator[Floats]:
        """Yield blocks of draws inside the region; for an enumerated space, its shuffled points."""
        space, drawn, size = self.region.space, 0, FIRST_DRAWS
        if self._shared.listed is not None:
            yield self._shared.listed.shuffled(self.region.steps, self.progress.rng)
            return
        while drawn < self.settings.draws:
            x = space.sample(min(size, self.settings.draws - drawn), self.progress.rng)
            drawn, size = drawn + len(x), BLOCK
            yield x[self.region.contains(x)]


class _Shared:
    """State that the leaves of one run share: the enumerated points and the fitted model."""

    def __init__(self, settings: Leaf, space: "SearchSpace") -> None:
        self._settings, self._space = settings, space
        self._fitted_rows = 0
        self._predict: Callable[[Floats], Floats] | None = None

    @cached_property
    def listed(self) -> "_Listed | None":
        space = self._space
        rows = space.rows() if space.size <= LISTED and hasattr(space, "rows") else None
        return None if rows is None else _Listed(rows)

    def predicted(self, seen: "Observations", x: Floats) -> Floats:
        """Return the predictions [n] at `x` [n, d] of the model fitted to all full rounds; higher is better."""
        whole = len(seen.good) // self._settings.refit * self._settings.refit
        if whole != self._fitted_rows:
            rows: Rows = seen.good[:whole]
            model = self._settings.model
            assert model is not None, "asked for predictions only with a model"
            # the seed depends on the round alone, so that a resumed run fits the same model
            self._predict = model.fit(seen.x[rows], _ranks(seen.y[rows]), derive(0, whole))
            self._fitted_rows = whole
        assert self._predict is not None, "fitted above"
        return self._predict(x)


class _Listed:
    """All points of a space, x [n, d], with the cached rows of each region of the tree."""

    def __init__(self, x: Floats) -> None:
        self.x = x
        self._inside: dict[
            tuple[tuple[int, bool], ...], tuple[Rows, tuple[Step, ...]]
        ] = {}  # by path, with the steps, so that ids of splits stay unique

    def shuffled(self, steps: "tuple[Step, ...]", rng: np.random.Generator) -> Floats:
        """Return at most `MOST` points of a region in random order."""
        rows = self._rows(steps)
        return self.x[rng.permutation(rows)[:MOST] if len(rows) <= MANY else rows[rng.integers(len(rows), size=MOST)]]

    def _rows(self, steps: "tuple[Step, ...]") -> Rows:
        """Return the rows of a region; splits stay the same objects until the tree is refitted."""
        path = tuple((id(split), good) for split, good in steps)  # custom splits need not be hashable
        if path not in self._inside:
            if len(self._inside) >= KEPT:
                self._inside.clear()
            rows = self._rows(steps[:-1]) if steps else np.arange(len(self.x))
            if steps:
                split, good = steps[-1]
                x = self.x if len(rows) == len(self.x) else self.x.take(rows, axis=0)  # avoids a copy of all points
                rows = rows[split.good(x) == good]
            self._inside[path] = rows, steps
        return self._inside[path][0]


def _ranks(losses: Floats) -> Floats:
    """Return ranks in [0, 1], 1 for the lowest loss: a scale independent of the objective."""
    return 1 - losses.argsort(kind="stable").argsort(kind="stable") / max(len(losses) - 1, 1)
