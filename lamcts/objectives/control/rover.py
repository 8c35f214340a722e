"""Rover: 30 points in the plane shape a path, which pays for its length, for obstacles, and for missing its ends.

Wang, Gehring, Kohli and Jegelka, EBO, 2018, and its code. Letters: n points, k = 30 places, t = 1000 samples.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.base import checked_noise, register
from lamcts.spaces.box import Box
from lamcts.types import Floats, Json

# Data, not code: the centres of the 113 square obstacles of the "large" rover domain, from
# test_functions/rover_function.py of https://github.com/zi-w/Ensemble-Bayesian-Optimization (commit 4e6f9ed),
# in its order. They come under this licence:
#
#     MIT License
#
#     Copyright (c) 2017 Zi Wang
#
#     Permission is hereby granted, free of charge, to any person obtaining a copy
#     of this software and associated documentation files (the "Software"), to deal
#     in the Software without restriction, including without limitation the rights
#     to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
#     copies of the Software, and to permit persons to whom the Software is
#     furnished to do so, subject to the following conditions:
#
#     The above copyright notice and this permission notice shall be included in all
#     copies or substantial portions of the Software.
#
#     THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
#     IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
#     FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
#     AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
#     LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
#     OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
#     SOFTWARE.
# fmt: off
CENTRES = (  # x, y in the unit square
    (0.43143755, 0.20876147), (0.38485367, 0.39183579), (0.02985961, 0.22328303), (0.7803707, 0.3447003),
    (0.93685657, 0.56297285), (0.04194252, 0.23598362), (0.28049582, 0.40984475), (0.6756053, 0.70939481),
    (0.01926493, 0.86972335), (0.5993437, 0.63347932), (0.57807619, 0.40180792), (0.56824287, 0.75486851),
    (0.35403502, 0.38591056), (0.72492026, 0.59969313), (0.27618746, 0.64322757), (0.54029566, 0.25492943),
    (0.30903526, 0.60166842), (0.2913432, 0.29636879), (0.78512072, 0.62340245), (0.29592116, 0.08400595),
    (0.87548394, 0.04877622), (0.21714791, 0.9607346), (0.92624074, 0.53441687), (0.53639253, 0.45127928),
    (0.99892031, 0.79537837), (0.84621631, 0.41891986), (0.39432819, 0.06768617), (0.92365693, 0.72217512),
    (0.95520914, 0.73956575), (0.820383, 0.53880139), (0.22378049, 0.9971974), (0.34023233, 0.91014706),
    (0.64960636, 0.35661133), (0.29976464, 0.33578931), (0.43202238, 0.11563227), (0.66764947, 0.52086962),
    (0.45431078, 0.94582745), (0.12819915, 0.33555344), (0.19287232, 0.8112075), (0.61214791, 0.71940626),
    (0.4522542, 0.47352186), (0.95623345, 0.74174186), (0.17340293, 0.89136853), (0.04600255, 0.53040724),
    (0.42493468, 0.41006649), (0.37631485, 0.88033853), (0.66951947, 0.29905739), (0.4151516, 0.77308712),
    (0.55762991, 0.26400156), (0.6280609, 0.53201974), (0.92727447, 0.61054975), (0.93206587, 0.42107549),
    (0.63885574, 0.37540613), (0.15303425, 0.57377797), (0.8208471, 0.16566631), (0.14889043, 0.35157346),
    (0.71724622, 0.57110725), (0.32866327, 0.8929578), (0.74435871, 0.47464421), (0.9252026, 0.21034329),
    (0.57039306, 0.54356078), (0.56611551, 0.02531317), (0.84830056, 0.01180542), (0.51282028, 0.73916524),
    (0.58795481, 0.46527371), (0.83259048, 0.98598188), (0.00242488, 0.83734691), (0.72505789, 0.04846931),
    (0.07312971, 0.30147979), (0.55250344, 0.23891255), (0.51161315, 0.46466442), (0.802125, 0.93440495),
    (0.9157825, 0.32441602), (0.44927665, 0.53380074), (0.67708372, 0.67527231), (0.81868924, 0.88356194),
    (0.48228814, 0.88668497), (0.39805433, 0.99341196), (0.86671752, 0.79016975), (0.01115417, 0.6924913),
    (0.34272199, 0.89543756), (0.40721675, 0.86164495), (0.26317679, 0.37334193), (0.74446787, 0.84782643),
    (0.55560143, 0.46405104), (0.73567977, 0.12776233), (0.28080322, 0.26036748), (0.17507419, 0.95540673),
    (0.54233783, 0.1196808), (0.76670967, 0.88396285), (0.61297539, 0.79057776), (0.9344029, 0.86252764),
    (0.48746839, 0.74942784), (0.18657635, 0.58127321), (0.10377802, 0.71463978), (0.7771771, 0.01463505),
    (0.7635042, 0.45498358), (0.83345861, 0.34749363), (0.38273809, 0.51890558), (0.33887574, 0.82842507),
    (0.02073685, 0.41776737), (0.68754547, 0.96430979), (0.4704215, 0.92717361), (0.72666234, 0.63241306),
    (0.48494401, 0.72003268), (0.52601215, 0.81641253), (0.71426732, 0.47077212), (0.00258906, 0.30377501),
    (0.35495269, 0.98585155), (0.65507544, 0.03458909), (0.10550588, 0.62032937), (0.60259145, 0.87110846),
    (0.04959159, 0.535785),
)
# fmt: on
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

    noise: standard deviation of the noise on each coordinate (0.0; sides of the unit square); paper: 1e-4.
    """

    noise: float = 0.0

    name = "rover"
    maximize = True
    x0 = None
    optimum = None
    ceiling = 5.0

    @property
    def noisy(self) -> bool:
        return self.noise > 0

    @property
    def space(self) -> Box:
        return Box(0, 1, dim=DIM)

    def fingerprint(self) -> Json:
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
        return np.asarray(_paths(LOW + WIDTH * _rows(np.asarray(point, float)[None]))[0])


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
    return np.asarray(Rover.ceiling - driven - PER_MISS * missed)


