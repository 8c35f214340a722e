"""The surrogate: a Gaussian process with one Matern 5/2 length scale, in the coordinates of the search distribution.

The metric of the kernel is that of C, so one length scale is enough, and the model is invariant under rotation and
scaling of the box. Losses enter in one of three transforms, the one whose leave-one-out forecasts order the better
half of the rows best. Letters: n rows, m points, d coordinates.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lamcts.models.gp import matern
from lamcts.models.scale import Scale
from lamcts.samplers.gp_cma.distribution import Distribution
from lamcts.types import Floats, Rows

MOST_ROWS = 300  # the cost of a factor; 150 rows are level at 0.6 times the time (shared ablation of MA-BBOB)
ROWS_PER_DIM, FEWEST_ROWS = 20, 50  # Bajer, Pitra and Holena 2019 (DTS-CMA-ES): 20 d
LENGTHS = 0.5 * 2.0 ** (np.arange(9) / 2)  # times sqrt(d), the usual distance of a draw from the mean
NOISES = (1e-8, 1e-6, 1e-4, 1e-2, 1e-1)  # shares of the signal's variance
QUADRATICS = (0.0, 0.1, 1.0, 10.0, 100.0, 1000.0)  # signal of the quadratic part
MORE_STEPS_BELOW = 100
GRID_STEPS = 2  # tries on the grid at each fit: length and noise move slowly
KEEP = 0.02  # rank correlation by which another transform must be better: no flicker between equals
TRANSFORMS = 3  # plain excesses, normal scores of ranks, square roots of excesses


@dataclass
class Fit:
    """What the next fit begins with: positions in LENGTHS and NOISES, the transform, and whose turn it is."""

    length: int = 4
    noise: int = 2
    quadratic: int = 2
    transform: int = 1
    turn: int = 0


class Frame(NamedTuple):
    """The coordinates of a distribution at one moment: the model goes on in them while the distribution moves."""

    mean: Floats
    axes: Floats | None
    scales: Floats  # [d]

    @classmethod
    def of(cls, distribution: Distribution, stretch: float) -> "Frame":
        return cls(distribution.mean, distribution.axes, distribution.scales * distribution.sigma * stretch)

    def __call__(self, x: Floats) -> Floats:
        """Return points [m, d] of the cube in these coordinates."""
        gap = x - self.mean
        return (gap if self.axes is None else gap @ self.axes) / self.scales


class Model:
    """A fitted process: `frame` maps the cube to its coordinates, `skill` is its rank correlation on rows left out."""

    def __init__(self, frame: Frame, process: "Process", skill: float) -> None:
        self.frame, self.process, self.skill = frame, process, skill
        self.stretch = 1.0

    def expect(self, x: Floats) -> Floats:
        """Return the forecasts at `x` [m, d], [m]."""
        return self.process.expect(self.frame(x))

    def minimiser(self, x: Floats, width: float) -> Floats:
        """Return the minimiser of the posterior mean from `x` [d], within `width` standard deviations."""
        from scipy.optimize import minimize

        f = self.frame
        u = f(x[None])[0]
        w = width / self.stretch
        bounds = np.column_stack([np.minimum(-w, u), np.maximum(w, u)])
        v = minimize(self.process.slope, u, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 50}).x
        gap = v * f.scales
        return f.mean + (gap if f.axes is None else gap @ f.axes.T)

    def sample(self, x: Floats, n: int, pending: Floats, rng: np.random.Generator) -> Floats:
        """Return `n` joint posterior samples at `x` [m, d], [n, m], as if `pending` [p, d] came out as expected."""
        process = self.process.with_expected(self.frame(pending)) if len(pending) else self.process
        return process.sample(self.frame(x), n, rng)


def fitted(distribution: Distribution, x: Floats, y: Floats, fit: Fit) -> Model:
    """Return the model of rows `x` [n, d], `y` [n] of which some may be equal; `fit` takes a step on its grid."""
    n, d = x.shape
    u = distribution.whiten(x)
    stretch = max(1.0, float(np.sqrt(np.median(np.square(u).sum(1)) / d)))
    u /= stretch
    z = transforms(y)
    best = Process.of(u, z[fit.transform], fit)
    for _ in range(GRID_STEPS * (3 if n < MORE_STEPS_BELOW else 1)):
        tried = neighbour(fit)
        fit.turn = (fit.turn + 1) % (6 if len(QUADRATICS) > 1 else 4)
        if tried is not None and (new := Process.of(u, z[fit.transform], tried)).misfit < best.misfit:
            best, fit.length, fit.noise, fit.quadratic = new, tried.length, tried.noise, tried.quadratic
    skill = choose_transform(best, z, y, fit)
    model = Model(Frame.of(distribution, stretch), best, skill)
    model.stretch = stretch
    return model


def neighbour(fit: Fit) -> Fit | None:
    """Return the neighbour on the grid whose turn it is, None beyond its edge."""
    along, step = divmod(fit.turn, 2)
    step = 1 - 2 * step
    place = [fit.length, fit.noise, fit.quadratic]
    place[along] += step
    inside = 0 <= place[along] < (len(LENGTHS), len(NOISES), len(QUADRATICS))[along]
    return Fit(*place, fit.transform) if inside else None


def choose_transform(process: "Process", z: list[Floats], y: Floats, fit: Fit) -> float:
    """Fit the transform that forecasts best, note it in `fit`, and return its rank correlation."""
    n = len(y)
    half = np.argsort(y, kind="stable")[: max(10, n // 2)]
    truth = ranks(y[half])
    skills = []
    for k, values in enumerate(z):
        process.refit(values)
        skills.append(correlation(ranks(process.left_out()[half]), truth) + KEEP * (k == fit.transform))
    fit.transform = int(np.argmax(skills))
    process.refit(z[fit.transform])
    return skills[fit.transform]


def transforms(y: Floats) -> list[Floats]:
    """Return losses [n] in standard units: excesses over the least, normal scores of ranks, roots of excesses."""
    from scipy.special import ndtri

    above = y - y.min()
    return [standard(values) for values in (above, ndtri((ranks(y) + 0.5) / len(y)), np.sqrt(above))]


def standard(z: Floats) -> Floats:
    """Return numbers [n] in standard units."""
    return Scale.of(z).down(z)


def ranks(y: Floats) -> Floats:
    """Return the ranks of numbers [n] from 0 on; equal ones share their mean."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    last = np.cumsum(counts) - 1
    result: Floats = (last - (counts - 1) / 2)[place]
    return result


