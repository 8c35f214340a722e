"""A meta-model without torch: linear regression with a penalty."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lamcts.types import Floats


class Model(Protocol):
    """What predicts rewards: `lamcts.neural.metadnn.MetaDnn`, `Ridge`, or one of yours. A frozen dataclass."""

    def fit(self, features: Any, accuracy: Any, seed: int = 0) -> Callable[[Any], Floats]:
        """Return a function of rows [m, k] to predictions [m]; the same for the same arguments."""


@dataclass(frozen=True)
class Ridge:
    """Least squares over the features, each at mean 0 and deviation 1, with a penalty on the weights.

    penalty: on the square of a weight, in rows (1.0); untuned.
    """

    penalty: float = 1.0

    def fit(self, features: Any, accuracy: Any, seed: int = 0) -> Callable[[Any], Floats]:
        """Return the predictor of rows `features` [n, k] with `accuracy` [n]. Nothing is drawn from the seed."""
        x, y = np.asarray(features, np.float64), np.asarray(accuracy, np.float64)
        mean, deviation = x.mean(0), x.std(0)
        scale = np.where(deviation > 0, deviation, 1.0)
        z = (x - mean) / scale
        gram = z.T @ z + self.penalty * np.eye(x.shape[1])
        weights = np.linalg.solve(gram, z.T @ (y - y.mean())) / scale
        return lambda other: np.asarray(y.mean() + (other - mean) @ weights, np.float64)
