"""A function seen one parameter at a time: a Gaussian process of each parameter's effect, given differences.

What is observed is `f(x with its parameter at t) - f(x) = g(t) - g(s) + error`, where `s` is the parameter's value at
`x`. In a sum `f = g_1 + ... + g_p` that does not depend on the other parameters, so all differences of a parameter say
something about one profile `g`, from wherever they were taken; where f is no sum, the noise stands for the rest.
A priori g is a line plus a parabola plus a smooth function (squared exponential). Length, its size and the noise are
the same for all parameters and chosen by their joint evidence on GRID; each parameter has an amplitude of its own,
drawn towards the common one (inverse gamma, as in Student-t processes).

Letters: n differences, m candidates, w coordinates of a parameter (one, or one for each option), p parameters.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats

# Untuned, where nothing else is said. The grid is coarse since every parameter pays for each of its points.
LENGTHS = (0.015, 0.03, 0.06, 0.12, 0.25, 0.5)  # of the smooth part, in widths of the cube
SIZES = (0.1, 1.0)  # deviation of the smooth part
NOISES = (1e-4, 1e-2, 0.1, 0.5)  # deviation of the error of a difference
SLOPE_DEVIATION, BEND_DEVIATION = 3.0, 3.0  # deviations of slope and bend
GRID = tuple(product(range(len(LENGTHS)), range(len(SIZES)), range(len(NOISES))))
PRIOR_WEIGHT = 2.0  # weight of the common amplitude, in differences
MAX_DIFFERENCES = 40  # differences of a parameter that count, the latest: bounds the cost of a factor
JITTER = 1e-9  # on the diagonal: below the square of the least noise, and alive where two differences coincide
WINSOR_CAP = 8.0  # usual rises that a rise counts as at most

Out = list[tuple[Floats, Floats]]  # ends and starts [w] of differences that are being measured


class _Factored(NamedTuple):
    """Differences with those out last, their trend [n, 2 w], and the lower factor [n, n] of their kernel."""

    end: Floats
    start: Floats
    trend: Floats
    root: Floats


class Profile:
    """The differences of one parameter: from `start` to `end` [n, w] the loss rose by `rise` [n]."""

    def __init__(self, width: int) -> None:
        self.end, self.start = np.empty((0, width)), np.empty((0, width))
        self.given = np.empty(0)
        self.rise = self.given  # as far as it counts
        self._kept: tuple[object, _Factored] | None = None  # what it rests on, a factor

    def add(self, end: Floats, start: Floats, rise: float) -> None:
        """Take a difference; `end` and `start` [w]."""
        self.end = np.vstack([self.end, end])[-MAX_DIFFERENCES:]
        self.start = np.vstack([self.start, start])[-MAX_DIFFERENCES:]
        self.given = np.append(self.given, rise)[-MAX_DIFFERENCES:]
        self.rise = self.given
        self._kept = None

    def cut(self, most: float) -> None:
        """Winsorise increases above `most`."""
        self.rise = np.minimum(self.given, most)

    def evidence(self) -> tuple[Floats, Floats]:
        """Return for every point of GRID half the logarithm of the determinant, and the rises' squared size, [grid]."""
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

    def predict(self, index: tuple[int, int, int], at: Floats, to: Floats, out: Out) -> tuple[Floats, Floats]:
        """Return the expected rise from `at` [w] to the rows of `to` [m, w], and its deviation at amplitude 1, [m].

        `out`: ends and starts of differences that are being measured; they lower the deviation.
        """
        from scipy.linalg import lapack

        length, size = LENGTHS[index[0]], SIZES[index[1]]
        trend = _trend(to, at)  # [m, 2 w]
        gap = np.square(to - at).sum(1)  # [m]
        variance = 2 * size**2 * -np.expm1(-gap / (2 * length**2)) + np.square(trend).sum(1)
        known = len(self.rise)
        if not known and not out:
            return np.zeros(len(to)), np.sqrt(variance)
        end, start, theirs, root = self._factored(index, out)
        cross = size**2 * _smooth((end, start), (to, at[None]), length) + theirs @ trend.T  # [n, m]
        # The factor's first rows are the factor of what is known: those out come last and have no say in the mean.
        scaled = lapack.dtrtrs(root, np.column_stack([cross, np.append(self.rise, np.zeros(len(out)))]), lower=1)[0]
        rise = scaled[:known, :-1].T @ scaled[:known, -1]
        variance = variance - np.square(scaled[:, :-1]).sum(0)
        return rise, np.sqrt(np.maximum(variance, 0.0))

    def _factored(self, index: tuple[int, int, int], out: Out) -> "_Factored":
        """Return what `predict` takes of the differences alone: it is kept, since the point looked from moves often."""
        ends = [(end.tobytes(), start.tobytes()) for end, start in out]
        if self._kept is None or self._kept[0] != (index, ends):
            self._kept = (index, ends), self._factor(index, out)
        return self._kept[1]

    def _factor(self, index: tuple[int, int, int], out: Out) -> "_Factored":
        from scipy.linalg import lapack

        length, size, noise = LENGTHS[index[0]], SIZES[index[1]], NOISES[index[2]]
        end = np.vstack([self.end, *(pair[0] for pair in out)])
        start = np.vstack([self.start, *(pair[1] for pair in out)])
        trend = _trend(end, start)
        kernel = size**2 * _smooth((end, start), (end, start), length) + trend @ trend.T
        kernel[np.diag_indices(len(end))] += noise**2 + JITTER
        return _Factored(end, start, trend, lapack.dpotrf(kernel, lower=1)[0])


