"""Asynchronous successive halving (ASHA), and Hyperband.

At each rung, a step `reduction` times the one before, a trial continues if it is among the best 1/`reduction` of all
trials that reached the rung so far (Li et al. 2020, A system for massively parallel hyperparameter tuning, algorithm
2). A stopped trial stays stopped, as in Optuna.
"""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from lamcts.pruners.curves import Curves
from lamcts.pruners.registry import register
from lamcts.types import whole_number

Rivals = Callable[[int], bool]
REDUCTION, FIRST_RUNG = 3, 1  # of Hyperband, as in Optuna (paper: 3 or 4)
FIRST_RUNG_SHARE = 100  # of the steps of a whole trial, the first rung where nothing else is said: Optuna's


@register("halving", "successive halving without waiting (ASHA): worse than the best 1/4 at a rung")
@dataclass(frozen=True)
class Halving:
    """Stop a trial at a rung unless it is among the best 1/reduction of all trials that reached the rung.

    The rungs are the steps first, first * reduction, first * reduction^2, and so on.

    Parameters
    ----------
    reduction : int, default 4
        Factor between two rungs, and between the numbers of trials at them; Optuna's; paper: 4 in most experiments.
    first : int or None, default None
        Step of the first rung. None: a hundredth of the last step of the first trial that finishes, at least 1;
        Optuna's.

    References
    ----------
    Li et al. 2020, A system for massively parallel hyperparameter tuning, algorithm 2.

    Examples
    --------
    >>> from lamcts import pruners
    >>> curves = pruners.Curves()
    >>> for number in range(8):
    ...     curves.add(number, step=4, loss=float(number))
    >>> rule = pruners.Halving(reduction=4, first=4)
    >>> [number for number in range(8) if not rule.prune(number, curves)]
    [0, 1]
    """

    reduction: int = 4
    first: int | None = None

    def __post_init__(self) -> None:
        whole_number(self.reduction, "reduction", least=2)
        whole_number(self.first, "first", optional=True)

    def prune(self, number: int, curves: Curves) -> bool:
        """Return whether the trial should stop now, after its last report."""
        return self.among(number, curves, lambda other: True)

    def among(self, number: int, curves: Curves, rivals: Rivals) -> bool:
        """Return whether the trial should stop, compared only with trials whose number is a rival's."""
        last, rung = curves.last(number), self._first(curves)
        if last is None or rung is None:
            return False
        before = max((step for step in curves.losses[number] if step < last[0]), default=-1)
        while rung <= last[0]:
            if rung > before and self._behind(number, curves.rung(rung), rivals):
                return True
            rung *= self.reduction
        return False

    def _first(self, curves: Curves) -> int | None:
        if self.first is not None:
            return self.first
        steps = whole_steps(curves)
        return None if steps is None else max(steps // FIRST_RUNG_SHARE, 1)

    def _behind(self, number: int, rung: dict[int, float], rivals: Rivals) -> bool:
        """Return whether a trial is not among the best of a rung; of fewer than `reduction`, only the best one is."""
        mine = rung[number]
        ahead = sum(loss < mine for other, loss in rung.items() if rivals(other))
        here = sum(rivals(other) and loss < math.inf for other, loss in rung.items())  # a nan never came so far
        return mine == math.inf or ahead >= max(here // self.reduction, 1)


@register("hyperband", "successive halving with several first rungs side by side")
@dataclass(frozen=True)
class Hyperband:
    """Halving with several first rungs: early stops for most trials, few for trials that improve late.

    The number of a trial determines its bracket. The shares of the brackets are those of Li et al. 2018.

    Parameters
    ----------
    most : int or None, default None
        Number of steps of a whole trial. None: that of the first trial that finishes; no trial is stopped before.

    References
    ----------
    Li et al. 2018, Hyperband: a novel bandit-based approach to hyperparameter optimization.
    """

    most: int | None = None

    def __post_init__(self) -> None:
        whole_number(self.most, "most", optional=True)

    def prune(self, number: int, curves: Curves) -> bool:
        """Return whether the trial should stop now, after its last report."""
        steps = self.most
        if steps is None:
            last = whole_steps(curves)
            if last is None:
                return False
            steps = last + 1
        shares = brackets(steps)
        mine = bracket_of(number, shares)
        rule = Halving(REDUCTION, FIRST_RUNG * REDUCTION**mine)
        return rule.among(number, curves, lambda other: bracket_of(other, shares) == mine)


def whole_steps(curves: Curves) -> int | None:
    """Return the last step of the first trial that finished and had reported; None before."""
    for number in curves.ends:
        if (last := curves.last(number)) is not None:
            return last[0]
    return None


def brackets(steps: int) -> tuple[int, ...]:
    """Return the shares of the brackets, those with the earliest rungs first."""
    n = 1
    while FIRST_RUNG * REDUCTION**n <= steps:
        n += 1
    return tuple(math.ceil(n * REDUCTION**s / (s + 1)) for s in reversed(range(n)))


@lru_cache(maxsize=2**14)  # called for all trials of a rung
def bracket_of(number: int, shares: tuple[int, ...]) -> int:
    """Return the bracket of a trial, drawn by the shares from its number alone."""
    place = zlib.crc32(str(number).encode()) % sum(shares)
    for bracket, share in enumerate(shares):
        place -= share
        if place < 0:
            return bracket
    raise AssertionError("the place is below the sum of the shares")
