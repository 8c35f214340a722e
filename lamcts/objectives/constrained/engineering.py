"""Four designs of machine parts: a speed reducer, a pressure vessel, a spring, a truss.

Formulas after Coello Coello and Mezura-Montes 2002 and Golinski 1970, quantities in the sources' own units. Best values
are recomputed in the tests, by descents from many points. All have this setting:

permute: seed of a permutation of the parameters (None: no permutation).
"""

from functools import partial

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.problem import Problem
from lamcts.spaces.box import Box
from lamcts.types import Floats

BUDGET = 100  # evaluations of a first run: these are small and smooth (untuned)
LEAST = 1e-12  # replaces a divisor of 0, which is far from where anything holds
THICKNESS = 0.0625  # inches: in steps of which sheets of steel are made


@register("speed-reducer", "weight of a gear box, 7 parameters, 11 constraints; minimum 2994.47", budget=BUDGET)
def speed_reducer(permute: int | None = None) -> Problem:
    """Golinski's speed reducer, with the fifth parameter from 7.3 on (from 7.8 on the minimum is 2996.35)."""
    names = ("bending", "surface", "shaft_1", "shaft_2", "gap_1", "gap_2")
    limits = (*(f"{name} <= 1" for name in names), "stress_1 <= 1100", "stress_2 <= 850", "pitch <= 40")
    return Problem(
        "speed-reducer",
        Box([2.6, 0.7, 17, 7.3, 7.3, 2.9, 5.0], [3.6, 0.8, 28, 8.3, 8.3, 3.9, 5.5]),
        _speed_reducer,
        {"weight": "min"},
        (*limits, "slenderness >= 5", "slenderness <= 12"),
        optimum=2994.4710661,
        at=np.array([3.5, 0.7, 17, 7.3, 7.71531991148, 3.35021466610, 5.28665446498]),
    ).permuted(permute)


def _speed_reducer(x: Floats) -> dict[str, Floats]:
    width, module, teeth, l1, l2, d1, d2 = x.T
    wheel = 3.3333 * teeth**2 + 14.9334 * teeth - 43.0934
    gears = 0.7854 * width * module**2 * wheel - 1.508 * width * (d1**2 + d2**2)
    face = width * module**2 * teeth
    return {
        "weight": gears + 7.4777 * (d1**3 + d2**3) + 0.7854 * (l1 * d1**2 + l2 * d2**2),
        "bending": 27 / face,
        "surface": 397.5 / (face * teeth),
        "shaft_1": 1.93 * l1**3 / (module * teeth * d1**4),
        "shaft_2": 1.93 * l2**3 / (module * teeth * d2**4),
        "gap_1": (1.5 * d1 + 1.9) / l1,
        "gap_2": (1.1 * d2 + 1.9) / l2,
        "stress_1": np.sqrt((745 * l1 / (module * teeth)) ** 2 + 16.9e6) / (0.1 * d1**3),
        "stress_2": np.sqrt((745 * l2 / (module * teeth)) ** 2 + 157.5e6) / (0.1 * d2**3),
        "pitch": module * teeth,
        "slenderness": width / module,
    }


@register("pressure-vessel", "cost of a tank, sheets in steps of 1/16 inch; minimum 6059.714", budget=BUDGET)
def pressure_vessel(continuous: bool = False, permute: int | None = None) -> Problem:
    """A cylinder with two half spheres: thicknesses of shell and head, radius, length.

    continuous: whether any thickness can be had (False: both are rounded to steps of 1/16 inch, in the cost and in the
        constraints alike); the minimum is then 5885.333.
    """
    radius = 0.8125 / 0.0193  # of the best: the shell of 13 steps just holds
    length = (1_296_000 - 4 / 3 * np.pi * radius**3) / (np.pi * radius**2)
    at = [0.8125, 0.4375, radius, length]
    if continuous:
        radius = 40.3196187240987  # where length is 200 and the volume is just reached
        at = [0.0193 * radius, 0.00954 * radius, radius, 200.0]
    return Problem(
        "pressure-vessel",
        Box([THICKNESS, THICKNESS, 10, 10], [99 * THICKNESS, 99 * THICKNESS, 200, 200]),
        partial(_pressure_vessel, continuous),
        {"cost": "min"},
        ("shell >= 0", "head >= 0", "volume >= 1296000", "length <= 240"),
        optimum=5885.332773616 if continuous else 6059.714335048,
        at=np.array(at),
        settings={"continuous": continuous},
    ).permuted(permute)


def _pressure_vessel(continuous: bool, x: Floats) -> dict[str, Floats]:
    sheets = x[:, :2] if continuous else np.round(x[:, :2] / THICKNESS) * THICKNESS
    (shell, head), (radius, length) = sheets.T, x[:, 2:].T
    ends = 1.7781 * head * radius**2 + 19.84 * shell**2 * radius
    return {
        "cost": 0.6224 * shell * radius * length + 3.1661 * shell**2 * length + ends,
        "shell": shell - 0.0193 * radius,
        "head": head - 0.00954 * radius,
        "volume": np.pi * radius**2 * length + 4 / 3 * np.pi * radius**3,
        "length": length,
    }


@register("tension-spring", "weight of a coil spring, 3 parameters, 4 constraints; minimum 0.0126652", budget=BUDGET)
def tension_spring(permute: int | None = None) -> Problem:
    """A spring: diameters of the wire and of the coil, number of coils."""
    return Problem(
        "tension-spring",
        Box([0.05, 0.25, 2], [2, 1.3, 15]),
        _tension_spring,
        {"weight": "min"},
        ("deflection >= 1", "shear <= 1", "surge >= 1", "diameter <= 1.5"),
        optimum=0.0126652327883,
        at=np.array([0.05168906108277482, 0.3567177397997143, 11.288965751597306]),
    ).permuted(permute)


def _tension_spring(x: Floats) -> dict[str, Floats]:
    wire, coil, turns = x.T
    wider = np.where(coil == wire, LEAST, coil - wire)
    bent = (4 * coil**2 - wire * coil) / (12566 * wire**3 * wider)
    return {
        "weight": (turns + 2) * coil * wire**2,
        "deflection": coil**3 * turns / (71785 * wire**4),
        "shear": bent + 1 / (5108 * wire**2),
        "surge": 140.45 * wire / (coil**2 * turns),
        "diameter": wire + coil,
    }


@register("three-bar-truss", "volume of three bars under load, 2 parameters, 3 constraints; minimum 263.896", budget=50)
def three_bar_truss(permute: int | None = None) -> Problem:
    """Areas of the two outer bars and of the middle one; the load and the stress that they bear are 2."""
    return Problem(
        "three-bar-truss",
        Box(0, 1, dim=2),
        _three_bar_truss,
        {"volume": "min"},
        ("stress_1 <= 2", "stress_2 <= 2", "stress_3 <= 2"),
        optimum=100 * (np.sqrt(2) + np.sqrt(1.5)),  # where 6 x1^2 - 6 x1 + 1 = 0 on the edge of the first stress
        at=np.array([(3 + np.sqrt(3)) / 6, 1 / np.sqrt(6)]),
    ).permuted(permute)


def _three_bar_truss(x: Floats) -> dict[str, Floats]:
    outer, middle = x.T
    shared = np.maximum(np.sqrt(2) * outer**2 + 2 * outer * middle, LEAST)
    return {
        "volume": 100 * (2 * np.sqrt(2) * outer + middle),
        "stress_1": 2 * (np.sqrt(2) * outer + middle) / shared,
        "stress_2": 2 * middle / shared,
        "stress_3": 2 / np.maximum(np.sqrt(2) * middle + outer, LEAST),
    }
