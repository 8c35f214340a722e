"""Rewards from losses, higher is better: by rank, or negated."""

from bisect import bisect_left, bisect_right
from typing import Literal

import numpy as np

from lamcts.types import Floats

RewardKind = Literal["rank", "raw"]
UNKNOWN = 0.5  # rank of a loss before any other is known


class Rewards:
    """Rewards relative to the losses known at construction [n]."""

    def __init__(self, kind: RewardKind, known: Floats) -> None:
        self.kind = kind
        self._sorted: list[float] = np.sort(known).tolist()

    def of(self, loss: float) -> float:
        """Return the share of known losses that are worse, ties half; or -loss. A failure (nan) is the worst."""
        if self.kind == "raw":
            return -loss if loss == loss else -self._sorted[-1] if self._sorted else 0.0
        if loss != loss or not self._sorted:
            return 0.0 if loss != loss else UNKNOWN
        below, upto = bisect_left(self._sorted, loss), bisect_right(self._sorted, loss)
        return 1 - (below + upto) / (2 * len(self._sorted))

    @property
    def guess(self) -> float:
        """The expected reward without a prediction: the mean of known rewards."""
        if self.kind == "raw" and self._sorted:
            return -float(np.mean(self._sorted))
        return 0.0 if self.kind == "raw" else UNKNOWN

    def possible(self, predicted: Floats) -> Floats:
        """Clip predicted rewards [n] to the range of rewards."""
        return predicted if self.kind == "raw" else np.clip(predicted, 0.0, 1.0)
