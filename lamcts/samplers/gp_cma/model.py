"""The surrogate of `GpCma`: a Gaussian process in the coordinates of the search distribution.

The metric of its kernel is that of C. So a single length scale is enough, and the model is invariant under scaling and
rotation of the box. Losses take one of three transforms: the one whose leave-one-out forecasts rank the better half of
the rows best. Letters: n rows, m points, d coordinates.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.kernel import Hyper
from lamcts.models.known_noise import KnownNoise
from lamcts.models.lbfgsb import lowest
from lamcts.models.output_transforms import plain, rank_correlation, ranks
from lamcts.models.posterior import Posterior, factor
from lamcts.samplers.gp_cma.distribution import Distribution, Whitening
from lamcts.types import Floats, Rows

MAX_ROWS = 300  # rows of the model: more cost time of the factor (development runs: 150 is worse, 600 is level)
ROWS_PER_DIM = 12  # rows of the model (development runs: 20, as Bajer, Pitra and Holena 2019, end higher to 200
# evaluations, and lower under noise and after 1000 in five dimensions)
LENGTHS = tuple(0.5 * 2.0 ** (k / 2) for k in range(9))  # times sqrt(d), the usual distance of a draw from the mean
NOISES = (1e-8, 1e-6, 1e-4, 1e-2, 1e-1)  # variances over that of the Matern part
QUADRATICS = (0.0, 0.1, 1.0, 10.0, 100.0, 1000.0)  # variances over that of the Matern part
GRID_STEPS, GRID_STEPS_FEW, FEW_ROWS = 2, 6, 100  # neighbours tried at each fit; more with fewer rows than FEW_ROWS
TRY_EVERY = 3  # evaluations between trials of another transform (development runs: 1 is level)
SWITCH_RATIO = 0.8  # largest ratio of 1 - rank correlation for a switch of the transform (development runs)
DESCENT_STEPS = 50  # L-BFGS steps down the posterior mean: more cost time, fewer stop above the minimum
SAMPLE_NOISE = 1e-8  # variance over the signal's: keeps the factor of posterior samples at evaluated points finite


class RunPosterior(Posterior):
    """Posterior of the rows of a run, with a weak prior of the signal: a quadratic may explain the rows."""

    signal_shape, signal_rate = 0.0, 1e-3  # a small rate, so that constant losses have a positive signal


@dataclass(frozen=True)
class GridIndex:
    """A point on the grid of hyper-parameters: indices into LENGTHS, NOISES and QUADRATICS. `turn`: next neighbour."""

    length: int = 4
    noise: int = 2
    quadratic: int = 2
    turn: int = 0

    def hyper(self, dim: int) -> Hyper:
        """Return the hyper-parameters at this point, with a common length scale of all coordinates."""
        lengths = np.full(dim, LENGTHS[self.length] * dim**0.5)
        return Hyper(lengths, NOISES[self.noise], quadratic=QUADRATICS[self.quadratic])

    def turned(self) -> "GridIndex":
        """Return the same point with its turn advanced."""
        return replace(self, turn=(self.turn + 1) % 6)

    def neighbour(self) -> "GridIndex | None":
        """Return the next neighbour on the grid, its turn advanced; None beyond the edge."""
        axis, step = divmod(self.turn, 2)
        index = [self.length, self.noise, self.quadratic]
        index[axis] += 1 - 2 * step
        is_inside = 0 <= index[axis] < (len(LENGTHS), len(NOISES), len(QUADRATICS))[axis]
        length, noise, quadratic = index
        return GridIndex(length, noise, quadratic, self.turned().turn) if is_inside else None


@dataclass(frozen=True)
class Fit:
    """State of the fits: the transform in use, the grid index of each transform, and the next one to try.

    tried: number of rows of the run at the last trial of another transform.
    """

    transform: int = 1
    turn: int = 0
    tried: int = 0
    indices: list[GridIndex] = field(default_factory=lambda: [GridIndex() for _ in range(3)])

    def climb(
        self, transform: int, u: Floats, z: Floats, known: KnownNoise | None = None
    ) -> "tuple[RunPosterior, Fit]":
        """Return the posterior of rows `u` [n, d], `z` [n] after a few steps of hill climbing, and the new fit.

        The steps maximise the likelihood.
        """
        n, d = u.shape
        inputs, column = Inputs.of(u), z[:, None]
        index = self.indices[transform]
        best = RunPosterior.of(inputs, column, index.hyper(d), known)
        for _ in range(GRID_STEPS_FEW if n < FEW_ROWS else GRID_STEPS):
            neighbour = index.neighbour()
            index = index.turned()
            if neighbour is None:
                continue
            new = RunPosterior.of(inputs, column, neighbour.hyper(d), known)
            if new.misfit() < best.misfit():
                best, index = new, neighbour
        return best, replace(self, indices=[*self.indices[:transform], index, *self.indices[transform + 1 :]])


class Model(NamedTuple):
    """A fitted posterior in the coordinates of a frame; `correlation`: leave-one-out rank correlation."""

    frame: Whitening
    posterior: Posterior
    correlation: float

    def expect(self, x: Floats) -> Floats:
        """Return the forecasts at `x` [m, d], [m]."""
        return self.posterior.expect(self._inputs(x))[:, 0]

    def minimiser(self, x: Floats, width: float) -> Floats:
        """Return a local minimiser [d] of the forecasts from `x` [d], within `width` deviations of the mean."""
        u = self.frame(x)
        most = width / self.frame.stretch
        low, high = np.minimum(-most, u), np.maximum(most, u)

        def slope(u: Floats) -> tuple[float, Floats]:
            mean, gradient = self.posterior.mean_slopes(Inputs.of(u[None]))
            return float(mean[0, 0]), gradient[0, 0]

        return self.frame.back(lowest(slope, u, low, high, DESCENT_STEPS)[0])

    def sample(self, x: Floats, n: int, pending: Floats, rng: np.random.Generator) -> Floats:
        """Return `n` joint posterior samples at `x` [m, d], [n, m], with fantasies at `pending` [p, d]."""
        posterior = self.posterior.fantasize(self._inputs(pending)) if len(pending) else self.posterior
        mean, share = posterior.joint(self._inputs(x))
        draws = rng.standard_normal((n, len(x))) @ factor(share, SAMPLE_NOISE).T
        result: Floats = mean[:, 0] + np.sqrt(posterior.signal[0]) * draws
        return result

    def _inputs(self, x: Floats) -> Inputs:
        return Inputs.of(self.frame(x))


def fitted(
    distribution: Distribution, x: Floats, y: Floats, fit: Fit, n_rows: int, sems: Floats | None = None
) -> tuple[Model, Fit]:
    """Return the model of rows `x` [n, d], `y` [n] after a step of `fit`, and the next fit.

    n_rows: number of rows of the run. sems: standard errors of the losses [n], nan where unknown; None: all unknown.
    """
    u = distribution.whiten(x)
    stretch = max(1.0, float(np.sqrt(np.median(np.square(u).sum(1)) / x.shape[1])))
    u /= stretch
    z = transforms(y)
    known = [KnownNoise.of(sems, y, losses) for losses in z]
    posterior, fit = fit.climb(fit.transform, u, z[fit.transform], known[fit.transform])
    correlation = left_out_correlation(posterior, y)
    if n_rows - fit.tried >= TRY_EVERY:
        rival = (fit.transform + 1 + fit.turn % 2) % 3
        other, fit = replace(fit, turn=fit.turn + 1, tried=n_rows).climb(rival, u, z[rival], known[rival])
        rival_correlation = left_out_correlation(other, y)
        if 1 - rival_correlation < SWITCH_RATIO * (1 - correlation):
            posterior, correlation = other, rival_correlation
            fit = replace(fit, transform=rival)
    return Model(Whitening.of(distribution, stretch), posterior, correlation), fit


def left_out_correlation(posterior: Posterior, y: Floats) -> float:
    """Return the rank correlation of losses [n] with leave-one-out forecasts, over the better half of the rows."""
    half = np.argsort(y, kind="stable")[: max(10, len(y) // 2)]
    return rank_correlation(posterior.left_out()[half, 0], y[half])


def transforms(y: Floats) -> list[Floats]:
    """Return losses [n] in standard units: gaps to the least, normal scores of ranks, roots of gaps."""
    from scipy.special import ndtri

    gaps = y - y.min()
    gaps = gaps if np.isfinite(gaps).all() else y / 2 - y.min() / 2
    gaps = np.ldexp(gaps, -np.frexp(gaps.max())[1])  # exact; without it, roots depend on powers of two
    return [plain(values) for values in (gaps, ndtri((ranks(y) + 0.5) / len(y)), np.sqrt(gaps))]


def nearest(distribution: Distribution, x: Floats, reach: float | None) -> Rows:
    """Return the rows of `x` [n, d] for the model, the nearest to the mean first; with `reach`, those within it."""
    n, d = x.shape
    squares = np.square(distribution.whiten(x)).sum(1)
    most = min(n, ROWS_PER_DIM * d, MAX_ROWS)
    near: Rows = np.argsort(squares, kind="stable")[:most]
    if reach is not None:
        near = near[: max(min(most, 2 * d + 10), int((squares[near] <= reach**2 * d).sum()))]
    return near
