"""What a categorical, integer or mixed problem is: a function of dict points, and what is known of it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lamcts import Space

Point = dict[str, Any]
CLOSE = 1e-6  # tables hold float32


@dataclass(frozen=True)
class Discrete:
    """`function(point)` is the value, nan where the evaluation fails.

    optimum: the best value, None where nobody knows; best: a point that has it, where one is known. bound: what regret
    is measured from where no optimum is known. reach: how far the optimum may be moved along real parameters, as shares
    of their ranges; only of those whose function is the same formula beyond its box. mirrored: ordered parameters whose
    direction says nothing, so that it may be turned. close: the regret from which on the optimum counts as reached.
    """

    name: str
    space: Space
    function: Callable[[Point], float] = field(repr=False)
    maximize: bool = False
    optimum: float | None = None
    best: Point | None = None
    bound: float = 0.0
    close: float = CLOSE
    reach: Mapping[str, float] = field(default_factory=dict)
    mirrored: frozenset[str] = frozenset()
    x0: None = None

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        return float(self.function(point))


def regret(objective: Any, value: float) -> float:
    """Return how much worse a value is than the optimum, or than the bound where that is not known; nan of nan."""
    goal = getattr(objective, "bound", 0.0) if objective.optimum is None else objective.optimum
    return math.nan if math.isnan(value) else (goal - value if objective.maximize else value - goal)
