"""Surrogate models of architecture searches: the protocol, and ridge regression without torch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lamcts.types import Floats


class RewardModel(Protocol):
    """A model of rewards: `Ridge`, `lamcts.neural.metadnn.MetaDnn`, or your own frozen dataclass."""

    def fit(self, features: Floats, accuracy: Floats, seed: int = 0) -> Callable[[Floats], Floats]:
        """Return a function from rows [m, k] to predictions [m], the same for the same arguments."""


@dataclass(frozen=True)
class Ridge:
    """Ridge regression on standardised features.

    penalty: weight of the squared norm of the coefficients (1.0); untuned.
    """

    penalty: float = 1.0

    def fit(self, features: Floats, accuracy: Floats, seed: int = 0) -> Callable[[Floats], Floats]:
        """Fit rows `features` [n, k] and `accuracy` [n]; return the predictor. The seed has no effect."""
        x, y = np.asarray(features, np.float64), np.asarray(accuracy, np.float64)
        mean, deviation = x.mean(0), x.std(0)
        scale = np.where(deviation > 0, deviation, 1.0)
        z = (x - mean) / scale
        gram = z.T @ z + self.penalty * np.eye(x.shape[1])
        weights = np.linalg.solve(gram, z.T @ (y - y.mean())) / scale
        return lambda other: np.asarray(y.mean() + (other - mean) @ weights, np.float64)
