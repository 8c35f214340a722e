"""A bandit that shares points among methods by what each lately gained per evaluation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamcts.observations import Floats

LITTLE = 1e-5  # a gain per evaluation, as a share of the spread, that is as good as none
SHARPNESS = 2.0  # power of the rates that shares are proportional to: 1 is too mild among three arms
PRIOR = 5.0  # evaluations at the common rate that every arm is credited with: one not seen lately counts as average


class Shares:
    """Shares in proportion to the squared gain per evaluation, above a `floor` for each arm.

    The past fades over `memory` results.

    Proportions, not the best arm alone: gains come in bursts, and which arm gains changes along a run.
    """

    def __init__(self, floors: Sequence[float], memory: float) -> None:
        self._floors = np.array(floors, float)  # [arms]
        self._memory = memory
        self.gains = np.zeros(len(floors))  # [arms], fading
        self.counts = np.zeros(len(floors))  # [arms], fading
        self._due = np.zeros(len(floors))  # [arms], points that each arm is owed

    def split(self, n: int, open: Sequence[bool]) -> list[int]:
        """Return how many of `n` points each arm gets; over time, fractions included, each gets its share."""
        share = self.shares(open)
        due = np.where(open, self._due, 0.0)
        points = np.zeros(len(due), int)
        for _ in range(n):
            due += share
            arm = int(np.argmax(np.where(open, due, -np.inf)))
            due[arm] -= 1.0
            points[arm] += 1
        self._due = due
        return [int(k) for k in points]

    def shares(self, open: Sequence[bool]) -> Floats:
        """Return the share of each open arm, [arms], their sum 1."""
        mask = np.array(open, bool)
        rate = np.where(mask, self.rates() + LITTLE, 0.0) ** SHARPNESS
        rate /= rate.sum()
        floors = np.where(mask, self._floors, 0.0)
        result: Floats = floors + (1.0 - floors.sum()) * rate
        return result

    def rates(self) -> Floats:
        """Return what each arm lately gained per evaluation, [arms]."""
        common = self.gains.sum() / max(self.counts.sum(), 1.0)
        result: Floats = (self.gains + PRIOR * common) / (self.counts + PRIOR)
        return result

    def credit(self, gains: Floats, counts: Floats) -> None:
        """Take note of `counts` [arms] results and what they gained in all, [arms], in units common to all arms."""
        fade = np.exp(-counts.sum() / self._memory)
        self.gains, self.counts = fade * self.gains + gains, fade * self.counts + counts

    def state(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"gains": self.gains.tolist(), "counts": self.counts.tolist(), "due": self._due.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        self.gains, self.counts = np.array(state["gains"]), np.array(state["counts"])
        self._due = np.array(state["due"])
