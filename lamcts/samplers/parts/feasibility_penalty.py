"""Penalties where evaluations are likely to fail, by the chances of success of `models/success.py`.

Letters: m points, k draws, q columns, d coordinates.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lamcts.models.coding import Inputs
from lamcts.models.multi_output import MultiOutputPaths
from lamcts.models.posterior_paths import Singles
from lamcts.models.success import MIN_CHANCE, Success
from lamcts.spaces.base import SearchSpace
from lamcts.types import Floats

INFEASIBLE_PENALTY = 1e6  # by what a draw where success is too unlikely is worse than any where it is not: losses
# here are near 1
SLOPE_PENALTY = 10.0  # of likely failure on the way down, in usual differences of losses for one of the marks (untuned)
HALVINGS = 4  # of a step that is likely to fail, before it is tried all the same (untuned)


class PenalisedPaths:
    """The draws of columns that are `paths`, and one column more: a constraint broken where success is too unlikely."""

    def __init__(self, paths: MultiOutputPaths, success: Success) -> None:
        self._paths, self._success = paths, success

    def __call__(self, x: Floats) -> NDArray[np.float32]:
        """Return the draws at `x` [m, d], [m, k, q + 1]."""
        draws, short = self._paths(x), self._success.shortfall(x).astype(np.float32)
        return np.concatenate([draws, np.broadcast_to(short[:, None, None], (*draws.shape[:2], 1))], axis=2)

    def slopes(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i of all columns and their gradients at the point `x[i]` of `x` [k, d]."""
        values, gradients = self._paths.slopes(x)
        short, way = (own.astype(np.float32) for own in self._success.slope(x))
        return np.column_stack([values, short]), np.concatenate([gradients, way[:, None]], axis=1)


Price = Callable[[Floats], tuple[float, Floats]]  # of a step [d]: what it costs, and the slope of that [d]
Slopes = Callable[[Floats], tuple[Floats, Floats]]  # of a loss: of points [k, d] its values [k] and slopes [k, d]


def penalised(slopes: Slopes, success: Success | None) -> Slopes:
    """Return the same loss with the price of likely failure added."""
    if success is None:
        return slopes

    def added(x: Floats) -> tuple[Floats, Floats]:
        (value, way), (short, fall) = slopes(x), success.slope(x)
        return value + SLOPE_PENALTY * short, way + SLOPE_PENALTY * fall

    return added


def step_penalty(success: Success, centre: Floats, half: float) -> Price:
    """Return what a step [d] of `half` from `centre` [d] costs where it is likely to fail, and the slope of that."""

    def price(s: Floats) -> tuple[float, Floats]:
        short, way = success.slope((centre + half * s)[None])
        return float(SLOPE_PENALTY * short[0]), SLOPE_PENALTY * half * way[0]

    return price


def shortened(x: Floats, centre: Floats, success: Success, space: SearchSpace) -> Floats:
    """Return the points `x` [k, d], those likely to fail moved towards the `centre` [d], which did not, [k, d]."""
    x = x.copy()
    for _ in range(HALVINGS):
        failing = success.chance(Inputs.of(x)) < MIN_CHANCE
        x[failing] = space.snap((x[failing] + centre) / 2)
    return x
