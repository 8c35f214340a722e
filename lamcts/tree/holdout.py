"""Does a split rank points it has not seen? Only such splits are made.

Letters: n rows, k folds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.tree.utility import ranks
from lamcts.types import Floats, Rows

Mask = NDArray[np.bool_]


class Evidence(NamedTuple):
    """How well two sides rank: mean rank of the good side minus that of the bad (0.5: perfect), and its z score."""

    gap: float
    z: float


def evidence(*sorted_rows: tuple[Mask, Floats]) -> Evidence:
    """Return the evidence of sets of held-out rows, each sorted into sides: `good` [n] with the rows' `utility` [n].

    Stratified Mann-Whitney test: if sides ignored utility, the difference of mean ranks in a set would have mean 0 and
    variance s^2 n / (n_good n_bad), exactly and ties included, s^2 the variance of the ranks; the sets are weighted
    by n_good n_bad / n (van Elteren 1960). A set that lies on one side says nothing.
    """
    gap = variance = weight = 0.0
    for good, utility in sorted_rows:
        n, n_good = len(good), int(np.count_nonzero(good))
        if not 0 < n_good < n:
            continue
        rank = ranks(-utility)  # 1: the highest utility
        share = n_good * (n - n_good) / n
        gap += share * float(rank[good].mean() - rank[~good].mean())
        variance += share * float(rank.var(ddof=1))
        weight += share
    if variance <= 0:
        return Evidence(0.0, 0.0)
    return Evidence(gap / weight, gap / math.sqrt(variance))


@dataclass(frozen=True)
class HoldOut:
    """The check that a way to split must pass: fitted without a fold of the rows, it ranks that fold, in `folds` turns.

    The check is ours; in the papers every split is made.

    folds: into which the rows are dealt (3; folds): each costs a fit; untuned.
    z: least score of the stratified rank test (2.33; standard deviations): lets noise through once in a hundred tries,
        the normal distribution's 99 %.
    gap: least difference of mean ranks between the sides (0.1; ranks in [0, 1], of which a perfect split has 0.5):
        below it a region is not worth its boundary; untuned.
    """

    folds: int = 3
    z: float = 2.33
    gap: float = 0.1

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise ValueError(f"HoldOut: expected at least 2 folds, got {self.folds}; check=None makes no check")

    def passes(self, sort: Callable[[Rows, Rows], Mask | None], utility: Floats, rng: np.random.Generator) -> bool:
        """Return whether `sort(train, test) -> good [len(test)]` ranks rows that it was not fitted on.

        `sort` fits on the rows `train` alone; None says that it found no boundary. Utility has shape [n].
        """
        fold = rng.permutation(np.arange(len(utility)) % self.folds)  # [n]
        held = []
        for k in range(self.folds):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            good = sort(train, test)
            if good is not None:
                held.append((good, utility[test]))
        gap, z = evidence(*held)
        return gap >= self.gap and z >= self.z
