"""Small problems of two objectives with constraints: BNH, SRN, TNK and OSY, as collected by Deb (2001, section 8.3)."""

import numpy as np

from lamcts.objectives.problem import problem
from lamcts.spaces.box import Box
from lamcts.types import Floats

BUDGET = 200  # evaluations of a first run (untuned)
BOTH = {"f1": "min", "f2": "min"}
# The hypervolumes are those of the fronts, whose curves are known: a test integrates them again.


@problem(
    "bnh",
    "2 parameters, 2 objectives, 2 constraints, a smooth front; hypervolume at most 5285.33",
    Box(0, [5, 3]),
    BOTH,
    ("near <= 25", "far >= 7.7"),
    reference={"f1": 140.0, "f2": 50.0},  # just beyond the ends of the front, 136 and 50
    hypervolume=5285.333333,
    budget=BUDGET,
)
def bnh(x: Floats) -> dict[str, Floats]:
    """Binh and Korn 1997."""
    a, b = x.T
    return {
        "f1": 4 * a**2 + 4 * b**2,
        "f2": (a - 5) ** 2 + (b - 5) ** 2,
        "near": (a - 5) ** 2 + b**2,
        "far": (a - 8) ** 2 + (b + 3) ** 2,
    }


@problem(
    "srn",
    "2 parameters, 2 objectives, a disc and a half-plane; hypervolume at most 42689.7",
    Box(-20, 20, dim=2),
    BOTH,
    ("disc <= 225", "side <= -10"),
    reference={"f1": 250.0, "f2": 50.0},  # beyond the ends of the front, 223 and 3
    hypervolume=42689.739,
    budget=BUDGET,
)
def srn(x: Floats) -> dict[str, Floats]:
    """Srinivas and Deb 1994."""
    a, b = x.T
    return {
        "f1": 2 + (a - 2) ** 2 + (b - 1) ** 2,
        "f2": 9 * a - (b - 1) ** 2,
        "disc": a**2 + b**2,
        "side": a - 3 * b,
    }


@problem(
    "tnk",
    "2 parameters, 2 objectives, a front in three pieces on a wave; hypervolume at most 0.4334",
    Box(0, np.pi, dim=2),
    BOTH,
    ("wave >= 1", "disc <= 0.5"),
    reference={"f1": 1.1, "f2": 1.1},  # just beyond the ends of the front, 1.04
    hypervolume=0.4333946,
    budget=BUDGET,
)
def tnk(x: Floats) -> dict[str, Floats]:
    """Tanaka et al. 1995: the objectives are the parameters; the front lies on the constraint alone."""
    a, b = x.T
    wave = a**2 + b**2 - 0.1 * np.cos(16 * np.arctan2(a, b))
    return {"f1": a, "f2": b, "wave": wave, "disc": (a - 0.5) ** 2 + (b - 0.5) ** 2}


@problem(
    "osy",
    "6 parameters, 2 objectives, 6 constraints, a front in five pieces; hypervolume at most 10108.4",
    Box([0, 0, 1, 0, 1, 0], [10, 10, 5, 6, 5, 10]),
    BOTH,
    ("sum >= 2", "sum <= 6", "climb <= 2", "fall <= 2", "third <= 4", "fifth >= 4"),
    reference={"f1": -75.0, "f2": 75.0},  # BoTorch
    hypervolume=10108.41,
    budget=BUDGET,
)
def osy(x: Floats) -> dict[str, Floats]:
    """Osyczka and Kundu 1995: each piece of the front lies where other constraints hold with equality."""
    a, b, c, d, e, f = x.T
    return {
        "f1": -(25 * (a - 2) ** 2 + (b - 2) ** 2 + (c - 1) ** 2 + (d - 4) ** 2 + (e - 1) ** 2),
        "f2": (x**2).sum(1),
        "sum": a + b,
        "climb": b - a,
        "fall": a - 3 * b,
        "third": (c - 3) ** 2 + d,
        "fifth": (e - 3) ** 2 + f,
    }
