"""Plans whose measured step fits: the scratch memory of kernels is in no trace, so it is measured and planned for.

The simulator counts tensors. A convolution also allocates scratch memory, tenths of a small budget.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.fitting.fitted_model import Chosen, total_bytes
from lamcts.neural.memory.plan import Plan
from lamcts.neural.memory.report import Report
from lamcts.neural.memory.scratch import Work, with_scratch
from lamcts.neural.memory.simulator import Simulator

if TYPE_CHECKING:
    from lamcts.neural.trace import Trace

ROUNDS = 4  # plans after the first; the second knows all scratch memory, on the CPU (untuned)

STARTS = 3  # plans of a round from which the next one continues (untuned)


class Planner(Protocol):
    """Plan for a graph and a budget, from plans of an earlier round; raise ValueError if no plan fits."""

    def __call__(self, graph: StepGraph, room: int, starts: Sequence[Plan] = ()) -> Chosen: ...


@dataclass(frozen=True)
class MeasuredPlan:
    """A plan with its measurement; `margin_bytes` of the budget were left free."""

    chosen: Chosen
    measured: Any = None
    margin_bytes: int = 0


def tightened(
    planned: Planner,
    measured: Callable[[Plan], Any],
    smallest: Callable[[StepGraph], Report],
    traced: "Trace",
    optimizer: str,
    budget: int,
) -> MeasuredPlan:
    """Return the first plan whose measured step fits the budget, else the one that exceeds it least."""

    def total(one: MeasuredPlan) -> int:
        return total_bytes(traced, optimizer, one.measured) or 0

    graph, scratch, room = traced.graph, dict[Work, int](), budget
    chosen = planned(graph, budget)
    found = [MeasuredPlan(chosen, measured(chosen.report.plan))]
    for _ in range(ROUNDS):
        over = total(found[-1]) - budget
        if over <= 0:
            return found[-1]
        for work, size in found[-1].measured.scratch.items():
            scratch[work] = max(size, scratch.get(work, 0))
        graph = with_scratch(traced.graph, scratch)
        known = Simulator(graph).report(chosen.report.plan).total_bytes
        room = min(room, known - over)  # the budget, unless more was allocated than the graph knows
        try:
            chosen = planned(graph, room, _best(chosen))
        except ValueError:  # no plan is that small
            least = smallest(graph)
            if least.plan.actions == chosen.report.plan.actions:
                break
            chosen = Chosen(least, chosen.kept, [*chosen.plans, least])
        found.append(MeasuredPlan(chosen, measured(chosen.report.plan), budget - room))
    return min(found, key=total)


def _best(chosen: Chosen) -> list[Plan]:
    """Return the plan of a round, and the fastest of the others with at most its peak."""
    others = sorted(chosen.plans, key=lambda one: one.seconds)
    small = [one.plan for one in others if one.peak_bytes <= chosen.report.peak_bytes and one.plan.frees]
    return [chosen.report.plan, *(plan for plan in small if plan.actions != chosen.report.plan.actions)][:STARTS]