def correlation(a: Floats, b: Floats) -> float:
    """Return the correlation of two lists of numbers [n], -1 where one is constant."""
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else -1.0


def nearest(distribution: Distribution, x: Floats, reach: float | None) -> Rows:
    """Return the rows of `x` [n, d] for the model, nearest to the mean first; with `reach` those within it."""
    n, d = x.shape
    far = np.square(distribution.whiten(x)).sum(1)
    most = min(n, max(ROWS_PER_DIM * d, FEWEST_ROWS), MOST_ROWS)
    near: Rows = np.argsort(far, kind="stable")[:most]
    if reach is not None:
        near = near[: max(min(most, 2 * d + 10), int((far[near] <= reach**2 * d).sum()))]
    return near


JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)  # of the mean variance, until Cholesky succeeds


def factor(kernel: Floats, noise: float) -> Floats:
    """Return lower `L` [n, n] with `L L^T = kernel + noise I`; where rounding forbids it, of its diagonal alone."""
    from scipy.linalg.lapack import dpotrf

    n = len(kernel)
    level = kernel.diagonal().copy()
    for jitter in JITTERS:
        kernel.flat[:: n + 1] = level + (noise + jitter * level.mean())
        root, info = dpotrf(kernel.T, lower=1, clean=1)  # kernel.T: the same symmetric matrix in Fortran order
        if not info:
            result: Floats = root
            return result
    return np.asfortranarray(np.diag(np.sqrt(np.maximum(level, 0.0) + noise)))


