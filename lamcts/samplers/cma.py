"""CMA-ES (Hansen and Ostermeier 2001) inside a region, by the library `cma`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import ClassVar

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.session import (
    PROPOSAL_ROUNDS,
    Batch,
    LocalSampler,
    LocalSession,
    Progress,
    bisect_into,
    width,
)
from lamcts.samplers.registry import register
from lamcts.types import Floats, Json, Note, Rows, is_number

# Convergence: steps below TOLX of the space's width (the library: 1e-11), or losses within TOLFUN of the first
# generation's spread (the library: 1e-11 in the unit of the losses). Smaller values give more digits and restart later.
TOLX = 1e-9
TOLFUN = 1e-9


@register("cma", "CMA-ES, for smooth problems and large budgets (extra: cma)")
@dataclass(frozen=True)
class Cma(LocalSampler):
    """CMA-ES by the library `cma`, restricted to the region (extra: cma).

    A session is a run; a restart is a new session. Only the order of losses counts, so proposals are invariant under
    increasing transforms of the objective.

    Parameters
    ----------
    sigma : float, default 0.3
        First step size, as a share of the region's width (Hansen, arXiv 1604.00772). The thesis uses 0.5.
    """

    version: ClassVar[int] = 2  # see lamcts.journal.settings
    sigma: float = 0.3

    def __post_init__(self) -> None:
        if not (is_number(self.sigma) and 0 < self.sigma <= 1):
            raise ValueError(f"sigma: expected a share of the width in (0, 1], got {self.sigma!r}")
        library()  # raises before the initial design is evaluated

    def classes(self) -> tuple[type["_CmaSession"], type["CmaProgress"]]:
        return _CmaSession, CmaProgress


@dataclass
class CmaProgress(Progress):
    generation: list[int] = field(default_factory=list)  # rows of the open generation


class _CmaSession(LocalSession[Cma, CmaProgress]):
    """The log has the start (mean and step) and then the rows of each closed generation.

    The distribution depends on these alone, not on the draws, so replaying them restores it exactly.
    """

    done: bool = False
    _run: "CmaRun | None" = None

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        run = self._run or self._begin()
        if run is not None:
            scatter(batch, lambda k, wider: run.draw(k, self.progress.rng, wider), self._anchors(run))
            batch.fill(self.progress.rng)
        return Proposal(batch.x, [None] * len(batch.x))  # any results close a generation

    def tell(self, notes: list[Note], rows: Rows) -> None:
        super().tell(notes, rows)
        generation = self.progress.generation = self.progress.generation + [int(row) for row in rows]
        n_good = int(np.isfinite(self.seen.y[generation]).sum())
        if self._run is None or self.done or len(generation) < self._run.popsize or n_good < self._run.parents:
            return
        # More results than a generation needs (a large batch) make one large generation with as many parents:
        # they were drawn from one distribution, and a second update on them would move on stale points.
        self._close(self._run, generation)
        self.log.append(generation)
        self.progress.generation = []

    def replay(self) -> None:
        """Repeat the start and the closed generations of the log, without draws."""
        for entry in self.log:
            if self._run is None:
                self._run = self._started(entry)
            else:
                self._close(self._run, entry)

    def _begin(self) -> "CmaRun | None":
        """Start at the best row of the region, or at a draw of the region; None if it is empty."""
        mean = Batch(self.region, self.seen, 1)
        if self.incumbent is None:
            mean.fill(self.progress.rng)
            if mean.missing:
                return None
        start = mean.x[0] if self.incumbent is None else self.seen.x[self.incumbent]
        sigma = self.settings.sigma * width(self.region, self.seen)
        self.log.append({"mean": start.tolist(), "sigma": sigma})
        self._run = self._started(self.log[-1])
        return self._run

    def _started(self, entry: Json) -> "CmaRun":
        """Return the run that starts with the mean and the step of the first log entry."""
        return CmaRun(np.array(entry["mean"]), entry["sigma"])

    def _anchors(self, run: "CmaRun") -> list[Floats]:
        """Return the mean and the incumbent: draws outside the region are pulled towards them."""
        return [run.mean()] if self.incumbent is None else [run.mean(), self.seen.x[self.incumbent]]

    def _close(self, run: "CmaRun", rows: list[int]) -> None:
        run.update(self.seen.x[rows], self.seen.y[rows])
        self.done = run.converged


def scatter(batch: Batch, draw: Callable[[int, float], Floats], anchors: Sequence[Floats]) -> None:
    """Take draws until the batch is full; then pull draws outside towards the first anchor that lies inside.

    `draw(n, wider)` returns `n` points of the cube [n, d], its steps `wider` times as long. anchors: points [d].
    """
    space = batch.region.space
    wider = 1.0
    outside = np.empty((0, space.dim))
    for _ in range(PROPOSAL_ROUNDS):
        if not batch.open:
            return
        x = draw(batch.missing, wider)  # [k, d]
        snapped = space.snap(x)
        inside = batch.region.contains(snapped)
        outside = x[~inside]
        if not batch.take(snapped).any() and inside.any():
            wider *= 2.0  # a discrete space, or a tiny step: all draws are known points
    anchor = _first_inside(batch, anchors)
    if anchor is not None and len(outside):
        batch.take(bisect_into(outside, anchor, batch.region))


def _first_inside(batch: Batch, anchors: Sequence[Floats]) -> Floats | None:
    inside = batch.region.contains(batch.region.space.snap(np.array(anchors)))
    return next((x for x, is_inside in zip(anchors, inside, strict=True) if is_inside), None)


MAX_DEVIATION = 1 / 3  # largest deviation of a coordinate, in widths of the space: the library's default
DIAGONAL_FROM = 1000  # at 6392 dimensions a full covariance takes 327 MB; at 1000 an update takes a tenth of a second


def library() -> ModuleType:
    """Return the module `cma`, or raise MissingExtra."""
    try:
        import cma
    except ImportError:
        raise MissingExtra.of("cma", "cma") from None
    module: ModuleType = cma
    return module


class CmaRun:
    """The library's evolution strategy on ranks, without output, files and seeds."""

    def __init__(self, mean: Floats, sigma: float) -> None:
        cma = library()
        dim = len(mean)
        self._rng = np.random.default_rng(0)
        options: dict[str, object] = {
            "bounds": [0, 1],
            "seed": math.nan,  # with `randn`: does not use numpy's global generator
            "randn": self._normal,
            "CMA_diagonal": dim >= DIAGONAL_FROM,
            "CMA_mirrors": 0,  # mirrors and two-point step-size adaptation need whole generations in fixed order
            "AdaptSigma": cma.sigma_adaptation.CMAAdaptSigmaCSA,
            "tolx": TOLX,
            # The values are ranks: `update` tests the losses themselves.
            "tolfun": 0,
            "tolfunhist": 0,
            "tolstagnation": 0,
            "verbose": -9,
            "verb_log": 0,
            "verb_disp": 0,
            "signals_filename": "",
        }
        if dim == 1:  # the library's limit of the steps raises there (cma 4.5)
            options["maxstd_boundrange"] = math.inf
        self._strategy = cma.CMAEvolutionStrategy(mean, sigma, options)
        self.popsize = int(self._strategy.popsize)
        self.parents = int(self._strategy.sp.weights.mu)
        self._window = 10 + math.ceil(30 * dim / self.popsize)  # generations; Hansen's TolHistFun
        self._bests: list[float] = []  # best value of each generation
        self._scale: float | None = None
        self._is_flat = False

    def _normal(self, *shape: int) -> Floats:
        return self._rng.standard_normal(shape)

    def draw(self, n: int, rng: np.random.Generator, wider: float = 1.0) -> Floats:
        """Return `n` draws of the distribution with a step `wider` times as long, [n, d] in the cube."""
        self._rng = rng
        return np.array(self._strategy.ask(n, sigma_fac=wider))

    def mean(self) -> Floats:
        """Return the mean of the distribution, [d] in the cube."""
        strategy = self._strategy
        return np.array(strategy.boundary_handler.repair(strategy.mean))

    def update(self, x: Floats, y: Floats) -> None:
        """Close a generation: `x` [k, d] and `y` [k]; nan is a failure, worse than all others."""
        good = np.isfinite(y)
        ranks = np.full(len(y), float(len(y)))
        ranks[good] = np.unique(y[good], return_inverse=True)[1]
        # The library requires an ask before each tell, also in a replay; the draw is not used.
        self.draw(1, np.random.default_rng(0))
        # Without the sent solutions, the library learns from the evaluated points: snapped, and pulled inside.
        self._strategy.sent_solutions.clear()
        self._strategy.tell(list(x.copy()), ranks.tolist())
        if x.shape[1] == 1:
            widest = float(self._strategy.stds[0])
            self._strategy.sigma *= min(1.0, MAX_DEVIATION / widest)
        low, high = float(y[good].min()), float(y[good].max())
        span = high / 2 - low / 2  # halves, for values near the largest float
        self._scale = span if self._scale is None else self._scale
        self._bests = [*self._bests, low][-self._window :]
        history = max(self._bests) / 2 - min(self._bests) / 2
        self._is_flat = len(self._bests) == self._window and max(span, history) <= TOLFUN * self._scale

    @property
    def converged(self) -> bool:
        return self._is_flat or bool(self._strategy.stop())
