"""The fastest memory plan within a budget: greedy plans, improved by local search."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from lamcts.movement.sizes import size_of
from lamcts.neural.graphs import MB, StepGraph
from lamcts.neural.memory.checkpoint_plans import starting_plans
from lamcts.neural.memory.exchange import exchange, score
from lamcts.neural.memory.greedy import greedy as greedy_plan
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.objective import ALL_OPTIONS, PEAK, ScheduleObjective
from lamcts.neural.memory.plan import WORDS, Plan

EXCHANGES, EACH = 5000, 50  # plans, and plans for each storage: half a minute for a ResNet-152 (untuned)
RUNNERS = 4  # best starts of the exchange, which continues from the best after half of its plans


def least_time(
    graph: StepGraph,
    budget: str | int | float,
    *,
    exchanges: int | None = None,
    seed: int = 0,
    machine: Machine | None = None,
    options: tuple[str, ...] = ALL_OPTIONS,
    starts: Sequence[Plan] = (),
    seconds: float = math.inf,
) -> Plan:
    """Find the fastest memory plan within a budget.

    Starts are the presets, checkpointing by block, and greedy plans, so none of those is faster. Local search follows,
    half of it from the best few plans, half from the best result.

    Parameters
    ----------
    graph : StepGraph
        The training step.
    budget : int or str
        Largest peak, with `graph.outside_bytes`; bytes, or a text such as "900MB".
    exchanges : int, default None
        Plans of the local search, see `exchange`; None is 5,000 and 50 for each storage.
    seed : int, default 0
        Seed of the search.
    machine : Machine, default Machine()
        Rates of the simulation.
    options : tuple of str, default all
        Allowed actions.
    starts : sequence of Plan, default ()
        Plans of an earlier search of this step, for another budget or another accounting. The search continues from
        them: other starts are skipped, and local search gets half of its plans.
    seconds : float, default infinity
        Limit of wall time, after which the best plan so far is returned.

    Returns
    -------
    Plan
        The fastest plan found.

    Raises
    ------
    ValueError
        If no plan within the budget was found; the message has the smallest peak found.
    """
    objective = ScheduleObjective(graph, budget, machine, options)
    end, room = time.perf_counter() + seconds, size_of(budget) - graph.outside_bytes

    def over() -> bool:
        return time.perf_counter() >= end

    plans = _starts(objective, room, starts, over)
    count = EXCHANGES + EACH * len(graph.movable) if exchanges is None else exchanges
    best = _exchanged(objective, room, plans, count // 2 if starts else count, seed, over)
    found = objective.measured(objective.simulator.cost(best.actions))[PEAK]
    if found > size_of(budget) / MB:
        raise ValueError(
            f"budget: expected at least {found:.3f} MB, the smallest peak found, got"
            f" {size_of(budget) / MB:.3f} MB: raise it, search longer, or allow more options"
        )
    return Plan(best.actions, name="searched")


def _starts(objective: ScheduleObjective, room: int, starts: Sequence[Plan], over: Callable[[], bool]) -> list[Plan]:
    """Return the initial plans: those given, or all that are known; and greedy ones with and without offloading."""
    graph = objective.graph
    known = [plan.checked(graph) for plan in starts] or [
        *(objective.plan(point) for point in objective.starts()),
        *starting_plans(graph),
    ]
    plans = [objective.nearest(plan) for plan in known]
    given, choices = (plans if starts else ()), [WORDS[word] for word in objective.options]
    staying = [action for action in choices if not action.word.startswith("offload")]
    for some in [choices] if starts or staying == choices else [choices, staying]:
        greedy = greedy_plan(graph, room, objective.machine, choices=some, starts=given, over=over)
        plans += [] if greedy is None else [objective.nearest(greedy)]
    return plans


def _exchanged(
    objective: ScheduleObjective, room: int, plans: list[Plan], exchanges: int, seed: int, over: Callable[[], bool]
) -> Plan:
    """Return the best plan of the local search: half of it from each of the best few plans, half from one."""
    search: dict[str, Any] = {"machine": objective.machine, "actions": [WORDS[word] for word in objective.options]}

    def quality(plan: Plan) -> tuple[int, float]:
        return score(objective.simulator, plan.actions, room)

    def exchanged(plan: Plan, count: int, seed: int) -> Plan:
        return exchange(objective.graph, plan, room, count, seed=seed, over=over, **search)

    runners = sorted({plan.actions: plan for plan in plans}.values(), key=quality)[:RUNNERS]
    share = exchanges // (2 * len(runners))
    first = [exchanged(plan, share, seed) for plan in runners]
    return exchanged(min(first, key=quality), exchanges - share * len(runners), seed + 1)
