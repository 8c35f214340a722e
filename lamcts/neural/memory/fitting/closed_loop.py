"""The closed loop of `fit`: plan a step, run it, compare its real peak with the budget, and plan again."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from lamcts.movement.sizes import size_text

ROUNDS = 6  # measured plans at most (untuned)
NEAR = 0.98  # share of the budget that a step takes where the loop ends, unless everything is kept


class Tried(NamedTuple):
    """A planned step that was measured."""

    what: Any
    total: int | None  # bytes of all of the step, None if they could not be measured
    error: int = 0  # by how much they exceed what was planned for
    whole: bool = False  # whether nothing is recomputed or moved
    seconds: float = 0.0  # modelled, of a step


class Deadline:
    """A limit of wall time."""

    def __init__(self, seconds: float) -> None:
        self.began = time.perf_counter()
        self._end = self.began + seconds

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(self._end - time.perf_counter(), 0.0)

    @property
    def took(self) -> float:
        return time.perf_counter() - self.began

    def over(self) -> bool:
        return time.perf_counter() >= self._end


def settled(attempt: Callable[[int], Tried | None], budget: int, over: Callable[[], bool]) -> tuple[Tried, int]:
    """Return the fastest step within the budget, else the one that exceeds it least; and the room it was planned for.

    attempt: plans for so many bytes and measures; None where that gives no further plan. The room is the budget less
    the error of the step before, above the largest one that fitted and at most the smallest that did not.
    """
    low, high, room, found = 0.0, math.inf, budget, list[tuple[Tried, int]]()
    for _ in range(ROUNDS):
        one = attempt(room)
        if one is None:
            if low or not found:
                break
            room -= min((pair[0].total or 0) for pair in found) - budget  # the plan that was over is found again
            continue
        found.append((one, room))
        if one.total is None:
            return one, room
        fits = one.total <= budget
        if (fits and (one.whole or one.total >= NEAR * budget)) or over():
            break
        if not one.whole:  # which no room bounds
            low, high = (room, high) if fits else (low, room)
        room = budget - one.error
        if not low < room <= high:  # the same room again: more is known of a step now
            if not low or math.isinf(high):
                break
            room = int(low + high) // 2
    within = [pair for pair in found if pair[0].total is not None and pair[0].total <= budget]
    if within:
        return min(within, key=lambda pair: pair[0].seconds)
    return min(found, key=lambda pair: pair[0].total or 0)


def too_small(least: int, why: str, got: int, otherwise: str = "") -> ValueError:
    """Return the error for a budget that no step fits."""
    sizes = f"expected at least {size_text(least)}, {why}, got {size_text(max(got, 1))}"
    return ValueError(f"budget: {sizes}: raise it, or take a smaller batch{otherwise}")
