"""Plans whose measured step fits: the scratch memory of kernels is in no trace, so it is measured and planned for.

The simulator counts tensors. A convolution also allocates scratch memory, tenths of a small budget.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lamcts.graphs import StepGraph
from lamcts.neural import memory
from lamcts.searches.memory_fit.fitted_model import Chosen, total_bytes

if TYPE_CHECKING:
    from lamcts.neural.trace import Trace

ROUNDS = 4  # plans after the first; the second knows all scratch memory, on the CPU (untuned)

Planner = Callable[[StepGraph, int], Chosen]  # from a graph and a budget; raises ValueError if no plan fits


@dataclass(frozen=True)
class MeasuredPlan:
    """A plan with its measurement; `margin_bytes` of the budget were left free."""

    chosen: Chosen
    measured: Any = None
    margin_bytes: int = 0


def tightened(
    planned: Planner,
    measured: Callable[[memory.Plan], Any],
    smallest: Callable[[StepGraph], memory.Report],
    traced: "Trace",
    optimizer: str,
    budget: int,
) -> MeasuredPlan:
    """Return the first plan whose measured step fits the budget, else the one that exceeds it least.

    measured: measures a step. smallest: returns the plan with the lowest simulated peak, the last attempt.
    """

    def total(one: MeasuredPlan) -> int:
        return total_bytes(traced, optimizer, one.measured) or 0

    graph, scratch, room = traced.graph, dict[memory.Work, int](), budget
    chosen = planned(graph, budget)
    found = [MeasuredPlan(chosen, measured(chosen.report.plan))]
    for _ in range(ROUNDS):
        over = total(found[-1]) - budget
        if over <= 0:
            return found[-1]
        for work, size in found[-1].measured.scratch.items():
            scratch[work] = max(size, scratch.get(work, 0))
        graph = memory.with_scratch(traced.graph, scratch)
        known = memory.Simulator(graph).report(chosen.report.plan).total_bytes
        room = min(room, known - over)  # the budget, unless more was allocated than the graph knows
        try:
            chosen = planned(graph, room)
        except ValueError:  # no plan is that small
            least = smallest(graph)
            if least.plan.actions == chosen.report.plan.actions:
                break
            chosen = Chosen(least, chosen.kept, [*chosen.plans, least])
        found.append(MeasuredPlan(chosen, measured(chosen.report.plan), budget - room))
    return min(found, key=total)
