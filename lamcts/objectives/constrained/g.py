"""The G problems: fifteen of the twenty-four of CEC 2006 (Liang et al. 2006); G2 is `keane`.

A formula takes points x [n, d] and returns the value [n], then what is at most 0, [n] each, in the report's order and
scales; the last `EQUAL` of them are 0 within 1e-4, as there. All have this setting:

permute: seed of a permutation of the parameters (None: no permutation).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.problem import Problem
from lamcts.spaces.box import Box
from lamcts.types import Floats

Terms = tuple[Floats, list[Floats]]
Formula = Callable[[Floats], Terms]
TOLERANCE = 1e-4  # of equalities; CEC 2006
BUDGET = 500  # evaluations of a first run (untuned)
Side = float | tuple[float, ...]


def g1(x: Floats) -> Terms:
    a, b, c, d, e, f, g, h, i, j, k, m, _ = x.T
    gates = [2 * a + 2 * b + j + k - 10, 2 * a + 2 * c + j + m - 10, 2 * b + 2 * c + k + m - 10]
    value = 5 * (x[:, :4] - x[:, :4] ** 2).sum(1) - x[:, 4:].sum(1)
    return value, [*gates, j - 8 * a, k - 8 * b, m - 8 * c, j - 2 * d - e, k - 2 * f - g, m - 2 * h - i]


def g3(x: Floats) -> Terms:
    dim = x.shape[1]
    return -np.prod(np.sqrt(dim) * x, axis=1), [(x**2).sum(1) - 1]


def g4(x: Floats) -> Terms:
    a, b, c, d, e = x.T
    u = 85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e
    v = 80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * c**2
    w = 9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d
    value = 5.3578547 * c**2 + 0.8356891 * a * e + 37.293239 * a - 40792.141
    return value, [u - 92, -u, v - 110, 90 - v, w - 25, 20 - w]


def g5(x: Floats) -> Terms:
    a, b, c, d = x.T
    angle = 0.25
    flows = [
        1000 * (np.sin(-c - angle) + np.sin(-d - angle)) + 894.8 - a,
        1000 * (np.sin(c - angle) + np.sin(c - d - angle)) + 894.8 - b,
        1000 * (np.sin(d - angle) + np.sin(d - c - angle)) + 1294.8,
    ]
    return 3 * a + 1e-6 * a**3 + 2 * b + 2e-6 / 3 * b**3, [c - d - 0.55, d - c - 0.55, *flows]


def g6(x: Floats) -> Terms:
    a, b = x.T
    return (a - 10) ** 3 + (b - 20) ** 3, [100 - (a - 5) ** 2 - (b - 5) ** 2, (a - 6) ** 2 + (b - 5) ** 2 - 82.81]


def g7(x: Floats) -> Terms:
    a, b, c, d, e, f, g, h, i, j = x.T
    bowls = (c - 10) ** 2 + 4 * (d - 5) ** 2 + (e - 3) ** 2 + 2 * (f - 1) ** 2 + 5 * g**2
    bowls = bowls + 7 * (h - 11) ** 2 + 2 * (i - 10) ** 2 + (j - 7) ** 2
    return a**2 + b**2 + a * b - 14 * a - 16 * b + bowls + 45, [
        4 * a + 5 * b - 3 * g + 9 * h - 105,
        10 * a - 8 * b - 17 * g + 2 * h,
        -8 * a + 2 * b + 5 * i - 2 * j - 12,
        3 * (a - 2) ** 2 + 4 * (b - 3) ** 2 + 2 * c**2 - 7 * d - 120,
        5 * a**2 + 8 * b + (c - 6) ** 2 - 2 * d - 40,
        a**2 + 2 * (b - 2) ** 2 - 2 * a * b + 14 * e - 6 * f,
        (a - 8) ** 2 / 2 + 2 * (b - 4) ** 2 + 3 * e**2 - f - 30,
        -3 * a + 6 * b + 12 * (i - 8) ** 2 - 7 * j,
    ]


def g8(x: Floats) -> Terms:
    """Least where both are about 1.2 and 4.2; beyond the constraints it falls without a bound as x1 goes to 0."""
    a, b = x.T
    value = -(np.sin(2 * np.pi * a) ** 3) * np.sin(2 * np.pi * b) / (a**3 * (a + b))
    return value, [a**2 - b + 1, 1 - a + (b - 4) ** 2]


def g9(x: Floats) -> Terms:
    a, b, c, d, e, f, g = x.T
    value = (a - 10) ** 2 + 5 * (b - 12) ** 2 + c**4 + 3 * (d - 11) ** 2 + 10 * e**6
    return value + 7 * f**2 + g**4 - 4 * f * g - 10 * f - 8 * g, [
        2 * a**2 + 3 * b**4 + c + 4 * d**2 + 5 * e - 127,
        7 * a + 3 * b + 10 * c**2 + d - e - 282,
        23 * a + b**2 + 6 * f**2 - 8 * g - 196,
        4 * a**2 + b**2 - 3 * a * b + 2 * c**2 + 5 * f - 11 * g,
    ]


def g10(x: Floats) -> Terms:
    a, b, c, d, e, f, g, h = x.T
    return a + b + c, [
        0.0025 * (d + f) - 1,
        0.0025 * (e + g - d) - 1,
        0.01 * (h - e) - 1,
        833.33252 * d + 100 * a - 83333.333 - a * f,
        1250 * e + b * d - 1250 * d - b * g,
        1_250_000 + c * e - 2500 * e - c * h,
    ]


def g11(x: Floats) -> Terms:
    a, b = x.T
    return a**2 + (b - 1) ** 2, [b - a**2]


def g12(x: Floats) -> Terms:
    """Feasible in 729 balls on a grid: what is at most 0 is the squared distance to the nearest, less its radius's."""
    nearest = np.clip(np.round(x), 1, 9)
    return ((x - 5) ** 2).sum(1) / 100 - 1, [((x - nearest) ** 2).sum(1) - 0.0625]


