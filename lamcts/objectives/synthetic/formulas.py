"""Sixteen test functions with a known minimum. Each takes the offset `u` [n, d] from it, and gives [n].

The first ten after S. Surjanovic and D. Bingham, Virtual Library of Simulation Experiments, in the thesis' boxes
(5.6.1) where it has them; the last six are f10 to f14 and f17 of BBOB (Hansen, Finck, Ros and Auger, INRIA RR-6829)
without its irregularities. All of R^d is in the domain and nowhere below the minimum. `ripples` [d] makes each
coordinate's ripples higher or lower. Where the minimum is 0, the value at u = 0 is exactly 0.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lamcts.objectives.synthetic.placing import landscape
from lamcts.types import Floats

CONDITION = 1e6  # of f10 to f12, as published


@landscape("ackley", "one deep funnel among many small dents; minimum 0", -5, 10, 0, rippled=True)
def ackley(u: Floats, ripples: Floats | None = None) -> Floats:
    slope = -20 * np.expm1(-0.2 * np.sqrt(np.mean(u**2, axis=1)))
    heights = 1.0 if ripples is None else ripples  # a product with 1 changes no digit
    return np.asarray(slope - np.e * np.expm1(-2 * np.mean(heights * np.sin(np.pi * u) ** 2, axis=1)))


@landscape("rosenbrock", "a long curved valley, flat along its floor; minimum 0", -10, 10, 1, least_dim=2)
def rosenbrock(u: Floats) -> Floats:
    z = u + 1
    return np.asarray(np.sum(100 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + u[:, :-1] ** 2, axis=1))


@landscape("rastrigin", "a bowl with a grid of deep local minima; minimum 0", -5.12, 5.12, 0, rippled=True)
def rastrigin(u: Floats, ripples: Floats | None = None) -> Floats:
    height = 20 if ripples is None else 20 * ripples
    return np.asarray(np.sum(u**2 + height * np.sin(np.pi * u) ** 2, axis=1))


@landscape("levy", "waves across a gentle bowl; minimum 0", -10, 10, 1, rippled=True)
def levy(u: Floats, ripples: Floats | None = None) -> Floats:
    a = np.ones(u.shape[1]) if ripples is None else ripples
    v = u / 4  # w - 1 of the usual form, and sin(pi w + 1) = -sin(pi v + 1)
    middle = np.sum(v[:, :-1] ** 2 * (1 + 10 * a[:-1] * np.sin(np.pi * v[:, :-1] + 1) ** 2), axis=1)
    last = v[:, -1] ** 2 * (1 + a[-1] * np.sin(2 * np.pi * v[:, -1]) ** 2)
    return np.asarray(a[0] * np.sin(np.pi * v[:, 0]) ** 2 + middle + last)


@landscape("griewank", "a wide bowl with ripples that fade as dim grows; minimum 0", -600, 600, 0, rippled=True)
def griewank(u: Floats, ripples: Floats | None = None) -> Floats:
    """Griewank; with `ripples` A (1 - prod(1 - a / A (1 - cos(w)))), A the highest: no factor leaves [-1, 1]."""
    w = u / np.sqrt(np.arange(1, u.shape[1] + 1))
    if ripples is None:
        dents = 1 - np.prod(np.cos(w), axis=1)
    else:
        highest = ripples.max()
        dents = highest * (1 - np.prod(1 - 2 * ripples / highest * np.sin(w / 2) ** 2, axis=1))
    return np.asarray(np.sum(u**2, axis=1) / 4000 + dents)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return where `rising` changes its sign from minus to plus in [low, high], by bisection to the last bit."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return low


SCHWEFEL_EDGE = 500.0  # the usual one
# the largest z sin(sqrt(z)) up to 500: with s = sqrt(z), where s cos(s) + 2 sin(s) falls through 0
SCHWEFEL_AT = _root(lambda z: -2 * math.sin(math.sqrt(z)) - math.sqrt(z) * math.cos(math.sqrt(z)), 400.0, 450.0)


@landscape(
    "schwefel", "deep minima far apart, the best in a corner; minimum 0", -SCHWEFEL_EDGE, SCHWEFEL_EDGE, SCHWEFEL_AT
)
def schwefel(u: Floats) -> Floats:
    """Schwefel 2.26; beyond 500 as in CEC 2014 (Liang, Qu and Suganthan 2013, F10): reflected, with a penalty."""
    z = u + SCHWEFEL_AT
    beyond = np.maximum(np.abs(z) - SCHWEFEL_EDGE, 0)
    folded = np.sign(z) * (SCHWEFEL_EDGE - np.mod(beyond, SCHWEFEL_EDGE))
    inside = np.where(beyond > 0, folded, z)
    gains = inside * np.sin(np.sqrt(np.abs(inside))) - beyond**2 / (10_000 * u.shape[1])
    most = SCHWEFEL_AT * np.sin(np.sqrt(SCHWEFEL_AT))  # 418.98288727243374
    return np.asarray(np.sum(most - gains, axis=1))


# where (z^4 - 16 z^2 + 5 z) / 2 is least, on all of R
STYBLINSKI_TANG_AT = _root(lambda z: 4 * z**3 - 32 * z + 5, -4.0, -2.0)


@landscape(
    "styblinski-tang",
    "two minima on every axis, one of them slightly better; minimum -39.166 dim",
    -5,
    5,
    STYBLINSKI_TANG_AT,
)
def styblinski_tang(u: Floats) -> Floats:
    z = u + STYBLINSKI_TANG_AT
    return np.asarray(np.sum(z**4 - 16 * z**2 + 5 * z, axis=1) / 2)


MICHALEWICZ_STEEPNESS = 10  # m; the usual one


@lru_cache(maxsize=16)
def michalewicz_at(dim: int) -> Floats:
    """Return the place [dim] of the minimum: each coordinate is a problem of its own, solved to the last bits.

    sin(z) sin(i z^2 / pi)^2m on [0, pi] has i lobes; the one whose peak is nearest to pi / 2 is the highest. In a lobe
    the logarithm has the falling derivative cot(z) + (4 m i z / pi) cot(i z^2 / pi), whose zero is the top.
    """
    i = np.arange(1, dim + 1)[:, None]  # [dim, 1]
    lobe = np.clip(np.floor(i / 4 - 0.5) + np.arange(2), 0, i - 1)  # [dim, 2]: peaks at z^2 = pi^2 (lobe + 1/2) / i
    low, high = np.pi * np.sqrt(lobe / i), np.pi * np.sqrt((lobe + 1) / i)
    for _ in range(64):  # more halvings than a double has bits
        z = (low + high) / 2
        t = i * z**2 / np.pi
        rising = np.cos(z) / np.sin(z) + 4 * MICHALEWICZ_STEEPNESS * i * z / np.pi * np.cos(t) / np.sin(t) > 0
        low, high = np.where(rising, z, low), np.where(rising, high, z)
    best = np.argmin(_michalewicz_terms(low, i), axis=1)
    at: Floats = low[np.arange(dim), best]
    at.flags.writeable = False
    return at


def _michalewicz_terms(z: Floats, i: NDArray[np.int64]) -> Floats:
    return np.asarray(-np.sin(z) * np.sin(i * z**2 / np.pi) ** (2 * MICHALEWICZ_STEEPNESS))


@landscape("michalewicz", "a flat plain with narrow trenches (m = 10); minimum near -dim", 0, math.pi, michalewicz_at)
def michalewicz(u: Floats) -> Floats:
    """Michalewicz, m = 10; beyond [0, pi] the value of the nearest point there plus the squared distance to it."""
    z = u + michalewicz_at(u.shape[1])
    inside = np.clip(z, 0, np.pi)
    terms = _michalewicz_terms(inside, np.arange(1, u.shape[1] + 1))
    return np.asarray(np.sum(terms + (z - inside) ** 2, axis=1))


# as in the Virtual Library
_HARTMANN_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_WIDTHS = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
_HARTMANN_PEAKS = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
# Newton's method on the gradient, from the place in the literature; a test does it again
HARTMANN6_AT = (
    0.20168951100670543,
    0.15001069182345797,
    0.476873974221897,
    0.2753324304940561,
    0.31165161660011326,
    0.6573005340656203,
)


@landscape(
    "hartmann6",
    "four overlapping dents in six dimensions; minimum -3.32237",
    0,
    1,
    HARTMANN6_AT,
    fixed_dim=6,
    budget=200,
)
def hartmann6(u: Floats) -> Floats:
    """Hartmann's six-dimensional function. Every peak is inside the box: leaving it loses in each term."""
    z = u + np.array(HARTMANN6_AT)
    squares = np.sum(_HARTMANN_WIDTHS * (z[:, None, :] - _HARTMANN_PEAKS) ** 2, axis=2)  # [n, 4]
    return np.asarray(-np.sum(_HARTMANN_HEIGHTS * np.exp(-squares), axis=1))


