"""A welded beam: the weld's height and length, the bar's height and thickness; its cost, and what it must bear.

After Ragsdell and Phillips 1976 as in Coello Coello 2000. The literature has two polar moments of the weld: the whole
one here, and half of it (Deb 2000), with which the least cost is 2.218; `lamcts.objectives.pareto.beam` takes Deb's.
"""

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.problem import Problem
from lamcts.spaces.box import Box
from lamcts.types import Floats

LOAD, LENGTH = 6000.0, 14.0  # pounds, inches
YOUNG, SHEAR = 30e6, 12e6  # moduli of steel, pounds per square inch


@register("welded-beam", "cost of a welded beam, 4 parameters, 7 constraints; minimum 1.724852", budget=100)
def welded_beam(permute: int | None = None) -> Problem:
    """The least cost of a beam that does not shear, bend, buckle or sag too much.

    permute: seed of a permutation of the parameters (None: no permutation).
    """
    strength = ("shear <= 13600", "bending <= 30000", "deflection <= 0.25", "buckling >= 6000")
    return Problem(
        "welded-beam",
        Box(0.1, [2, 10, 10, 2]),
        _welded_beam,
        {"cost": "min"},
        (*strength, "overhang <= 0", "weld_cost <= 5", "weld >= 0.125"),
        optimum=1.724852308597,
        at=np.array([0.205729639786, 3.470488665628, 9.036623910357, 0.205729639786]),
    ).permuted(permute)


def _welded_beam(x: Floats) -> dict[str, Floats]:
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
    result: Floats = 1.10471 * weld**2 * long + 0.04811 * height * thick * (LENGTH + long)
    return result


def shear(x: Floats, moment: float) -> Floats:
    """Return the shear stress in the weld [n], whose polar moment has `moment` as its factor."""
    weld, long, height, _ = x.T
    across = ((weld + height) / 2) ** 2
    radius = np.sqrt(long**2 / 4 + across)
    direct = LOAD / (np.sqrt(2) * weld * long)
    polar = moment * weld * long * (long**2 / 12 + across)
    twist = LOAD * (LENGTH + long / 2) * radius / polar
    result: Floats = np.sqrt(direct**2 + direct * twist * long / radius + twist**2)
    return result


def bending(x: Floats) -> Floats:
    """Return the bending stress in the bar, [n]."""
    result: Floats = 6 * LOAD * LENGTH / (x[:, 3] * x[:, 2] ** 2)
    return result