def g13(x: Floats) -> Terms:
    a, b, c, d, e = x.T
    return np.exp(a * b * c * d * e), [(x**2).sum(1) - 10, b * c - 5 * d * e, a**3 + b**3 + 1]


def g18(x: Floats) -> Terms:
    """The area of a hexagon of diameter 1: twice as large with corners at the distances that are at most 1."""
    a, b, c, d, e, f, g, h, i = x.T
    return -(a * d - b * c + c * i - e * i + e * h - f * g) / 2, [
        c**2 + d**2 - 1,
        i**2 - 1,
        e**2 + f**2 - 1,
        a**2 + (b - i) ** 2 - 1,
        (a - e) ** 2 + (b - f) ** 2 - 1,
        (a - g) ** 2 + (b - h) ** 2 - 1,
        (c - e) ** 2 + (d - f) ** 2 - 1,
        (c - g) ** 2 + (d - h) ** 2 - 1,
        g**2 + (h - i) ** 2 - 1,
        b * c - a * d,
        -c * i,
        e * i,
        f * g - e * h,
    ]


# of G19, Colville's second problem, as the report lists them
_A = np.array(
    [
        [-16, 2, 0, 1, 0],
        [0, -2, 0, 0.4, 2],
        [-3.5, 0, 2, 0, 0],
        [0, -2, 0, -4, -1],
        [0, -9, -2, 1, -2.8],
        [2, 0, -4, 0, 0],
        [-1, -1, -1, -1, -1],
        [-1, -2, -3, -2, -1],
        [1, 2, 3, 4, 5],
        [1, 1, 1, 1, 1],
    ]
)
_B = np.array([-40, -2, -0.25, -4, -4, -1, -40, -60, 5, 1])
_C = np.array(
    [
        [30, -20, -10, 32, -10],
        [-20, 39, -6, -31, 32],
        [-10, -6, 10, -6, -10],
        [32, -31, -6, 39, -20],
        [-10, 32, -10, -20, 30],
    ]
)
_D = np.array([4, 8, 10, 6, 2])
_E = np.array([-15, -27, -36, -18, -12])


def g19(x: Floats) -> Terms:
    first, last = x[:, :10], x[:, 10:]
    value = (last @ _C * last).sum(1) + 2 * last**3 @ _D - first @ _B
    return value, list((first @ _A - 2 * last @ _C - 3 * _D * last**2 - _E).T)


def g24(x: Floats) -> Terms:
    a, b = x.T
    return -a - b, [
        -2 * a**4 + 8 * a**3 - 8 * a**2 + b - 2,
        -4 * a**4 + 32 * a**3 - 88 * a**2 + 96 * a + b - 36,
    ]


EQUAL: dict[Formula, int] = {g3: 1, g5: 3, g11: 1, g13: 3}  # how many of the last terms have to be 0


class Row(NamedTuple):
    """A problem: its formula, a line about it, the sides of its box, and how many constraints it has."""

    formula: Formula
    line: str
    low: Side
    high: Side
    bounds: int

    @property
    def name(self) -> str:
        return self.formula.__name__

    def build(self) -> Problem:
        free = self.bounds - EQUAL.get(self.formula, 0)
        below = [f"g{i + 1} <= 0" for i in range(free)]
        zero = [f"h{i + 1} == 0 +- {TOLERANCE:g}" for i in range(self.bounds - free)]
        names = ("value", *(text.split()[0] for text in below + zero))
        optimum, at = BEST[self.name]
        space = Box(self.low, self.high, dim=len(at))
        formula = partial(_named, self.formula, names)
        return Problem(self.name, space, formula, {"value": "min"}, (*below, *zero), optimum, np.array(at, float))


