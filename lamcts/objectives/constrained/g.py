"""The G problems by name: fifteen of the twenty-four of CEC 2006 (`g_formulas.py`); G2 is `keane`.

An equality holds within 1e-4, as there: the best value is the best within that tolerance. All have this setting:

permute: seed of a permutation of the parameters (None: no permutation).
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.constrained import g_formulas as f
from lamcts.objectives.constrained.g_best import BEST
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


def _named(formula: Formula, names: tuple[str, ...], x: Floats) -> dict[str, Floats]:
    value, terms = formula(x)
    return dict(zip(names, [value, *terms], strict=True))


def _add(row: Row) -> None:
    @register(row.name, row.line, budget=BUDGET)
    def build(permute: int | None = None) -> Problem:
        return row.build().permuted(permute)


for _row in ROWS:
    _add(_row)
