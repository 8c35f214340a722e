"""Losses as rewards, higher is better: by their ranks, or as they are."""

from bisect import bisect_left, bisect_right
from typing import Literal

import numpy as np

from lamcts.types import Floats

RewardKind = Literal["rank", "raw"]
UNKNOWN = 0.5  # the rank of a loss before any is known: the middle


class Rewards:
    """Rewards by the losses known when it was made, [n]: it answers the same until another is made."""

    def __init__(self, kind: RewardKind, known: Floats) -> None:
        self.kind = kind
        self._sorted: list[float] = np.sort(known).tolist()

    def of(self, loss: float) -> float:
        """Return the share of known losses that are worse, equal ones half; or -loss. A failure (nan): the worst."""
        if self.kind == "raw":
            return -loss if loss == loss else -self._sorted[-1] if self._sorted else 0.0
        if loss != loss or not self._sorted:
            return 0.0 if loss != loss else UNKNOWN
        below, upto = bisect_left(self._sorted, loss), bisect_right(self._sorted, loss)
        return 1 - (below + upto) / (2 * len(self._sorted))

    @property
    def guess(self) -> float:
        """What an unknown point is expected to bring while nothing predicts it: the mean of what is known."""
        if self.kind == "raw" and self._sorted:
            return -float(np.mean(self._sorted))
        return 0.0 if self.kind == "raw" else UNKNOWN

    def possible(self, predicted: Floats) -> Floats:
        """Return predicted rewards [n] inside the range that rewards have."""
        return predicted if self.kind == "raw" else np.clip(predicted, 0.0, 1.0)
