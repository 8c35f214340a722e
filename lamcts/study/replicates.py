"""Which of several noisy points is best: evaluate the most promising again, and compare the means of that alone.

The best single observation of a noisy function is lucky on average; its mean over fresh evaluations is not.
"""

import math
from collections.abc import Iterable

import numpy as np

from lamcts.journal.tables import Check
from lamcts.observations import Observations

SHARE = 0.1  # of the budget goes into re-evaluations (untuned)


def reserve(budget: int, share: float) -> int:
    """Return how many of `budget` evaluations are kept for re-evaluations: at least 2, at most half."""
    return min(max(round(share * budget), 2), budget // 2)


def candidates(seen: Observations, checks: int) -> list[int]:
    """Return the rows to re-evaluate, most promising first: as many as each then has repeats, about sqrt(checks).

    Without knowledge of the noise, neither more candidates nor more repeats is the better use.
    """
    wanted = max(math.isqrt(checks), min(2, checks))
    rows: list[int] = []
    points: set[bytes] = set()
    for row in seen.good[np.argsort(seen.y[seen.good], kind="stable")]:
        point = seen.x[row].tobytes()
        if point not in points:
            points.add(point)
            rows.append(int(row))
        if len(rows) == wanted:
            break
    return rows


def plan(rows: list[int], checks: int, done: Iterable[Check]) -> list[tuple[int, int]]:
    """Return `(row, repeat)` for the re-evaluations still to do, `checks` in all: one of each row, then the next."""
    have = {(check.row, check.repeat) for check in done}
    left = checks - len(have)
    todo: list[tuple[int, int]] = []
    repeat = 0
    while len(todo) < left and rows:
        repeat += 1
        todo += [(row, repeat) for row in rows if (row, repeat) not in have]
    return todo[: max(left, 0)]


def by_row(checks: Iterable[Check]) -> dict[int, list[float]]:
    """Return the losses of the re-evaluations that succeeded, by row, in the order of their repeats."""
    losses: dict[int, list[float]] = {}
    for check in sorted(checks, key=lambda check: check[:2]):
        if math.isfinite(check.loss):
            losses.setdefault(check.row, []).append(check.loss)
    return losses
