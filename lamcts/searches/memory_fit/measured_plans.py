"""Plans whose measured step fits: scratch memory of kernels is in no plan, so a measured margin is left for it.

The simulator counts tensors. A convolution's backward pass also allocates scratch memory, tenths of a small budget.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lamcts.neural import memory
from lamcts.searches.memory_fit.fitted_model import Chosen, total_bytes

if TYPE_CHECKING:
    from lamcts.neural.trace import Trace

ROUNDS = 4  # tighter plans after the first; the peak moves to another step, so one is not enough (untuned)


@dataclass(frozen=True)
class MeasuredPlan:
    """A plan with its measurement; `margin_bytes` of the budget were left free for it."""

    chosen: Chosen
    measured: Any = None
    margin_bytes: int = 0


def tightened(
    planned: Callable[[int], Chosen],
    measured: Callable[[memory.Plan], Any],
    traced: "Trace",
    optimizer: str,
    budget: int,
    smallest: Callable[[], memory.Report],
) -> MeasuredPlan:
    """Return the first plan whose measured step fits the budget, else the one that exceeds it least.

    planned: returns a plan for a budget, or raises ValueError. measured: measures a step. smallest: returns the plan
    with the lowest simulated peak, the last attempt.
    """
    chosen = planned(budget)
    found = [MeasuredPlan(chosen, measured(chosen.report.plan))]
    for _ in range(ROUNDS):
        over = (total_bytes(traced, optimizer, found[-1].measured) or 0) - budget
        if over <= 0:
            return found[-1]
        room = chosen.report.total_bytes - over
        try:
            chosen = planned(room)
        except ValueError:  # no plan is that small
            least = smallest()
            if least.total_bytes >= chosen.report.total_bytes:
                break
            chosen = Chosen(least, chosen.kept, [*chosen.plans, least])
        found.append(MeasuredPlan(chosen, measured(chosen.report.plan), budget - room))
    return min(found, key=lambda one: total_bytes(traced, optimizer, one.measured) or 0)
