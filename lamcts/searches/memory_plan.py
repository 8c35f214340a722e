"""Search for memory plans: the least time within a budget, or the front of peak against time.

plan = least_time(graph, "900MB", evaluations=300, seed=0)
"""

from typing import Any

import lamcts
from lamcts.graphs import MB, StepGraph
from lamcts.neural import memory

EVALUATIONS = 300  # a few seconds for AlexNet; benchmarks/memory_planning.py says what they gain


def least_time(
    graph: StepGraph,
    budget: str | int | float,
    *,
    evaluations: int = EVALUATIONS,
    seed: int = 0,
    machine: memory.Machine | None = None,
    options: tuple[str, ...] = memory.OPTIONS,
    **settings: Any,
) -> memory.Plan:
    """Return the plan found with the least time of those whose peak is within `budget`.

    The search begins with the thesis's plans and the greedy one, which cost no evaluations. `settings` go to
    `lamcts.minimize`. ValueError where no plan within the budget was found; its message has the smallest peak that was.
    """
    objective = memory.ScheduleObjective(graph, budget, machine, options)
    result = _searched(objective, evaluations, seed, settings)
    if not result.feasible:
        smallest = objective(result.x)[memory.PEAK]
        raise ValueError(
            f"budget: expected at least {smallest:.3f} MB, the smallest peak found, got"
            f" {memory.size_of(budget) / MB:.3f} MB: raise it, evaluate more, or allow more options"
        )
    return objective.plan(result.x)


def front(
    graph: StepGraph,
    *,
    evaluations: int = EVALUATIONS,
    seed: int = 0,
    machine: memory.Machine | None = None,
    options: tuple[str, ...] = memory.OPTIONS,
    **settings: Any,
) -> list[memory.Plan]:
    """Return plans of which none has both a lower peak and less time than another, from the lowest peak on."""
    objective = memory.ScheduleObjective(graph, None, machine, options)
    result = _searched(objective, evaluations, seed, settings)
    points = sorted((one.point for one in result.front), key=lambda point: objective(point)[memory.PEAK])
    return [objective.plan(point) for point in points]


def _searched(objective: memory.ScheduleObjective, evaluations: int, seed: int, settings: dict[str, Any]) -> Any:
    starts = objective.starts()
    if objective.budget is not None:
        room = memory.size_of(objective.budget) - objective.graph.outside_bytes
        choices = [one for one in memory.Action if one.word in objective.options]
        plan = memory.greedy(objective.graph, room, objective.machine, choices=choices)
        starts += [] if plan is None else [objective.point(objective.nearest(plan))]
    known = [(point, objective(point)) for i, point in enumerate(starts) if point not in starts[:i]]
    return lamcts.minimize(objective, objective.space, budget=evaluations, seed=seed, known=known, **settings)