BRANIN_AT = (math.pi, 2.275)  # one of three minima: where the square is 0 and cos(z1) = -1


@landscape(
    "branin",
    "three equal minima in two dimensions; minimum 0.397887",
    (-5, 0),
    (10, 15),
    BRANIN_AT,
    fixed_dim=2,
    budget=100,
)
def branin(u: Floats) -> Floats:
    """(z2 - 5.1 z1^2 / (4 pi^2) + 5 z1 / pi - 6)^2 + 10 (1 - 1 / (8 pi)) cos(z1) + 10, never below 10 / (8 pi)."""
    # z put in: what is constant cancels, so that the square is exactly 0 at u = 0
    valley = u[:, 1] + 2.45 / np.pi * u[:, 0] - 5.1 / (4 * np.pi**2) * u[:, 0] ** 2
    # 10 + 10 (1 - t) cos(z1) = 10 t + 10 (1 - t) (1 - cos(u1)) with t = 1 / (8 pi)
    return np.asarray(valley**2 + 1.25 / np.pi + 20 * (1 - 0.125 / np.pi) * np.sin(u[:, 0] / 2) ** 2)


@landscape("ellipsoid", "a bowl whose axes differ a thousandfold, evenly; minimum 0", -5, 5, 0)
def ellipsoid(u: Floats) -> Floats:
    """f10: the axes' weights grow evenly, in their logarithm, from 1 to 10^6."""
    return np.asarray(np.sum(CONDITION ** np.linspace(0, 1, u.shape[1]) * u**2, axis=1))


