"""Plans at many budgets: the trade-off of memory and time."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.fitting.candidate_plans import KEEPING, greedy, presets
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.objective import ALL_OPTIONS
from lamcts.neural.memory.plan import WORDS
from lamcts.neural.memory.plan_search import least_time
from lamcts.neural.memory.report import Report
from lamcts.neural.memory.simulator import Simulator

SHARES = (90, 80, 70, 60, 50, 40, 30, 20, 10)  # percent of the activation peak if all is kept


def curve(
    graph: StepGraph,
    *,
    options: tuple[str, ...] = ALL_OPTIONS,
    exchanges: int | None = None,
    seed: int = 0,
    machine: Machine | None = None,
    seconds: float = math.inf,
) -> list[Report]:
    """Simulate presets, and at each budget of SHARES the greedy plan and that of a search of at most `seconds`."""
    choices = [WORDS[word] for word in options]
    found, simulator = presets(graph, machine, choices), Simulator(graph, machine)
    kept = next(one for one in found if one.plan.name == KEEPING)
    for share in SHARES:
        room = kept.peak_bytes * share // 100
        plans = [replace(one.plan, name=f"greedy {share} %") for one in greedy(graph, room, machine, choices)]
        found += map(simulator.report, plans)
        if exchanges == 0 or not any(one.peak_bytes <= room for one in found):
            continue
        search: dict[str, Any] = {"exchanges": exchanges, "seed": seed, "machine": machine, "seconds": seconds}
        plan = least_time(graph, room + graph.outside_bytes, options=options, **search)
        one = simulator.report(replace(plan, name=f"searched {share} %"))
        found += [] if any(_level(other, one) for other in found) else [one]
    return found


def front(reports: Sequence[Report]) -> list[Report]:
    """Return the plans on the Pareto front of memory and time, the first of equal ones."""
    best: list[Report] = []
    for one in sorted(reports, key=lambda one: (one.peak_bytes, one.seconds)):
        if not any(_level(other, one) for other in best):
            best.append(one)
    return best


def _level(one: Report, other: Report) -> bool:
    """Return whether one plan needs at most the memory and the time of another."""
    return one.peak_bytes <= other.peak_bytes and one.seconds <= other.seconds
