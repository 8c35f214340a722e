"""A linear policy: action = W ((state - mean) / std), and the statistics of states it is scaled by.

Convention of Mania, Guy and Recht, "Simple random search of static linear policies is competitive for
reinforcement learning" (ARS), 2018: actions are not clipped, and an input that does not vary is switched off.
Letters: s states, a actions, n visited states.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lamcts.types import Floats

STILL = 1e-7  # standard deviation below which ARS takes an input for constant


@dataclass(frozen=True, eq=False)
class Moments:
    """Number of states, their mean [s] and their summed squared deviations from it [s]."""

    count: int
    mean: Floats
    squares: Floats

    @classmethod
    def none(cls, size: int) -> "Moments":
        return cls(0, np.zeros(size), np.zeros(size))

    @classmethod
    def of(cls, states: ArrayLike) -> "Moments":
        """Return the moments of `states` [n, s]."""
        rows = np.atleast_2d(np.asarray(states, float))
        mean = rows.mean(axis=0)
        return cls(len(rows), mean, ((rows - mean) ** 2).sum(axis=0))

    def add(self, state: Floats) -> "Moments":
        """Return the moments with one more `state` [s] (Welford 1962)."""
        count = self.count + 1
        change = state - self.mean
        mean = self.mean + change / count
        return Moments(count, mean, self.squares + change * (state - mean))

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of both sets of states together (Chan, Golub and LeVeque 1979)."""
        count = self.count + other.count
        if count == 0:
            return self
        change = other.mean - self.mean
        mean = self.mean + change * (other.count / count)
        squares = self.squares + other.squares + change**2 * (self.count * other.count / count)
        return Moments(count, mean, squares)

    @property
    def std(self) -> Floats:
        """The sample standard deviation [s]; 0 while fewer than two states were seen."""
        result: Floats = np.sqrt(self.squares / max(self.count - 1, 1))
        return result

    def to_json(self) -> dict[str, Any]:
        return {"count": self.count, "mean": self.mean.tolist(), "squares": self.squares.tolist()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Moments":
        return cls(int(values["count"]), np.array(values["mean"], float), np.array(values["squares"], float))


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