class AdditiveModel:
    """The effects of all parameters, of `widths` [p] coordinates, under common hyper-parameters."""

    def __init__(self, widths: list[int]) -> None:
        self._effects = [Profile(width) for width in widths]
        self._logs, self._squares = np.zeros((len(widths), len(GRID))), np.zeros((len(widths), len(GRID)))
        self._counts = np.zeros(len(widths))
        self._taken = [0] * len(widths)
        self._new: set[int] = set()
        self.index: tuple[int, int, int] = GRID[len(GRID) // 2]
        self.sizes: Floats = np.ones(len(widths))  # [p], amplitudes
        self.cap = np.inf  # rises beyond it count as it

    def add(self, parameter: int, end: Floats, start: Floats, rise: float) -> None:
        """Take a difference of a parameter; `end` and `start` [w]."""
        self._effects[parameter].add(end, start, rise)
        self._taken[parameter] += 1
        self._new.add(parameter)

    def fit(self) -> None:
        """Choose the index on GRID and the amplitudes; nothing changes where there are no new differences."""
        if not self._new:
            return
        self._cut()
        for parameter in sorted(self._new):
            self._effects[parameter].cut(self.cap)
            self._counts[parameter] = len(self._effects[parameter].rise)
            self._logs[parameter], self._squares[parameter] = self._effects[parameter].evidence()
        self._new.clear()
        seen: NDArray[np.bool_] = self._counts > 0
        counts, squares = self._counts[seen, None], self._squares[seen]
        common = squares.sum(0) / counts.sum() + np.finfo(float).tiny  # [grid]
        chance = (PRIOR_WEIGHT + counts) / 2 * np.log((PRIOR_WEIGHT * common + squares) / common) + counts / 2 * np.log(
            common
        )
        best = int(np.argmin((self._logs[seen] + chance).sum(0)))
        self.index = GRID[best]
        own = (PRIOR_WEIGHT * common[best] + self._squares[:, best]) / (PRIOR_WEIGHT + self._counts)
        self.sizes = np.sqrt(own)

    def _cut(self) -> None:
        """Set the rise from which on all are equal; it moves by factors of two, and all effects change with it."""
        sizes = np.abs(np.concatenate([profile.given for profile in self._effects]))
        if not (sizes > 0).any():
            return
        cap = float(np.exp2(np.ceil(np.log2(WINSOR_CAP * np.median(sizes[sizes > 0])))))
        if cap != self.cap:
            self.cap = cap
            self._new |= {i for i, profile in enumerate(self._effects) if len(profile.given)}

    def count(self, parameter: int) -> int:
        """Return how many differences of a parameter were taken."""
        return self._taken[parameter]

    def predict(self, parameter: int, at: Floats, to: Floats, out: Out) -> tuple[Floats, Floats]:
        """Return `Profile.predict` of a parameter."""
        return self._effects[parameter].predict(self.index, at, to, out)


def _smooth(one: tuple[Floats, Floats], other: tuple[Floats, Floats], length: float) -> Floats:
    """Return the covariances of differences, each given as (end, start), under a squared exponential of size 1.

    The second of `other` may be one row, which all share.
    """
    n, m = len(one[0]), len(other[0])
    close = np.exp(_squares(np.vstack(one), np.vstack(other)) / (-2 * length**2))  # [2 n, 2 m]
    total: Floats = close[:n, :m] - close[:n, m:]
    total -= close[n:, :m]
    total += close[n:, m:]
    return total


def _squares(one: Floats, other: Floats) -> Floats:
    """Return the squared distances of rows [n, w] from rows [m, w], [n, m]."""
    if one.shape[1] == 1:  # as `cdist`, without what it checks
        gap = one - other.T
        gap *= gap
        return gap
    from scipy.spatial.distance import cdist

    return cdist(one, other, "sqeuclidean")


def _trend(end: Floats, start: Floats) -> Floats:
    """Return the features [n, 2 w] of differences that stand for line and parabola."""
    end, start = end - 0.5, start - 0.5
    return np.hstack([SLOPE_DEVIATION * (end - start), BEND_DEVIATION * (end**2 - start**2)])
