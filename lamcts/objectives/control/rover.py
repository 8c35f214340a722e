"""Rover: 30 points in the plane shape a path, which pays for its length, for obstacles, and for missing its ends.

Wang, Gehring, Kohli and Jegelka, "Batched large-scale Bayesian optimization in high-dimensional spaces"
(EBO), 2018, and its code, https://github.com/zi-w/Ensemble-Bayesian-Optimization (MIT).
Letters: n points of the space, k = 30 points in the plane, t = 1000 samples of a path.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.base import register
from lamcts.objectives.control.rover_map import CENTRES
from lamcts.objectives.settings import checked_noise
from lamcts.spaces.box import Box
from lamcts.types import Floats, Json

# All but ROWS are part of the definition, as in EBO's code.
DIM = 60
LOW, WIDTH = -0.1, 1.2  # where the points may lie: a margin of a tenth around the unit square
START, GOAL = np.array([0.05, 0.05]), np.array([0.95, 0.95])
HALF = 0.025  # half the side of an obstacle
SAMPLES = 1000
PER_LENGTH, IN_THE_WAY, PER_MISS = 0.05, 20.0, 10.0  # what length costs, more of it in obstacles, and a missed end
DEGREE = 3
ROWS = 64  # evaluated at once: 1 MB for each array of [64, 1000, 2]


@dataclass(frozen=True)
class Rover:
    """5 minus the cost of the path shaped by `point` [60]: 30 points (x, y) in [0, 1]^2, stretched by `path`.

    No value is above `ceiling`; the best is not known.

    noise: standard deviation of the noise on each coordinate (0.0; sides of the unit square); paper: 1e-4, which
        moves values by about 0.02.
    """

    noise: float = 0.0

    name = "rover"
    maximize = True
    x0 = None
    optimum = None
    ceiling = 5.0

    @property
    def space(self) -> Box:
        return Box(0, 1, dim=DIM)

    def fingerprint(self) -> Json:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        return {"game": self.name, "noise": float(self.noise)}

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> float:
        shift = np.random.default_rng(seed).normal(0, self.noise, (1, DIM)) if self.noise else 0.0
        return float(_value(LOW + WIDTH * _rows(np.asarray(point, float)[None]) + shift)[0])

    def many(self, points: ArrayLike) -> Floats:
        """Return the noise-free values of `points` [n, 60] as [n]."""
        x = LOW + WIDTH * _rows(np.asarray(points, float))  # [n, 60]
        return np.concatenate([np.empty(0), *(_value(x[i : i + ROWS]) for i in range(0, len(x), ROWS))])

    def path(self, point: ArrayLike) -> Floats:
        """Return the path [t, 2] that the rover drives for `point` [60], without noise."""
        path: Floats = _paths(LOW + WIDTH * _rows(np.asarray(point, float)[None]))[0]
        return path


@register("rover", "a path of 30 points past 113 obstacles, 60 numbers; maximize, at most 5")
def rover(noise: float = 0.0) -> Rover:
    """The 60-dimensional rover.

    noise: as in `Rover`.
    """
    return Rover(checked_noise(noise))


def _value(x: Floats) -> Floats:
    """Return 5 - cost [n] of points `x` [n, 60] of the plane."""
    paths = _paths(x)  # [n, t, 2]
    rates = PER_LENGTH + IN_THE_WAY * _blocked(paths)  # [n, t]
    lengths = np.sqrt((np.diff(paths, axis=1) ** 2).sum(axis=2))  # [n, t - 1]
    driven = (lengths * (rates[:, :-1] + rates[:, 1:]) / 2).sum(axis=1)  # [n]
    missed = np.abs(paths[:, 0] - START).sum(axis=1) + np.abs(paths[:, -1] - GOAL).sum(axis=1)  # [n]
    result: Floats = Rover.ceiling - driven - PER_MISS * missed
    return result


def _paths(x: Floats) -> Floats:
    """Return the paths [n, t, 2]: the cubic nearest to the points in least squares, by length along chords.

    The original asks FITPACK (`scipy.interpolate.splprep`) for a cubic spline with the default smoothing:
    as few knots as leave summed squares of at most k - sqrt(2k) = 22.25. In this box they are at most
    2 k 0.6^2 = 21.6 for the mean alone, so there is never a knot, and the spline is this cubic.
    Legendre polynomials keep the system well conditioned. FITPACK refuses neighbours that coincide; here the
    pseudo-inverse takes them, and where fewer than four places along leave several cubics, that of the least weights.
    """
    points = x.reshape(len(x), -1, 2)  # [n, k, 2]
    chords = np.sqrt((np.diff(points, axis=1) ** 2).sum(axis=2))  # [n, k - 1]
    along = np.concatenate([np.zeros((len(x), 1)), np.cumsum(chords, axis=1)], axis=1)  # [n, k]
    whole = along[:, -1:]
    along = np.divide(along, whole, out=np.zeros_like(along), where=whole > 0)  # in [0, 1]
    mean = points.mean(axis=1, keepdims=True)  # [n, 1, 2]; taken off, so that the least weights stay in the middle
    weights = np.linalg.pinv(legendre.legvander(2 * along - 1, DEGREE)) @ (points - mean)  # [n, 4, 2]
    result: Floats = mean + _samples() @ weights
    return result


@cache
def _samples() -> Floats:
    """Return the polynomials at the samples of a path [t, 4]."""
    return np.asarray(legendre.legvander(np.linspace(-1, 1, SAMPLES), DEGREE), float)


def _blocked(paths: Floats) -> NDArray[np.bool_]:
    """Return which places [n, t] lie in an obstacle or outside the unit square."""
    edges_x, edges_y, table = _map()
    x = np.searchsorted(edges_x, paths[..., 0], side="right")
    result: NDArray[np.bool_] = table[x, np.searchsorted(edges_y, paths[..., 1], side="right")]
    return result


@cache
def _map() -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the sorted edges along x and along y, and which of the fields between them are blocked.

    Field i along an axis holds edges[i - 1] <= place < edges[i]: boxes have their lower edge and lack their upper.
    """
    centres = np.array(CENTRES)  # [113, 2]
    low, high = centres - HALF, centres + HALF
    edges = [np.unique([0.0, 1.0, *low[:, axis], *high[:, axis]]) for axis in (0, 1)]
    table = np.ones([len(along) + 1 for along in edges], bool)
    inside = [slice(*np.searchsorted(along, [0.0, 1.0], side="right")) for along in edges]
    table[*inside] = False
    for corners in zip(low, high, strict=True):
        ends = np.transpose(corners)  # [axis, low and high]
        table[*(slice(*np.searchsorted(edges[axis], ends[axis], side="right")) for axis in (0, 1))] = True
    return edges[0], edges[1], table


def _rows(points: Floats) -> Floats:
    if points.ndim != 2 or points.shape[1] != DIM or not np.isfinite(points).all():
        raise ValueError(f"expected rows of {DIM} finite numbers, got shape {list(points.shape)}")
    return points
