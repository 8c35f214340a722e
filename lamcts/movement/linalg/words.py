"""Counts of the words that ranks receive."""

from dataclasses import dataclass

import numpy as np

from lamcts.types import Rows

KINDS = ("columns", "tournament", "pivots", "rows", "panels")  # stages of a step


@dataclass(frozen=True, eq=False)
class Words:
    """Words received by rank, step and kind, `counts` of shape (ranks, steps, kinds); an index counts as a word."""

    counts: Rows

    @property
    def by_rank(self) -> Rows:
        """Words of each rank."""
        return np.asarray(self.counts.sum((1, 2)))

    @property
    def by_step(self) -> Rows:
        """Words of all ranks in each step."""
        return np.asarray(self.counts.sum((0, 2)))

    @property
    def by_kind(self) -> dict[str, int]:
        """Words of all ranks by kind."""
        return dict(zip(KINDS, map(int, self.counts.sum((0, 1))), strict=True))

    @property
    def total(self) -> int:
        """Words of all ranks."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean words of a rank."""
        return self.total / len(self.counts)

    @property
    def most(self) -> int:
        """Words of the rank that receives most."""
        return int(self.by_rank.max())


class Counter:
    """The words that one rank has received, by step and kind."""

    def __init__(self, steps: int) -> None:
        self.counts = np.zeros((steps, len(KINDS)), int)
        self._place = (0, 0)

    def at(self, step: int, kind: str) -> None:
        """Count what follows under a step and a kind."""
        self._place = (step, KINDS.index(kind))

    def add(self, words: int) -> None:
        """Count received words."""
        self.counts[self._place] += words
