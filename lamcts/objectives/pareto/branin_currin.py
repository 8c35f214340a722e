"""Branin's function against Currin's (Belakaria et al. 2019), and within a disc (Gelbart, Snoek and Adams 2014)."""

import numpy as np

from lamcts.objectives.problem import problem
from lamcts.objectives.synthetic import formulas
from lamcts.spaces.box import Box
from lamcts.types import Floats

BUDGET = 100  # evaluations of a first run (untuned)
BRANIN = np.array([-5.0, 0.0]), np.array([15.0, 15.0])  # corner and widths of Branin's usual box


@problem(
    "branin-currin",
    "two parameters, two objectives; hypervolume at most 59.4066",
    Box(0, 1, dim=2),
    {"branin": "min", "currin": "min"},
    reference={"branin": 18.0, "currin": 6.0},  # BoTorch
    hypervolume=59.4066,  # of 40,000 points of the front, found again from another seed; BoTorch has 59.3601
    budget=BUDGET,
)
def branin_currin(x: Floats) -> dict[str, Floats]:
    """Branin's function on [0, 1]^2, scaled to its usual box, against Currin's."""
    at = BRANIN[0] + x * BRANIN[1] - np.array(formulas.BRANIN_AT)
    return {"branin": formulas.branin(at), "currin": _currin(*x.T)}


@problem(
    "branin-currin-constrained",
    "the same within a disc; hypervolume at most 609.4035",
    Box(0, 1, dim=2),
    {"branin": "min", "currin": "min"},
    ("distance <= 50",),
    reference={"branin": 80.0, "currin": 12.0},  # BoTorch
    hypervolume=609.4035,  # in the same way; BoTorch has 608.4004
    budget=BUDGET,
)
def branin_currin_constrained(x: Floats) -> dict[str, Floats]:
    """The same within 50 of the squared distance to (2.5, 7.5) in Branin's box."""
    z = BRANIN[0] + x * BRANIN[1]
    return branin_currin(x) | {"distance": ((z - np.array([2.5, 7.5])) ** 2).sum(1)}


def _currin(a: Floats, b: Floats) -> Floats:
    """Currin's exponential function (Currin et al. 1991); at b = 0 its limit."""
    edge = np.where(b > 0, -np.expm1(-1 / (2 * np.maximum(b, 1e-300))), 1.0)
    return np.asarray(edge * (2300 * a**3 + 1900 * a**2 + 2092 * a + 60) / (100 * a**3 + 500 * a**2 + 4 * a + 20))
