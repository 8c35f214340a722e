"""The G problems by name: fifteen of the twenty-four of CEC 2006 (`g_formulas.py`); G2 is `keane`.

An equality holds within 1e-4, as there: the best value is the best within that tolerance. All have this setting:

permute: seed of a permutation of the parameters (None: no permutation).
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.constrained import g_formulas as f
from lamcts.objectives.constrained.g_formulas import EQUAL, Formula
from lamcts.objectives.problem import Problem
from lamcts.spaces.box import Box
from lamcts.types import Floats

TOLERANCE = 1e-4  # of equalities; CEC 2006
BUDGET = 500  # evaluations of a first run (untuned)
Side = float | tuple[float, ...]


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
    Row(f.g1, "13 parameters, 9 constraints, all linear; minimum -15", 0, (*[1] * 9, *[100] * 3, 1), 9),
    Row(f.g3, "product of 10 parameters on a sphere, 1 =; minimum -1.0005", 0, 1, 1),
    Row(f.g4, "5 parameters, 6 constraints; minimum -30665.5", (78, 33, 27, 27, 27), (102, 45, 45, 45, 45), 6),
    Row(f.g5, "power flow, 4 parameters, 2 and 3 =; minimum 5126.5", (0, 0, -0.55, -0.55), (1200, 1200, 0.55, 0.55), 5),
    Row(f.g6, "a sliver between two circles, 2 parameters; minimum -6961.81", (13, 0), 100, 2),
    Row(f.g7, "10 parameters, 8 constraints, 6 of them curved; minimum 24.3062", -10, 10, 8),
    Row(f.g8, "waves, 2 parameters, 2 constraints; minimum -0.0958250", 1e-5, 10, 2),
    Row(f.g9, "7 parameters, 4 constraints; minimum 680.63", -10, 10, 4),
    Row(
        f.g10,
        "a heat exchanger, 8 parameters, 6 constraints in scales of 1 to 1e6; minimum 7049.25",
        (100, 1000, 1000, *[10] * 5),
        (*[10000] * 3, *[1000] * 5),
        6,
    ),
    Row(f.g11, "2 parameters on a parabola, 1 =; minimum 0.7499", -1, 1, 1),
    Row(f.g12, "3 parameters in 729 balls; minimum -1", 0, 10, 1),
    Row(f.g13, "5 parameters, 3 =; minimum 0.0539415", (*[-2.3] * 2, *[-3.2] * 3), (*[2.3] * 2, *[3.2] * 3), 3),
    Row(f.g18, "a hexagon, 9 parameters, 13 constraints; minimum -0.866025", (*[-10] * 8, 0), (*[10] * 8, 20), 13),
    Row(f.g19, "15 parameters, 5 constraints; minimum 32.6556", 0, 10, 5),
    Row(f.g24, "2 parameters, feasible in two pieces; minimum -5.50801", 0, (3, 4), 2),
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
