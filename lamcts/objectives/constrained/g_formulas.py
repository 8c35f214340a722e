"""Formulas of the G problems (Liang et al. 2006, CEC special session on constrained real-parameter optimisation).

Each takes points x [n, d] and gives the value [n], then what is at most 0, [n] each, in the order of the report; the
last of them, as many as `EQUAL` says, are to be 0. Scales are the report's: some reach 1e6, some 1.
"""

from collections.abc import Callable

import numpy as np

from lamcts.types import Floats

Terms = tuple[Floats, list[Floats]]
Formula = Callable[[Floats], Terms]


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
