"""ZDT1, ZDT2 and ZDT3 (Zitzler, Deb and Thiele 2000), with a front that can be moved from the edge of the box inwards.

All have these settings:

dim: number of parameters (30); the paper's.
shift: value of all parameters but the first on the front, a seed or a vector [dim - 1] (None: 0, an edge of the box). A
    seed draws values in [0.2, 0.8]; paper: none, and 0 favours methods that clip to the box.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.problem import Places, Problem, moved
from lamcts.objectives.protocol import digest
from lamcts.spaces.box import Box
from lamcts.types import Floats

DIM = 30  # the paper's
REFERENCE = {"f1": 11.0, "f2": 11.0}  # as usual: BoTorch, MORBO
Front = Callable[[Floats, Floats], Floats]


@register("zdt1", "two objectives, a convex front; hypervolume at most 120.667")
def zdt1(dim: int = DIM, shift: Places = None) -> Problem:
    """The front is f2 = 1 - sqrt(f1)."""
    return _zdt("zdt1", _convex, 120 + 2 / 3, dim, shift)


@register("zdt2", "two objectives, a concave front; hypervolume at most 120.333")
def zdt2(dim: int = DIM, shift: Places = None) -> Problem:
    """The front is f2 = 1 - f1^2."""
    return _zdt("zdt2", _concave, 120 + 1 / 3, dim, shift)


@register("zdt3", "two objectives, a front in five pieces; hypervolume at most 128.778")
def zdt3(dim: int = DIM, shift: Places = None) -> Problem:
    """The front is what is not dominated of f2 = 1 - sqrt(f1) - f1 sin(10 pi f1)."""
    # the integral, which a test does again
    return _zdt("zdt3", _wavy, 128.7781161306908, dim, shift)


def _zdt(name: str, front: Front, hypervolume: float, dim: int, shift: Places) -> Problem:
    if dim < 2:
        raise ValueError(f"expected dim of at least 2 for {name}, got {dim}")
    places = moved(shift, 0.0, dim - 1)
    return Problem(
        name,
        Box(0, 1, dim=dim),
        partial(_objectives, front, places),
        {"f1": "min", "f2": "min"},
        reference=REFERENCE,
        hypervolume=hypervolume,
        settings={"places": digest(places)},
    )


def _objectives(front: Front, places: Floats, x: Floats) -> dict[str, Floats]:
    first = x[:, 0]
    g = 1 + 9 * np.abs(x[:, 1:] - places).mean(1)  # from 1, on the front, to 10
    return {"f1": first, "f2": g * front(first / g, first)}


def _convex(share: Floats, first: Floats) -> Floats:
    return 1 - np.sqrt(share)


def _concave(share: Floats, first: Floats) -> Floats:
    return 1 - share**2


def _wavy(share: Floats, first: Floats) -> Floats:
    return np.asarray(1 - np.sqrt(share) - share * np.sin(10 * np.pi * first))
