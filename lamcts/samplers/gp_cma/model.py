"""The surrogate of `GpCma`: a Gaussian process in the coordinates of the search distribution.

The metric of its kernel is that of C, so one length scale is enough, and the model does not change when the box is
scaled or rotated. Losses enter by one of three transforms, that whose leave-one-out forecasts order the better half of
the rows best. Letters: n rows, m points, d coordinates.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lamcts.models.gp import grown_noise
from lamcts.models.kernel import matern
from lamcts.models.known_noise import KnownNoise, settle
from lamcts.models.lbfgsb import Limits, lowest
from lamcts.models.output_transforms import Scale, rank_correlation, ranks
from lamcts.samplers.gp_cma.distribution import Distribution, Whitening
from lamcts.types import Floats, Rows

MAX_ROWS = 300  # the cost of a factor (development runs: 150 is worse, 600 is level)
ROWS_PER_DIM, MIN_ROWS = 20, 50  # Bajer, Pitra and Holena 2019 (DTS-CMA-ES): 20 d
LENGTHS = tuple(0.5 * 2.0 ** (k / 2) for k in range(9))  # times sqrt(d), the usual distance of a draw from the mean
NOISES = (1e-8, 1e-6, 1e-4, 1e-2, 1e-1)  # of the Matern part's variance
QUADRATICS = (0.0, 0.1, 1.0, 10.0, 100.0, 1000.0)  # of the Matern part's variance
GRID_STEPS, GRID_STEPS_FEW, FEW_ROWS = 2, 6, 100  # neighbours tried at each fit; of fewer rows than the last, more
TRY_EVERY = 3  # evaluations, after which another transform is tried (development runs: 1 is level)
SWITCH_RATIO = 0.8  # of the transform's 1 - rank correlation, which another must be below (development runs)
DESCENT_STEPS = 50  # of L-BFGS down the posterior mean (untuned)
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)  # of the mean variance, until Cholesky succeeds (untuned)
SAMPLE_NOISE = 1e-8  # of the signal: posterior samples at known points stay finite (untuned)
SIGNAL_PRIOR = 1e-3  # sum of squares that constant losses count as (untuned)


@dataclass(frozen=True)
class HyperParameters:
    """length: of the Matern part; noise and quadratic: variances, that of the Matern part being 1."""

    length: float
    noise: float
    quadratic: float


class Process:
    """The process given rows `u` [n, d] and losses `z` [n] in standard units.

    Its kernel is `matern(u, v) + quadratic ((1 + u.v / d)^2 - 1)`: the second part makes any quadratic a cheap guess.
    known: the known noise of the rows.
    """

    def __init__(self, u: Floats, z: Floats, hyper: HyperParameters, known: KnownNoise | None = None) -> None:
        self.u, self.hyper = u, hyper
        if known is None:
            self._take(hyper.noise, z)
        else:
            settle(lambda signal: self._signal_with(known, signal, z))

    def _take(self, noise: float | Floats, z: Floats) -> None:
        """Take the noise of the rows as shares of the signal's variance, and losses."""
        self.noise = noise
        self.root = factor(self.kernel(self.u, self.u), noise)  # [n, n], lower
        self.refit(z)

    def _signal_with(self, known: KnownNoise, guess: float, z: Floats) -> float:
        """Take known noise as a share of a guess of the signal's variance; return the variance that is likely then."""
        self._take(known.diagonal(self.hyper.noise, guess), z)
        self.misfit += len(z) / 2 * (np.log(guess / self.signal) + self.signal / guess - 1)  # at the guess
        return self.signal

    def kernel(self, a: Floats, b: Floats) -> Floats:
        """Return the covariances of `a` [n, d] and `b` [m, d] in units of the signal, [n, m]."""
        k = matern(a / self.hyper.length, b / self.hyper.length)
        if self.hyper.quadratic:
            inner = a @ (b.T / a.shape[1])
            inner *= inner + 2  # (1 + inner)^2 - 1
            inner *= self.hyper.quadratic
            k += inner
        return k

    def refit(self, z: Floats) -> None:
        """Take other losses of the same rows; mean and signal become the most likely ones."""
        n = len(z)
        self.z = z
        white = self._whiten(np.column_stack([z, np.ones(n)]))
        self.mean = float(white[:, 0] @ white[:, 1] / (white[:, 1] @ white[:, 1]))
        rest = white[:, 0] - self.mean * white[:, 1]
        self.signal = float(rest @ rest / 2 + SIGNAL_PRIOR) / (n / 2 + 1)
        self.weights = self._unwhiten(rest)  # [n], K^-1 (z - mean)
        self.misfit = n / 2 * np.log(self.signal) + float(np.log(self.root.diagonal()).sum())  # -log likelihood

    def expect(self, u: Floats) -> Floats:
        """Return the posterior mean at `u` [m, d], [m]."""
        return self.mean + self.kernel(u, self.u) @ self.weights

    def slope(self, u: Floats) -> tuple[float, Floats]:
        """Return the posterior mean at one point `u` [d], and its gradient [d]."""
        gap = (u - self.u) / self.hyper.length
        r = np.sqrt(5.0 * np.square(gap).sum(1))
        falling = np.exp(-r) * self.weights
        value = self.mean + float((1 + r + r * r / 3) @ falling)
        gradient: Floats = (-5 / 3 * (1 + r) * falling) @ gap / self.hyper.length
        if self.hyper.quadratic:
            d, p = len(u), 1 + self.u @ u / len(u)
            value += self.hyper.quadratic * float(self.weights @ (p * p - 1))
            gradient = gradient + (2 * self.hyper.quadratic / d) * ((self.weights * p) @ self.u)
        return value, gradient

    def sample(self, u: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` joint samples of the posterior at `u` [m, d], [n, m]."""
        cross = self.kernel(u, self.u)
        white = self._whiten(cross.T)
        root = factor(self.kernel(u, u) - white.T @ white, SAMPLE_NOISE)
        draws: Floats = rng.standard_normal((n, len(u))) @ root.T
        draws *= np.sqrt(self.signal)
        draws += self.mean + cross @ self.weights
        return draws

    def left_out(self) -> Floats:
        """Return the forecast of each row from all others, [n] (Rasmussen and Williams 2006, eq. 5.12)."""
        from scipy.linalg.lapack import dtrtri

        inverse, _ = dtrtri(self.root, lower=1)  # of L; K^-1 = L^-T L^-1
        result: Floats = self.z - self.weights / np.einsum("ij,ij->j", inverse, inverse)
        return result

    def fantasize(self, u: Floats) -> "Process":
        """Return the process as if `u` [k, d] had come out at their forecasts (kriging believer)."""
        other = Process.__new__(Process)
        other.u, other.hyper, other.mean, other.signal = np.concatenate([self.u, u]), self.hyper, self.mean, self.signal
        other.noise = grown_noise(self.noise, len(u), self.hyper.noise)
        other.root = factor(other.kernel(other.u, other.u), other.noise)
        other.z = np.concatenate([self.z, self.expect(u)])
        other.weights = other._unwhiten(other._whiten(other.z - self.mean))
        return other

    def _whiten(self, b: Floats) -> Floats:
        """With `K = L L^T`, return `v` such that `L v = b`, for `b` [n] or [n, k]."""
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self.root, b.reshape(len(b), -1), lower=1)
        return result.reshape(b.shape)

    def _unwhiten(self, v: Floats) -> Floats:
        """With `K = L L^T`, return `w` such that `L^T w = v`, for `v` [n]."""
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self.root, v[:, None], lower=1, trans_a=1)[:, 0]
        return result


def factor(kernel: Floats, noise: float | Floats) -> Floats:
    """Return lower `L` [n, n] with `L L^T = kernel + noise I`; of its diagonal alone where rounding forbids it."""
    from scipy.linalg.lapack import dpotrf

    n, level = len(kernel), kernel.diagonal().copy()
    for jitter in JITTERS:
        kernel.flat[:: n + 1] = level + (noise + jitter * level.mean())
        root, info = dpotrf(kernel.T, lower=1, clean=1)  # kernel.T: the same symmetric matrix in Fortran order
        if not info:
            result: Floats = root
            return result
    return np.asfortranarray(np.diag(np.sqrt(np.maximum(level, 0.0) + noise)))


@dataclass
class GridIndex:
    """A point on the grid of hyper-parameters: indices into LENGTHS, NOISES and QUADRATICS, and the next neighbour."""

    length: int = 4
    noise: int = 2
    quadratic: int = 2
    turn: int = 0

    def hyper(self, dim: int) -> HyperParameters:
        """Return the hyper-parameters at this point."""
        return HyperParameters(LENGTHS[self.length] * dim**0.5, NOISES[self.noise], QUADRATICS[self.quadratic])

    def neighbour(self) -> "GridIndex | None":
        """Return the next neighbour on the grid, None beyond the edge, and advance the turn."""
        axis, step = divmod(self.turn, 2)
        self.turn = (self.turn + 1) % 6
        index = [self.length, self.noise, self.quadratic]
        index[axis] += 1 - 2 * step
        inside = 0 <= index[axis] < (len(LENGTHS), len(NOISES), len(QUADRATICS))[axis]
        return GridIndex(index[0], index[1], index[2], self.turn) if inside else None


@dataclass
class Fit:
    """Where the next fit begins: the transform in use, the index of each, and which other is tried next.

    tried: rows of the run when another transform was last tried.
    """

    transform: int = 1
    turn: int = 0
    tried: int = 0
    indices: list[GridIndex] = field(default_factory=lambda: [GridIndex() for _ in range(3)])

    def climb(self, transform: int, u: Floats, z: Floats, known: KnownNoise | None = None) -> Process:
        """Return a process of rows `u` [n, d], `z` [n] after a few steps of hill climbing on the likelihood."""
        n, d = u.shape
        best = Process(u, z, self.indices[transform].hyper(d), known)
        for _ in range(GRID_STEPS_FEW if n < FEW_ROWS else GRID_STEPS):
            if (tried := self.indices[transform].neighbour()) is None:
                continue
            new = Process(u, z, tried.hyper(d), known)
            if new.misfit < best.misfit:
                best, self.indices[transform] = new, tried
        return best


class Model(NamedTuple):
    """A fitted process; `correlation` is its rank correlation on rows left out."""

    frame: Whitening
    process: Process
    correlation: float

    def expect(self, x: Floats) -> Floats:
        """Return the forecasts at `x` [m, d], [m]."""
        return self.process.expect(self.frame(x))

    def minimiser(self, x: Floats, width: float) -> Floats:
        """Return a local minimiser of the forecasts from `x` [d], within `width` deviations of the mean, [d]."""
        u, most = self.frame(x), width / self.frame.stretch
        low, high = np.minimum(-most, u), np.maximum(most, u)
        found, _ = lowest(self.process.slope, u, low, high, Limits(DESCENT_STEPS))
        return self.frame.back(found)

    def sample(self, x: Floats, n: int, pending: Floats, rng: np.random.Generator) -> Floats:
        """Return `n` joint posterior samples at `x` [m, d], [n, m], as if `pending` [p, d] came out as expected."""
        process = self.process.fantasize(self.frame(pending)) if len(pending) else self.process
        return process.sample(self.frame(x), n, rng)


def fitted(distribution: Distribution, x: Floats, y: Floats, fit: Fit, told: int, sems: Floats | None = None) -> Model:
    """Return the model of rows `x` [n, d], `y` [n], after a step of `fit`, the run having `told` rows.

    sems: standard errors of the losses [n], nan where unknown; None: of none.
    """
    u = distribution.whiten(x)
    stretch = max(1.0, float(np.sqrt(np.median(np.square(u).sum(1)) / x.shape[1])))
    u /= stretch
    z = transforms(y)
    known = [KnownNoise.of(sems, y, each) for each in z]
    process = fit.climb(fit.transform, u, z[fit.transform], known[fit.transform])
    correlation = left_out_correlation(process, y)
    if told - fit.tried >= TRY_EVERY:
        rival = (fit.transform + 1 + fit.turn % 2) % 3
        fit.turn, fit.tried = fit.turn + 1, told
        other = fit.climb(rival, u, z[rival], known[rival])
        better = left_out_correlation(other, y)
        if 1 - better < SWITCH_RATIO * (1 - correlation):
            process, correlation, fit.transform = other, better, rival
    return Model(Whitening.of(distribution, stretch), process, correlation)


def left_out_correlation(process: Process, y: Floats) -> float:
    """Return the rank correlation of losses [n] with leave-one-out forecasts, over the better half of the rows."""
    half = np.argsort(y, kind="stable")[: max(10, len(y) // 2)]
    return rank_correlation(process.left_out()[half], y[half])


def transforms(y: Floats) -> list[Floats]:
    """Return losses [n] in standard units: gaps to the least, normal scores of ranks, roots of gaps."""
    from scipy.special import ndtri

    above = y - y.min()
    above = np.ldexp(above, -np.frexp(above.max())[1])  # exact; roots of odd powers of two would be rounded otherwise
    return [standard(values) for values in (above, ndtri((ranks(y) + 0.5) / len(y)), np.sqrt(above))]


def standard(z: Floats) -> Floats:
    """Return numbers [n] in standard units."""
    return Scale.of(z).down(z)


def nearest(distribution: Distribution, x: Floats, reach: float | None) -> Rows:
    """Return the rows of `x` [n, d] for the model, nearest to the mean first; with `reach`, those within it."""
    n, d = x.shape
    far = np.square(distribution.whiten(x)).sum(1)
    most = min(n, max(ROWS_PER_DIM * d, MIN_ROWS), MAX_ROWS)
    near: Rows = np.argsort(far, kind="stable")[:most]
    if reach is not None:
        near = near[: max(min(most, 2 * d + 10), int((far[near] <= reach**2 * d).sum()))]
    return near
