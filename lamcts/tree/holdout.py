"""Cross-validation of splits: only a split that ranks held-out rows is kept.

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
    """How well two sides rank held-out rows: the difference of mean ranks (0.5 is perfect) and its standard score."""

    gap: float
    z: float


def evidence(*sorted_rows: tuple[Mask, Floats]) -> Evidence:
    """Return the evidence of a stratified Mann-Whitney test over several sets of held-out rows.

    A set of n rows is a pair of arrays [n]: which rows are on the good side, and their utilities. A set whose rows are
    all on one side is ignored.

    Under the null hypothesis the difference of a set has mean 0 and variance s^2 n / (n_good n_bad), ties included,
    with s^2 the variance of the ranks. Sets are weighted by n_good n_bad / n (van Elteren 1960).

    >>> import numpy as np
    >>> from lamcts.tree import evidence
    >>> evidence((np.array([True, True, False, False]), np.array([4.0, 3.0, 2.0, 1.0]))).gap > 0.5
    True
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
    """Cross-validation that a splitter must pass: each fold is ranked by a boundary fitted without it.

    The check is ours; the papers keep every split.

    Parameters
    ----------
    folds : int, default 3
        Number of folds, each of which costs a fit; untuned.
    z : float, default 2.33
        Least standard score of the stratified rank test: the 99 % quantile of the normal distribution.
    gap : float, default 0.1
        Least difference of mean ranks between the sides, where 0.5 is perfect; untuned.

    Examples
    --------
    >>> from lamcts.tree import HoldOut, KMeansSvm
    >>> KMeansSvm(check=HoldOut(folds=5)).check.folds
    5
    """

    folds: int = 3
    z: float = 2.33
    gap: float = 0.1

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise ValueError(f"HoldOut: expected at least 2 folds, got {self.folds}; check=None makes no check")

    def passes(self, sort: Callable[[Rows, Rows], Mask | None], utility: Floats, rng: np.random.Generator) -> bool:
        """Return whether boundaries rank rows that they were not fitted on.

        Parameters
        ----------
        sort : callable
            `sort(train, test)` fits on the rows `train` and returns which rows of `test` are good, or None without a
            boundary.
        utility : ndarray of shape (n,)
            Utility of the rows, higher is better.
        rng : numpy.random.Generator
            Deals the rows into folds.

        Returns
        -------
        bool
            Whether both thresholds are reached.
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