@landscape("discus", "a bowl with one axis a thousand times as steep; minimum 0", -5, 5, 0)
def discus(u: Floats) -> Floats:
    """f11: one axis is 1000 times as steep as all others."""
    return np.asarray(CONDITION * u[:, 0] ** 2 + np.sum(u[:, 1:] ** 2, axis=1))


@landscape("cigar", "a bowl with one axis a thousand times as flat; minimum 0", -5, 5, 0)
def cigar(u: Floats) -> Floats:
    """f12: one axis is 1000 times as flat as all others."""
    return np.asarray(u[:, 0] ** 2 + CONDITION * np.sum(u[:, 1:] ** 2, axis=1))


@landscape("sharp-ridge", "a gentle slope along the bottom of a sharp cleft; minimum 0", -5, 5, 0)
def sharp_ridge(u: Floats) -> Floats:
    """f13: a slope down the first axis, with walls of 100 times the distance from it."""
    return np.asarray(u[:, 0] ** 2 + 100 * np.sqrt(np.sum(u[:, 1:] ** 2, axis=1)))


@landscape("different-powers", "a bowl that is flatter, axis by axis, the nearer it is; minimum 0", -5, 5, 0)
def different_powers(u: Floats) -> Floats:
    """f14: the exponents grow evenly from 2 to 6, so that the axes differ the more the nearer the minimum is."""
    return np.asarray(np.sqrt(np.sum(np.abs(u) ** (2 + 4 * np.linspace(0, 1, u.shape[1])), axis=1)))


@landscape("schaffer", "rings that grow finer towards the minimum, 0", -5, 5, 0, least_dim=2, rippled=True)
def schaffer(u: Floats, ripples: Floats | None = None) -> Floats:
    """f17, Schaffer's F7: rings round the minimum, of each two neighbouring axes, that grow finer towards it."""
    s = np.hypot(u[:, :-1], u[:, 1:])  # [n, d - 1]
    weights = 1.0 if ripples is None else ripples[:-1]
    return np.asarray(np.mean(np.sqrt(s) * (1 + weights * np.sin(50 * s**0.2) ** 2), axis=1) ** 2)
