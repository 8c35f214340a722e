"""Plans at many budgets, when nobody has named one: what memory costs in time.

front(curve(graph, evaluations=0))
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lamcts.graphs import StepGraph
from lamcts.neural import memory
from lamcts.searches import memory_plan
from lamcts.searches.memory_fit.known import KEEPING, greedy, presets

SHARES = (80, 60, 40, 20)  # percent of the activations' peak where all is kept (untuned)


def curve(
    graph: StepGraph,
    *,
    evaluations: int | None = None,
    seed: int = 0,
    machine: memory.Machine | None = None,
    **settings: Any,
) -> list[memory.Report]:
    """Return presets, greedy plans, and what a search for a front found that none of these is ahead of, simulated."""
    found, simulator = presets(graph, machine), memory.Simulator(graph, machine)
    kept = next(one for one in found if one.plan.name == KEEPING)
    plans = []
    for share in SHARES:
        within = greedy(graph, kept.peak_bytes * share // 100, machine)
        plans += [replace(one.plan, name=f"greedy {share} %") for one in within]
    found += map(simulator.report, plans)
    if evaluations != 0:
        search = settings if evaluations is None else settings | {"evaluations": evaluations}
        plans = memory_plan.front(graph, seed=seed, machine=machine, **search)
        named = [replace(plan, name=f"searched {i + 1}") for i, plan in enumerate(plans)]
        found += [one for one in map(simulator.report, named) if not any(_level(other, one) for other in found)]
    return found


def front(reports: Sequence[memory.Report]) -> list[memory.Report]:
    """Return the plans that none is ahead of, in memory, in time or in both; of equal ones the first."""
    best: list[memory.Report] = []
    for one in sorted(reports, key=lambda one: (one.peak_bytes, one.seconds)):
        if not any(_level(other, one) for other in best):
            best.append(one)
    return best


def _level(one: memory.Report, other: memory.Report) -> bool:
    """Return whether one plan needs no more memory, and no more time, than another."""
    return one.peak_bytes <= other.peak_bytes and one.seconds <= other.seconds
