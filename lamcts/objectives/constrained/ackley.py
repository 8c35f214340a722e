"""Ackley's function in a half-space and a ball, as in Eriksson and Poloczek 2021 (SCBO); shifted or rotated."""

from functools import partial

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.identity import digest
from lamcts.objectives.problem import Problem
from lamcts.objectives.synthetic import formulas, synthetic
from lamcts.objectives.synthetic.placing import Rotate, Shift
from lamcts.types import Floats


@register(
    "ackley-constrained", "Ackley between a plane and a sphere, feasible share 2e-5 in 10-D; minimum 0", budget=200
)
def ackley_constrained(dim: int = 10, shift: Shift = None, rotate: Rotate = None) -> Problem:
    """Ackley on [-5, 10]^dim within sum <= 0 and length <= 5; the minimum lies on the first constraint.

    dim: number of parameters (10); SCBO.
    shift: displacement of the minimum and of the constraints, as for `ackley` (None: no displacement).
    rotate: rotation of the function and of the constraints, as for `ackley` (None: no rotation).
    """
    placed = synthetic.ackley(dim, shift, rotate)
    return Problem(
        "ackley-constrained",
        placed.space,
        partial(_ackley, placed.centre, placed.rotation),
        {"value": "min"},
        ("sum <= 0", "length <= 5"),
        optimum=0.0,
        at=placed.centre,
        settings={"placed": digest(placed.centre, placed.rotation)},
    )


def _ackley(centre: Floats, rotation: Floats | None, x: Floats) -> dict[str, Floats]:
    u = x - centre if rotation is None else (x - centre) @ rotation.T  # [n, d]
    return {"value": formulas.ackley(u), "sum": u.sum(1), "length": np.linalg.norm(u, axis=1)}