class Process:
    """The process given rows `u` [n, d] and standard losses [n]; mean and signal are profiled."""

    def __init__(self, u: Floats, z: Floats, length: float, noise: float, quadratic: float) -> None:
        self.u, self.length, self.noise, self.quadratic = u, length, noise, quadratic
        self.root = factor(self.kernel(u, u), noise)  # [n, n], lower
        self.refit(z)

    def kernel(self, a: Floats, b: Floats) -> Floats:
        k = matern(a / self.length, b / self.length)
        if self.quadratic:
            k += self.quadratic * (np.square(1 + a @ b.T / a.shape[1]) - 1)
        return k

    def slope(self, u: Floats) -> tuple[float, Floats]:
        """mean and gradient at one u [d]"""
        gap = (u - self.u) / self.length
        r = np.sqrt(5.0 * np.square(gap).sum(1))
        e = np.exp(-r) * self.weights
        value = self.mean + float(((1 + r + r * r / 3) * e).sum())
        pull = -5.0 / 3.0 * (1 + r) * e
        grad = pull @ gap / self.length
        if self.quadratic:
            d = len(u)
            p = 1 + self.u @ u / d
            value += self.quadratic * float(self.weights @ (p * p - 1))
            grad = grad + (2 * self.quadratic / d) * ((self.weights * p) @ self.u)
        return value, grad

    @classmethod
    def of(cls, u: Floats, z: Floats, fit: Fit) -> "Process":
        return cls(u, z, float(LENGTHS[fit.length] * np.sqrt(u.shape[1])), NOISES[fit.noise], QUADRATICS[min(fit.quadratic, len(QUADRATICS) - 1)])

    def refit(self, z: Floats) -> None:
        """Take other losses of the same rows."""
        n = len(z)
        self.z = z
        white = self._whiten(np.column_stack([z, np.ones(n)]))
        self.mean = float(white[:, 0] @ white[:, 1] / (white[:, 1] @ white[:, 1]))
        rest = white[:, 0] - self.mean * white[:, 1]
        self.signal = float(rest @ rest / 2 + 1e-3) / (n / 2 + 1)  # a weak prior: constant losses have a signal too
        self.weights = self._unwhiten(rest[:, None])[:, 0]
        self.misfit = n / 2 * np.log(self.signal) + float(np.log(self.root.diagonal()).sum())  # -log likelihood

    def expect(self, u: Floats) -> Floats:
        """Return the posterior mean at `u` [m, d], [m]."""
        return self.mean + self._cross(u) @ self.weights

    def sample(self, u: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` joint samples of the posterior at `u` [m, d], [n, m]."""
        cross = self._cross(u)
        white = self._whiten(cross.T)
        root = factor(self.kernel(u, u) - white.T @ white, 1e-8)
        draws: Floats = rng.standard_normal((n, len(u))) @ root.T
        return self.mean + cross @ self.weights + np.sqrt(self.signal) * draws

    def left_out(self) -> Floats:
        """Return the forecast of each row from all others, [n] (Rasmussen and Williams 2006, eq. 5.12)."""
        from scipy.linalg.lapack import dpotri

        inverse, _ = dpotri(self.root, lower=1)
        result: Floats = self.z - self.weights / inverse.diagonal()
        return result

    def with_expected(self, u: Floats) -> "Process":
        """Return the process as if `u` [k, d] had come out at their forecasts (kriging believer)."""
        other = Process.__new__(Process)
        other.u, other.length, other.noise = np.concatenate([self.u, u]), self.length, self.noise
        other.quadratic = self.quadratic
        other.root = factor(self.kernel(other.u, other.u), self.noise)
        other.z, other.mean, other.signal = np.concatenate([self.z, self.expect(u)]), self.mean, self.signal
        other.weights = other._unwhiten(other._whiten((other.z - self.mean)[:, None]))[:, 0]
        return other

    def _cross(self, u: Floats) -> Floats:
        return self.kernel(u, self.u)

    def _whiten(self, b: Floats) -> Floats:
        """With `K = L L^T`, return `v` such that `L v = b`."""
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self.root, b, lower=1)
        return result

    def _unwhiten(self, v: Floats) -> Floats:
        """With `K = L L^T`, return `w` such that `L^T w = v`."""
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self.root, v, lower=1, trans_a=1)
        return result