def _paths(x: Floats) -> Floats:
    """Return the paths [n, t, 2]: the cubic nearest to the points in least squares, by length along chords.

    The original's smoothing spline (FITPACK, squares of at most 22.25) has no knot here, where they are at most 21.6:
    it is this cubic. The pseudo-inverse takes neighbours that coincide.
    """
    points = x.reshape(len(x), -1, 2)  # [n, k, 2]
    chords = np.sqrt((np.diff(points, axis=1) ** 2).sum(axis=2))  # [n, k - 1]
    along = np.concatenate([np.zeros((len(x), 1)), np.cumsum(chords, axis=1)], axis=1)  # [n, k]
    whole = along[:, -1:]
    along = np.divide(along, whole, out=np.zeros_like(along), where=whole > 0)  # in [0, 1]
    mean = points.mean(axis=1, keepdims=True)  # [n, 1, 2]; taken off, so that the least weights stay in the middle
    weights = np.linalg.pinv(legendre.legvander(2 * along - 1, DEGREE)) @ (points - mean)  # [n, 4, 2]
    return np.asarray(mean + _samples() @ weights)


@cache
def _samples() -> Floats:
    """Return the polynomials at the samples of a path [t, 4]."""
    return np.asarray(legendre.legvander(np.linspace(-1, 1, SAMPLES), DEGREE), float)


def _blocked(paths: Floats) -> NDArray[np.bool_]:
    """Return which places [n, t] lie in an obstacle or outside the unit square."""
    edges_x, edges_y, table = _map()
    x = np.searchsorted(edges_x, paths[..., 0], side="right")
    return np.asarray(table[x, np.searchsorted(edges_y, paths[..., 1], side="right")])


@cache
def _map() -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the sorted edges along x and y, and which fields, from edge to edge, are blocked."""
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
