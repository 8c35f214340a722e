"""Four problems of two parameters, to look at: feasible sets of odd forms, or in several pieces.

All have this setting:

permute: seed of a permutation of the parameters (None: no permutation).
"""

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.problem import Problem
from lamcts.spaces.box import Box
from lamcts.types import Floats

BUDGET = 50  # evaluations of a first run: two parameters (untuned)


@register("townsend", "waves within a heart, 2 parameters; minimum -2.02399", budget=BUDGET)
def townsend(permute: int | None = None) -> Problem:
    """Townsend's function (2014, Chebfun) on [-2.25, 2.25] x [-2.5, 1.75] within the outline of a heart."""
    return Problem(
        "townsend",
        Box([-2.25, -2.5], [2.25, 1.75]),
        _townsend,
        {"value": "min"},
        ("outline <= 0",),
        optimum=-2.0239883623,
        at=np.array([2.0052927129439726, 1.19445288860944]),
    ).permuted(permute)


def _townsend(x: Floats) -> dict[str, Floats]:
    across, up = x.T
    t = np.arctan2(across, up)
    wide = 2 * np.cos(t) - np.cos(2 * t) / 2 - np.cos(3 * t) / 4 - np.cos(4 * t) / 8
    value = -(np.cos((across - 0.1) * up) ** 2) - across * np.sin(3 * across + up)
    return {"value": value, "outline": across**2 + up**2 - wide**2 - (2 * np.sin(t)) ** 2}


@register("gramacy", "a plane over two curved constraints, 2 parameters; minimum 0.599788", budget=BUDGET)
def gramacy(permute: int | None = None) -> Problem:
    """x1 + x2 on [0, 1]^2 beyond a wave and within a circle (Gramacy et al. 2016, section 1)."""
    return Problem(
        "gramacy",
        Box(0, 1, dim=2),
        _gramacy,
        {"sum": "min"},
        ("wave <= 0", "circle <= 1.5"),
        optimum=0.59978805201,
        at=np.array([0.19512268342934855, 0.40466536858071894]),
    ).permuted(permute)


def _gramacy(x: Floats) -> dict[str, Floats]:
    a, b = x.T
    wave = 1.5 - a - 2 * b - np.sin(2 * np.pi * (a**2 - 2 * b)) / 2
    return {"sum": a + b, "wave": wave, "circle": a**2 + b**2}


@register("gardner1", "waves where others are low, 2 parameters; minimum -2", budget=BUDGET)
def gardner1(permute: int | None = None) -> Problem:
    """cos(2 x1) cos(x2) + sin(x1) on [0, 6]^2 where cos(x1 + x2) <= 0.5 (Gardner et al. 2014, first simulation)."""
    return Problem(
        "gardner1",
        Box(0, 6, dim=2),
        _gardner1,
        {"value": "min"},
        ("other <= 0.5",),
        optimum=-2.0,
        at=np.array([1.5 * np.pi, 0.0]),
    ).permuted(permute)


def _gardner1(x: Floats) -> dict[str, Floats]:
    a, b = x.T
    return {"value": np.cos(2 * a) * np.cos(b) + np.sin(a), "other": np.cos(a + b)}


@register("gardner2", "a slope with four small feasible islands, 2 parameters; minimum 0.253236", budget=BUDGET)
def gardner2(permute: int | None = None) -> Problem:
    """sin(x1) + x2 on [0, 6]^2 where sin(x1) sin(x2) <= -0.95 (Gardner et al. 2014, second simulation)."""
    return Problem(
        "gardner2",
        Box(0, 6, dim=2),
        _gardner2,
        {"value": "min"},
        ("other <= -0.95",),
        optimum=float(np.arcsin(0.95)) - 1,
        at=np.array([1.5 * np.pi, np.arcsin(0.95)]),
    ).permuted(permute)


def _gardner2(x: Floats) -> dict[str, Floats]:
    a, b = x.T
    return {"value": np.sin(a) + b, "other": np.sin(a) * np.sin(b)}
