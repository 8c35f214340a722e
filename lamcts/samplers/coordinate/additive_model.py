"""Additive model: a Gaussian process of each parameter's effect, given differences of the loss.

An observation is `f(x with its parameter at t) - f(x) = g(t) - g(s) + error`, where `s` is the parameter's value at
`x`. In a sum `f = g_1 + ... + g_p` it does not depend on the other parameters. So all differences of a parameter, at
any `x`, inform about its profile `g`; if f is no sum, the noise represents the interactions.
A priori g is a line plus a parabola plus a smooth function (squared exponential). Length scale, size and noise are
common to all parameters, and maximise their joint evidence on GRID. Each parameter has an amplitude, shrunk towards the
common one (inverse gamma, as in Student-t processes).

Letters: n differences, m candidates, w coordinates of a parameter (one, or one for each option), p parameters.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats

# The grid is coarse, since each of its points costs a factor for every parameter.
LENGTHS = (0.015, 0.03, 0.06, 0.12, 0.25, 0.5)  # length scales of the smooth part, in widths of the cube
SIZES = (0.1, 1.0)  # deviation of the smooth part
NOISES = (1e-4, 1e-2, 0.1, 0.5)  # deviation of the error of a difference
SLOPE_DEVIATION, BEND_DEVIATION = 3.0, 3.0  # deviations of slope and bend
GRID = tuple(product(range(len(LENGTHS)), range(len(SIZES)), range(len(NOISES))))
PRIOR_WEIGHT = 2.0  # weight of the common amplitude, in differences: more adapts later to a parameter
MAX_DIFFERENCES = 40  # latest differences of a parameter in the model: bounds the cost of a factor
JITTER = 1e-9  # on the diagonal: below the square of the least noise, and enough for equal differences
WINSOR_CAP = 8.0  # bound of rises over the median: larger ones inflate the amplitudes

Pending = list[tuple[Floats, Floats]]  # ends and starts [w] of pending differences


class _Factored(NamedTuple):
    """Differences, the pending ones last, their trend [n, 2 w], and the lower factor [n, n] of their kernel."""

    end: Floats
    start: Floats
    trend: Floats
    root: Floats


class Profile:
    """Differences of a parameter: from `start` to `end` [n, w] the loss rose by `rise` [n]."""

    def __init__(self, width: int) -> None:
        self.end = np.empty((0, width))
        self.start = np.empty((0, width))
        self.observed = np.empty(0)
        self.rise = self.observed  # winsorised
        self._cached: tuple[object, _Factored] | None = None  # inputs of the factor, the factor

    def add(self, end: Floats, start: Floats, rise: float) -> None:
        """Add a difference; `end` and `start` [w]."""
        self.end = np.vstack([self.end, end])[-MAX_DIFFERENCES:]
        self.start = np.vstack([self.start, start])[-MAX_DIFFERENCES:]
        self.observed = np.append(self.observed, rise)[-MAX_DIFFERENCES:]
        self.rise = self.observed
        self._cached = None

    def winsorise(self, most: float) -> None:
        """Bound rises by `most`."""
        self.rise = np.minimum(self.observed, most)

    def evidence(self) -> tuple[Floats, Floats]:
        """Return half the log determinant and the squared norm of whitened rises at the points of GRID, [grid]."""
        smooth = np.array([_smooth((self.end, self.start), (self.end, self.start), length) for length in LENGTHS])
        trend = _trend(self.end, self.start)
        kernel = np.multiply.outer(np.square(SIZES), smooth).swapaxes(0, 1) + trend @ trend.T  # [length, size, n, n]
        n = len(self.rise)
        errors = np.multiply.outer(np.square(NOISES) + JITTER, np.eye(n))  # [noise, n, n]
        root = np.linalg.cholesky((kernel[:, :, None] + errors).reshape(-1, n, n))  # [grid, n, n]
        logs: Floats = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
        scaled = np.linalg.solve(root, np.broadcast_to(self.rise[:, None], (len(root), n, 1)))[..., 0]
        squares: Floats = np.einsum("gn,gn->g", scaled, scaled)
        return logs, squares

    def predict(self, index: tuple[int, int, int], at: Floats, to: Floats, pending: Pending) -> tuple[Floats, Floats]:
        """Return the expected rise from `at` [w] to the rows of `to` [m, w], and its deviation at amplitude 1, [m].

        `pending`: ends and starts of pending differences; they lower the deviation.
        """
        from scipy.linalg import lapack

        length, size = LENGTHS[index[0]], SIZES[index[1]]
        trend = _trend(to, at)  # [m, 2 w]
        square = np.square(to - at).sum(1)  # [m]
        variance = 2 * size**2 * -np.expm1(-square / (2 * length**2)) + np.square(trend).sum(1)
        n_observed = len(self.rise)
        if not n_observed and not pending:
            return np.zeros(len(to)), np.sqrt(variance)
        end, start, trends, root = self._factored(index, pending)
        cross = size**2 * _smooth((end, start), (to, at[None]), length) + trends @ trend.T  # [n, m]
        # The factor's first rows are the factor of observed differences: pending ones do not affect the mean.
        sides = np.column_stack([cross, np.append(self.rise, np.zeros(len(pending)))])
        scaled = lapack.dtrtrs(root, sides, lower=1)[0]
        rise = scaled[:n_observed, :-1].T @ scaled[:n_observed, -1]
        variance = variance - np.square(scaled[:, :-1]).sum(0)
        return rise, np.sqrt(np.maximum(variance, 0.0))

    def _factored(self, index: tuple[int, int, int], pending: Pending) -> "_Factored":
        """Return the factor of `predict`, which does not depend on its points; it is cached."""
        ends = [(end.tobytes(), start.tobytes()) for end, start in pending]
        if self._cached is None or self._cached[0] != (index, ends):
            self._cached = (index, ends), self._factor(index, pending)
        return self._cached[1]

    def _factor(self, index: tuple[int, int, int], pending: Pending) -> "_Factored":
        from scipy.linalg import lapack

        length, size, noise = LENGTHS[index[0]], SIZES[index[1]], NOISES[index[2]]
        end = np.vstack([self.end, *(pair[0] for pair in pending)])
        start = np.vstack([self.start, *(pair[1] for pair in pending)])
        trend = _trend(end, start)
        kernel = size**2 * _smooth((end, start), (end, start), length) + trend @ trend.T
        kernel[np.diag_indices(len(end))] += noise**2 + JITTER
        return _Factored(end, start, trend, lapack.dpotrf(kernel, lower=1)[0])


class AdditiveModel:
    """Effects of all parameters, of `widths` [p] coordinates, under common hyper-parameters."""

    def __init__(self, widths: list[int]) -> None:
        self._effects = [Profile(width) for width in widths]
        self._logs = np.zeros((len(widths), len(GRID)))
        self._squares = np.zeros((len(widths), len(GRID)))
        self._counts = np.zeros(len(widths))
        self._n_added = [0] * len(widths)
        self._new: set[int] = set()
        self.index: tuple[int, int, int] = GRID[len(GRID) // 2]
        self.amplitudes: Floats = np.ones(len(widths))  # [p]
        self.cap = np.inf  # bound of rises

    def add(self, parameter: int, end: Floats, start: Floats, rise: float) -> None:
        """Add a difference of a parameter; `end` and `start` [w]."""
        self._effects[parameter].add(end, start, rise)
        self._n_added[parameter] += 1
        self._new.add(parameter)

    def fit(self) -> None:
        """Fit the index on GRID and the amplitudes; without new differences nothing changes."""
        if not self._new:
            return
        self._winsorise()
        for parameter in sorted(self._new):
            self._effects[parameter].winsorise(self.cap)
            self._counts[parameter] = len(self._effects[parameter].rise)
            self._logs[parameter], self._squares[parameter] = self._effects[parameter].evidence()
        self._new.clear()
        is_seen: NDArray[np.bool_] = self._counts > 0
        counts, squares = self._counts[is_seen, None], self._squares[is_seen]
        common = squares.sum(0) / counts.sum() + np.finfo(float).tiny  # [grid]
        misfit = (PRIOR_WEIGHT + counts) / 2 * np.log((PRIOR_WEIGHT * common + squares) / common)
        misfit += counts / 2 * np.log(common)
        best = int(np.argmin((self._logs[is_seen] + misfit).sum(0)))
        self.index = GRID[best]
        variances = (PRIOR_WEIGHT * common[best] + self._squares[:, best]) / (PRIOR_WEIGHT + self._counts)
        self.amplitudes = np.sqrt(variances)

    def _winsorise(self) -> None:
        """Set the bound of rises, a power of two; if it changes, all effects change."""
        sizes = np.abs(np.concatenate([profile.observed for profile in self._effects]))
        if not (sizes > 0).any():
            return
        cap = float(np.exp2(np.ceil(np.log2(WINSOR_CAP * np.median(sizes[sizes > 0])))))
        if cap != self.cap:
            self.cap = cap
            self._new |= {i for i, profile in enumerate(self._effects) if len(profile.observed)}

    def count(self, parameter: int) -> int:
        """Return the number of differences of a parameter."""
        return self._n_added[parameter]

    def predict(self, parameter: int, at: Floats, to: Floats, pending: Pending) -> tuple[Floats, Floats]:
        """Return `Profile.predict` of a parameter."""
        return self._effects[parameter].predict(self.index, at, to, pending)


def _smooth(a: tuple[Floats, Floats], b: tuple[Floats, Floats], length: float) -> Floats:
    """Return the covariances of differences (end, start), [n, m], under a squared exponential of size 1.

    The start of `b` may be a single row.
    """
    n, m = len(a[0]), len(b[0])
    kernel = np.exp(_squares(np.vstack(a), np.vstack(b)) / (-2 * length**2))  # [2 n, 2 m]
    covariance: Floats = kernel[:n, :m] - kernel[:n, m:]
    covariance -= kernel[n:, :m]
    covariance += kernel[n:, m:]
    return covariance


def _squares(a: Floats, b: Floats) -> Floats:
    """Return the squared distances of rows [n, w] from rows [m, w], [n, m]."""
    if a.shape[1] == 1:  # as `cdist`, without its checks
        gap = a - b.T
        gap *= gap
        return gap
    from scipy.spatial.distance import cdist

    return cdist(a, b, "sqeuclidean")


def _trend(end: Floats, start: Floats) -> Floats:
    """Return the features [n, 2 w] of differences under a line and a parabola."""
    end, start = end - 0.5, start - 0.5
    return np.hstack([SLOPE_DEVIATION * (end - start), BEND_DEVIATION * (end**2 - start**2)])