# Boxes: Liang et al. 2006. Lines say parameters, constraints (= for equalities), minimum.
ROWS = (
    Row(g1, "13 parameters, 9 constraints, all linear; minimum -15", 0, (*[1] * 9, *[100] * 3, 1), 9),
    Row(g3, "product of 10 parameters on a sphere, 1 =; minimum -1.0005", 0, 1, 1),
    Row(g4, "5 parameters, 6 constraints; minimum -30665.5", (78, 33, 27, 27, 27), (102, 45, 45, 45, 45), 6),
    Row(g5, "power flow, 4 parameters, 2 and 3 =; minimum 5126.5", (0, 0, -0.55, -0.55), (1200, 1200, 0.55, 0.55), 5),
    Row(g6, "a sliver between two circles, 2 parameters; minimum -6961.81", (13, 0), 100, 2),
    Row(g7, "10 parameters, 8 constraints, 6 of them curved; minimum 24.3062", -10, 10, 8),
    Row(g8, "waves, 2 parameters, 2 constraints; minimum -0.0958250", 1e-5, 10, 2),
    Row(g9, "7 parameters, 4 constraints; minimum 680.63", -10, 10, 4),
    Row(
        g10,
        "a heat exchanger, 8 parameters, 6 constraints in scales of 1 to 1e6; minimum 7049.25",
        (100, 1000, 1000, *[10] * 5),
        (*[10000] * 3, *[1000] * 5),
        6,
    ),
    Row(g11, "2 parameters on a parabola, 1 =; minimum 0.7499", -1, 1, 1),
    Row(g12, "3 parameters in 729 balls; minimum -1", 0, 10, 1),
    Row(g13, "5 parameters, 3 =; minimum 0.0539415", (*[-2.3] * 2, *[-3.2] * 3), (*[2.3] * 2, *[3.2] * 3), 3),
    Row(g18, "a hexagon, 9 parameters, 13 constraints; minimum -0.866025", (*[-10] * 8, 0), (*[10] * 8, 20), 13),
    Row(g19, "15 parameters, 5 constraints; minimum 32.6556", 0, 10, 5),
    Row(g24, "2 parameters, feasible in two pieces; minimum -5.50801", 0, (3, 4), 2),
)


# The best values known, and where they are: by descents (SLSQP) from 15 to 60 random points, then Newton's steps onto
# the constraints that hold with equality; all agree with Liang et al. 2006. An equality may be off by 1e-4, and at the
# best it is. Value, and place [d]:
BEST: dict[str, tuple[float, tuple[float, ...]]] = {
    "g1": (-15.0, (1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 1)),
    "g3": (-(1.0001**5), (0.10001**0.5,) * 10),
    "g4": (-30665.538671783, (78, 33, 29.9952560256816, 45, 36.775812905788186)),
    "g5": (5126.4967140071, (679.9451412583772, 1026.066983521041, 0.1188763741137163, -0.3962334828327718)),
    "g6": (-6961.813875580143, (14.095, 5 - (100 - 9.095**2) ** 0.5)),
    "g7": (
        24.30620906817981,
        (
            *(2.17199637119866, 2.363682973808287, 8.773925738439495, 5.095984487672061, 0.9906547653322163),
            *(1.43057397974599, 1.3216442080680988, 9.82872580781869, 8.280091669899047, 8.375926663761266),
        ),
    ),
    "g8": (-0.09582504141803584, (1.227971352846406, 4.245373365577642)),
    "g9": (
        680.6300573744022,
        (
            *(2.330499380367583, 1.9513723731192034, -0.4775413724637752, 4.365726230340987, -0.6244869692825061),
            *(1.0381310261870613, 1.5942267202409026),
        ),
    ),
    "g10": (
        7049.248020528668,
        (
            *(579.3066344417717, 1359.9706850465561, 5109.97070104034, 182.0176954065378, 295.60117195838643),
            *(217.9823045934622, 286.41652344815134, 395.60117195838643),
        ),
    ),
    "g11": (0.7499, (0.4999**0.5, 0.5)),
    "g12": (-1.0, (5, 5, 5)),
    "g13": (
        0.053941514041897905,
        (-1.7171422400300003, 1.5957212404946803, 1.827250240627101, -0.7636598819128669, -0.7636598673649799),
    ),
    "g18": (
        -(0.75**0.5),  # several hexagons have it
        (
            *(-0.36244944048363004, -0.7577607406358798, 0.6259139309946216, -0.7798921406110336, -0.36244944048366984),
            *(-0.9320034351294392, 0.6259139309946549, -0.6056494461174321, 0.17424269449357474),
        ),
    ),
    "g19": (
        32.65559295024634,
        (
            *(0, 0, 3.945990435500845, 0, 3.2831773424844726, 10, 0, 0, 0, 0, 0.37076485006854865),
            *(0.27845602645018225, 0.5238384876199638, 0.3886201509794334, 0.29815676345996445),
        ),
    ),
    "g24": (-5.5080132715952335, (2.329520197477602, 3.178493074117631)),
}


def _named(formula: Formula, names: tuple[str, ...], x: Floats) -> dict[str, Floats]:
    value, terms = formula(x)
    return dict(zip(names, [value, *terms], strict=True))


def _add(row: Row) -> None:
    @register(row.name, row.line, budget=BUDGET)
    def build(permute: int | None = None) -> Problem:
        return row.build().permuted(permute)


for _row in ROWS:
    _add(_row)
