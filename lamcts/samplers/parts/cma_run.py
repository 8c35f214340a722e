"""Calling the library `cma`: its evolution strategy, fed with ranks, one generation after the other."""

import math
from typing import Any

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.types import Floats

WIDEST = 1 / 3  # most deviation of a coordinate, in widths of the space: the library's own default
DIAGONAL_FROM = 1000  # at 6392 dimensions a full covariance takes 327 MB; at 1000 an update takes a tenth of a second


def library() -> Any:
    """Return the module `cma`, or raise MissingExtra."""
    try:
        import cma
    except ImportError:
        raise MissingExtra.of("cma", "cma") from None
    return cma


class CmaRun:
    """The library's evolution strategy, fed with ranks, with everything switched off that prints, writes or seeds."""

    def __init__(
        self, mean: Floats, sigma: float, *, popsize: int | None, diagonal: bool | None, tolx: float, tolfun: float
    ) -> None:
        cma, dim = library(), len(mean)
        self._rng = np.random.default_rng(0)
        options: dict[str, Any] = {
            "bounds": [0, 1],
            "seed": math.nan,  # together with `randn`: leave numpy's global generator alone
            "randn": lambda *shape: self._rng.standard_normal(shape),
            "CMA_diagonal": dim >= DIAGONAL_FROM if diagonal is None else diagonal,
            "CMA_mirrors": 0,  # mirrors and two-point step-size adaptation need whole generations in fixed order
            "AdaptSigma": cma.sigma_adaptation.CMAAdaptSigmaCSA,
            "tolx": tolx,
            # The values are ranks: what these tests look for is tested below, on a scale of the run's own.
            "tolfun": 0,
            "tolfunhist": 0,
            "tolstagnation": 0,
            "verbose": -9,
            "verb_log": 0,
            "verb_disp": 0,
            "signals_filename": "",
        }
        if dim == 1:  # the library's own limit of the steps raises there (cma 4.5)
            options["maxstd_boundrange"] = math.inf
        if popsize is not None:
            options["popsize"] = popsize
        self._strategy = cma.CMAEvolutionStrategy(mean, sigma, options)
        self._tolfun = tolfun
        self.popsize = int(self._strategy.popsize)
        self.parents = int(self._strategy.sp.weights.mu)
        self._window = 10 + math.ceil(30 * dim / self.popsize)  # generations; Hansen's TolHistFun
        self._bests: list[float] = []  # best value of each generation
        self._scale: float | None = None
        self._flat = False

    def draw(self, n: int, rng: np.random.Generator, wider: float = 1.0) -> Floats:
        """Return `n` draws of the current distribution, its step `wider` times as long, [n, d] in the cube."""
        self._rng = rng
        return np.array(self._strategy.ask(n, sigma_fac=wider))

    def mean(self) -> Floats:
        """Return the mean of the distribution, [d] in the cube."""
        strategy = self._strategy
        return np.array(strategy.boundary_handler.repair(strategy.mean))

    def update(self, x: Floats, y: Floats) -> None:
        """Close a generation: `x` [k, d] and `y` [k], nan for failures, which count as worse than the worst."""
        good = np.isfinite(y)
        ranks = np.full(len(y), float(len(y)))
        ranks[good] = np.unique(y[good], return_inverse=True)[1]
        # The library wants an ask before each tell; this one stands for those of a replay, and its draw is not used.
        self.draw(1, np.random.default_rng(0))
        # Forget what was sent: the library then learns from the points as they were evaluated, snapped and pulled.
        self._strategy.sent_solutions.clear()
        self._strategy.tell(list(x.copy()), ranks.tolist())
        if x.shape[1] == 1:
            widest = float(self._strategy.stds[0])
            self._strategy.sigma *= min(1.0, WIDEST / widest)
        low, high = float(y[good].min()), float(y[good].max())
        span = high / 2 - low / 2  # halves, for values near the largest float
        self._scale = span if self._scale is None else self._scale
        self._bests = [*self._bests, low][-self._window :]
        history = max(self._bests) / 2 - min(self._bests) / 2
        self._flat = len(self._bests) == self._window and max(span, history) <= self._tolfun * self._scale

    @property
    def converged(self) -> bool:
        return self._flat or bool(self._strategy.stop())
