"""Branin's function against Currin's: two parameters, two objectives, with and without a disc that all must lie in.

Belakaria, Deshwal and Doppa 2019; the disc is of Gelbart, Snoek and Adams 2014. All have this setting:

permute: seed of a permutation of the parameters (None: no permutation).
"""

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.problem import Problem
from lamcts.objectives.synthetic import formulas
from lamcts.spaces.box import Box
from lamcts.types import Floats

BUDGET = 100  # evaluations of a first run (untuned)
BRANIN = np.array([-5.0, 0.0]), np.array([15.0, 15.0])  # corner and widths of Branin's usual box


@register("branin-currin", "two parameters, two objectives; hypervolume at most 59.4066", budget=BUDGET)
def branin_currin(permute: int | None = None) -> Problem:
    """Branin's function on [0, 1]^2, scaled to its usual box, against Currin's."""
    return Problem(
        "branin-currin",
        Box(0, 1, dim=2),
        _both,
        {"branin": "min", "currin": "min"},
        reference={"branin": 18.0, "currin": 6.0},  # BoTorch
        hypervolume=59.4066,  # of 40,000 points of the front, found again from another seed; BoTorch has 59.3601
    ).permuted(permute)


@register("branin-currin-constrained", "the same within a disc; hypervolume at most 609.4035", budget=BUDGET)
def branin_currin_constrained(permute: int | None = None) -> Problem:
    """The same within 50 of the squared distance to (2.5, 7.5) in Branin's box."""
    return Problem(
        "branin-currin-constrained",
        Box(0, 1, dim=2),
        _within,
        {"branin": "min", "currin": "min"},
        ("distance <= 50",),
        reference={"branin": 80.0, "currin": 12.0},  # BoTorch
        hypervolume=609.4035,  # in the same way; BoTorch has 608.4004
    ).permuted(permute)


def _both(x: Floats) -> dict[str, Floats]:
    at = BRANIN[0] + x * BRANIN[1] - np.array(formulas.BRANIN_AT)
    return {"branin": formulas.branin(at), "currin": _currin(*x.T)}


def _within(x: Floats) -> dict[str, Floats]:
    z = BRANIN[0] + x * BRANIN[1]
    return _both(x) | {"distance": ((z - np.array([2.5, 7.5])) ** 2).sum(1)}


def _currin(a: Floats, b: Floats) -> Floats:
    """Currin's exponential function (Currin et al. 1991); at b = 0 its limit."""
    edge = np.where(b > 0, -np.expm1(-1 / (2 * np.maximum(b, 1e-300))), 1.0)
    result: Floats = edge * (2300 * a**3 + 1900 * a**2 + 2092 * a + 60) / (100 * a**3 + 500 * a**2 + 4 * a + 20)
    return result
