"""Plans without a search: presets of the thesis, checkpointing, the greedy plan, and the smallest plan."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.checkpoint_plans import starting_plans
from lamcts.neural.memory.greedy import greedy as greedy_plan
from lamcts.neural.memory.greedy import never
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.objective import ALL_OPTIONS
from lamcts.neural.memory.plan import WORDS, Action, Plan, keep_all
from lamcts.neural.memory.plan_search import least_time
from lamcts.neural.memory.presets import preset
from lamcts.neural.memory.report import Report
from lamcts.neural.memory.simulator import Simulator

ROUNDS = 6  # greedy plans tried for the smallest, a second each for a ResNet-50 (untuned)
NEAR = 0.02  # relative gap of the peak at which the bisection ends (untuned)
KEEPING, OFFLOADING = "keep all", "offload all"
OTHERS = ("baseline", "offload", "speed", "memory", "cost-aware")  # presets of the thesis except "liveness"
ALL = tuple(Action)


def presets(graph: StepGraph, machine: Machine | None = None, choices: Collection[Action] = ALL) -> list[Report]:
    """Simulate the presets, checkpointing by block, keeping all and offloading all.

    Storages that cannot be recomputed are kept. Plans with other actions than `choices` and KEEP are left out.
    """
    simulator = Simulator(graph, machine)
    plans = [preset(name, graph) for name in OTHERS]
    plans.insert(1, keep_all(graph, KEEPING))
    plans += starting_plans(graph)
    plans.append(Plan((Action.OFFLOAD,) * len(graph.movable), name=OFFLOADING))
    allowed = {*choices, Action.KEEP}
    return [simulator.report(plan) for plan in plans if allowed.issuperset(plan.actions)]


def greedy(
    graph: StepGraph,
    room: int,
    machine: Machine | None = None,
    choices: Collection[Action] = ALL,
    starts: Sequence[Plan] = (),
    over: Callable[[], bool] = never,
) -> list[Report]:
    """Simulate the greedy plan with a peak of `room` bytes, without `graph.outside_bytes`; empty if none is found."""
    found = (
        greedy_plan(graph, room, machine, choices=choices, starts=starts, over=over) if room >= _floor(graph) else None
    )
    return [] if found is None else [Simulator(graph, machine).report(found)]


def smallest(graph: StepGraph, machine: Machine | None = None, choices: Collection[Action] = ALL) -> Report:
    """Return the plan with the lowest peak, found by bisection over budgets of the greedy plan."""
    best = min(presets(graph, machine, choices), key=lambda one: one.peak_bytes)
    low, room = _floor(graph), _floor(graph)
    for _ in range(ROUNDS):
        found = greedy(graph, room, machine, choices)
        low = low if found else room + 1
        best = min([best, *found], key=lambda one: one.peak_bytes)
        room = (low + best.peak_bytes) // 2
        if best.peak_bytes - low <= NEAR * best.peak_bytes:
            break
    return best


def _floor(graph: StepGraph) -> int:
    """Return the most bytes that one step reads and writes, a lower bound of every peak."""
    sizes = [0 if storage.role == "outside" else storage.bytes for storage in graph.storages]
    return max(sum(sizes[one] for one in {*step.reads, *step.writes}) for step in graph.steps)


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
