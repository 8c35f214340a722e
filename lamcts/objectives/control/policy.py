"""A linear policy: action = W ((state - mean) / std).

Convention of Mania, Guy and Recht, "Simple random search of static linear policies is competitive for
reinforcement learning" (ARS), 2018: actions are not clipped, and an input that does not vary is switched off.
Letters: s states, a actions.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from lamcts.objectives.control.moments import Moments
from lamcts.types import Floats

STILL = 1e-7  # standard deviation below which ARS takes an input for constant


@dataclass(frozen=True, eq=False)
class LinearPolicy:
    """Weights `w` [a, s], and what is taken off the state and what it is multiplied by, both [s]."""

    w: Floats
    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, weights: ArrayLike, states: int, actions: int, moments: Moments | None = None) -> "LinearPolicy":
        """Return the policy of the flat `weights` [actions * states], row by row; no moments: states as they are."""
        flat = np.asarray(weights, float)
        if flat.shape != (states * actions,):
            raise ValueError(
                f"expected {states * actions} weights in one row ({actions} actions x {states} states), "
                f"got shape {list(flat.shape)}"
            )
        plain = cls(flat.reshape(actions, states), np.zeros(states), np.ones(states))
        return plain if moments is None else plain.scaled(moments)

    def scaled(self, moments: Moments) -> "LinearPolicy":
        """Return the same weights on states standardised by `moments`."""
        std = moments.std
        moving = std >= STILL
        return replace(self, mean=moments.mean, scale=np.where(moving, 1 / np.where(moving, std, 1), 0))

    def action(self, state: Floats) -> Floats:
        result: Floats = self.w @ ((state - self.mean) * self.scale)  # [a]
        return result
