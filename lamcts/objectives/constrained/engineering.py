"""Designs of machine parts: speed reducer, pressure vessel, spring, truss, welded beam, in the sources' own units.

Coello Coello and Mezura-Montes 2002, Golinski 1970, Ragsdell and Phillips 1976. The welded beam has the whole polar
moment of the weld; Deb 2000 has half of it, as has `welded-beam-deflection`.
"""

from functools import partial

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.problem import Problem, problem
from lamcts.spaces.box import Box
from lamcts.types import Floats

BUDGET = 100  # evaluations of a first run: these are small and smooth (untuned)
LEAST = 1e-12  # replaces a divisor of 0, which is far from where anything holds
THICKNESS = 0.0625  # inches: in steps of which sheets of steel are made
RATIOS = ("bending <= 1", "surface <= 1", "shaft_1 <= 1", "shaft_2 <= 1", "gap_1 <= 1", "gap_2 <= 1")
LOAD, LENGTH = 6000.0, 14.0  # pounds, inches
YOUNG, SHEAR = 30e6, 12e6  # moduli of steel, pounds per square inch
STRENGTH = ("shear <= 13600", "bending <= 30000", "deflection <= 0.25", "buckling >= 6000")


@problem(
    "speed-reducer",
    "weight of a gear box, 7 parameters, 11 constraints; minimum 2994.47",
    Box([2.6, 0.7, 17, 7.3, 7.3, 2.9, 5.0], [3.6, 0.8, 28, 8.3, 8.3, 3.9, 5.5]),
    {"weight": "min"},
    (*RATIOS, "stress_1 <= 1100", "stress_2 <= 850", "pitch <= 40", "slenderness >= 5", "slenderness <= 12"),
    optimum=2994.4710661,
    at=np.array([3.5, 0.7, 17, 7.3, 7.71531991148, 3.35021466610, 5.28665446498]),
    budget=BUDGET,
)
def speed_reducer(x: Floats) -> dict[str, Floats]:
    """Golinski's speed reducer, with the fifth parameter from 7.3 on (from 7.8 on the minimum is 2996.35)."""
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
    permute: seed of a permutation of the parameters (None: no permutation).
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


@problem(
    "tension-spring",
    "weight of a coil spring, 3 parameters, 4 constraints; minimum 0.0126652",
    Box([0.05, 0.25, 2], [2, 1.3, 15]),
    {"weight": "min"},
    ("deflection >= 1", "shear <= 1", "surge >= 1", "diameter <= 1.5"),
    optimum=0.0126652327883,
    at=np.array([0.05168906108277482, 0.3567177397997143, 11.288965751597306]),
    budget=BUDGET,
)
def tension_spring(x: Floats) -> dict[str, Floats]:
    """A spring: diameters of the wire and of the coil, number of coils."""
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


@problem(
    "three-bar-truss",
    "volume of three bars under load, 2 parameters, 3 constraints; minimum 263.896",
    Box(0, 1, dim=2),
    {"volume": "min"},
    ("stress_1 <= 2", "stress_2 <= 2", "stress_3 <= 2"),
    optimum=100 * (np.sqrt(2) + np.sqrt(1.5)),  # where 6 x1^2 - 6 x1 + 1 = 0 on the edge of the first stress
    at=np.array([(3 + np.sqrt(3)) / 6, 1 / np.sqrt(6)]),
    budget=50,
)
def three_bar_truss(x: Floats) -> dict[str, Floats]:
    """Areas of the two outer bars and of the middle one; the load and the stress that they bear are 2."""
    outer, middle = x.T
    shared = np.maximum(np.sqrt(2) * outer**2 + 2 * outer * middle, LEAST)
    return {
        "volume": 100 * (2 * np.sqrt(2) * outer + middle),
        "stress_1": 2 * (np.sqrt(2) * outer + middle) / shared,
        "stress_2": 2 * middle / shared,
        "stress_3": 2 / np.maximum(np.sqrt(2) * middle + outer, LEAST),
    }


@problem(
    "welded-beam",
    "cost of a welded beam, 4 parameters, 7 constraints; minimum 1.724852",
    Box(0.1, [2, 10, 10, 2]),
    {"cost": "min"},
    (*STRENGTH, "overhang <= 0", "weld_cost <= 5", "weld >= 0.125"),
    optimum=1.724852308597,
    at=np.array([0.205729639786, 3.470488665628, 9.036623910357, 0.205729639786]),
    budget=100,
)
def welded_beam(x: Floats) -> dict[str, Floats]:
    """The least cost of a beam that does not shear, bend, buckle or sag too much."""
    weld, long, height, thick = x.T
    slender = 1 - height / (2 * LENGTH) * np.sqrt(YOUNG / (4 * SHEAR))
    return {
        "cost": cost(x),
        "shear": shear(x, 2 * np.sqrt(2)),
        "bending": bending(x),
        "deflection": 4 * LOAD * LENGTH**3 / (YOUNG * height**3 * thick),
        "buckling": 4.013 * YOUNG * height * thick**3 / 6 / LENGTH**2 * slender,
        "overhang": weld - thick,
        "weld_cost": 0.10471 * weld**2 + 0.04811 * height * thick * (LENGTH + long),
        "weld": weld,
    }


def cost(x: Floats) -> Floats:
    """Return the cost of weld and bar, [n]."""
    weld, long, height, thick = x.T
    return np.asarray(1.10471 * weld**2 * long + 0.04811 * height * thick * (LENGTH + long))


def shear(x: Floats, moment: float) -> Floats:
    """Return the shear stress in the weld [n], whose polar moment has `moment` as its factor."""
    weld, long, height, _ = x.T
    across = ((weld + height) / 2) ** 2
    radius = np.sqrt(long**2 / 4 + across)
    direct = LOAD / (np.sqrt(2) * weld * long)
    polar = moment * weld * long * (long**2 / 12 + across)
    twist = LOAD * (LENGTH + long / 2) * radius / polar
    return np.asarray(np.sqrt(direct**2 + direct * twist * long / radius + twist**2))


def bending(x: Floats) -> Floats:
    """Return the bending stress in the bar, [n]."""
    return np.asarray(6 * LOAD * LENGTH / (x[:, 3] * x[:, 2] ** 2))
