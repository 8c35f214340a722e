"""Search for memory plans: the least time within a budget, or the front of peak against time.

plan = least_time(graph, "900MB", seed=0)
"""

import math
from dataclasses import replace
from typing import Any

import lamcts
from lamcts.graphs import MB, StepGraph
from lamcts.neural import memory

EVALUATIONS = 50  # of the optimiser, for the least time: more took minutes and gained nothing after the exchange
POINTS = 12  # of a front: a few seconds for AlexNet
EXCHANGES, EACH = 5000, 50  # and so many for each storage: seconds for AlexNet, half a minute for a ResNet152 (untuned)
RUNNERS = 4  # starts of which the exchange goes on from the best, after half of it
DECISIONS = 50  # at most that the optimiser has: with some hundred it takes as long as everything else


def least_time(
    graph: StepGraph,
    budget: str | int | float,
    *,
    evaluations: int = EVALUATIONS,
    exchanges: int | None = None,
    seed: int = 0,
    machine: memory.Machine | None = None,
    options: tuple[str, ...] = memory.ALL_OPTIONS,
    **settings: Any,
) -> memory.Plan:
    """Return the plan found with the least time of those whose peak is within `budget`.

    The search begins with the thesis's plans and the greedy one. `evaluations` are those of the optimiser, which
    decides storage by storage, or in large graphs for storages of the same role at once; it is left out where there are
    too many roles, or by 0. `exchanges` are plans simulated by local search after that (see `memory.exchange`), half of
    them from the best few plans so far, half from the best of what came out; 5,000 and 50 for each storage unless said
    otherwise. `settings` go to `lamcts.minimize`. ValueError where no plan within the budget was found; its message has
    the smallest peak that was.
    """
    objective = memory.ScheduleObjective(graph, budget, machine, options)
    plans = _starts(objective)
    if evaluations and (few := _few(objective)):
        result = _searched(few, [few.point(plan) for plan in plans], evaluations, seed, settings)
        plans.append(few.plan(result.x))
    count = EXCHANGES + EACH * len(graph.movable) if exchanges is None else exchanges
    best = _exchanged(objective, plans, count, seed)
    found = objective.measured(objective.simulator.cost(best.actions))[memory.PEAK]
    if found > memory.size_of(budget) / MB:
        raise ValueError(
            f"budget: expected at least {found:.3f} MB, the smallest peak found, got"
            f" {memory.size_of(budget) / MB:.3f} MB: raise it, evaluate more, or allow more options"
        )
    return memory.Plan(best.actions, name="searched")


def front(
    graph: StepGraph,
    *,
    points: int = POINTS,
    evaluations: int = 0,
    exchanges: int | None = None,
    seed: int = 0,
    machine: memory.Machine | None = None,
    options: tuple[str, ...] = memory.ALL_OPTIONS,
    **settings: Any,
) -> list[memory.Plan]:
    """Return plans of which none has both a lower peak and less time than another, from the lowest peak on.

    From where everything is kept, budgets go down by a share 1 / `points` of what the thesis's plans save, or to just
    below the last peak, and `least_time`, which says what the other arguments are, finds a plan within each. A search
    for both objectives at once, `lamcts.minimize(memory.ScheduleObjective(graph), ...)`, stays far behind.
    """
    objective = memory.ScheduleObjective(graph, None, machine, options)
    plans = [objective.plan(point) for point in objective.starts()]
    peaks = [objective.simulator.cost(plan.actions).peak_bytes for plan in plans]
    step = max((max(peaks) - min(peaks)) // points, 1)
    search: dict[str, Any] = {"evaluations": evaluations, "exchanges": exchanges, "machine": machine}
    room = max(peaks) - step
    while room >= min(peaks):
        plan = least_time(graph, room + graph.outside_bytes, seed=seed, options=options, **search, **settings)
        plans.append(plan)
        room = min(room - step, objective.simulator.cost(plan.actions).peak_bytes - 1)
    return _undominated(objective.simulator, plans)


def _undominated(simulator: memory.Simulator, plans: list[memory.Plan]) -> list[memory.Plan]:
    """Return the plans that none is level with or ahead of, from the lowest peak on; of equal ones the first."""
    best: list[memory.Plan] = []
    fastest = math.inf
    costs = [simulator.cost(plan.actions) for plan in plans]
    for i in sorted(range(len(plans)), key=lambda i: (costs[i].peak_bytes, costs[i].seconds)):
        if costs[i].seconds < fastest:
            best.append(plans[i])
            fastest = costs[i].seconds
    return best


def _room(objective: memory.ScheduleObjective) -> int:
    """Return the bytes that a budget leaves to the storages."""
    assert objective.budget is not None
    return memory.size_of(objective.budget) - objective.graph.outside_bytes


def _starts(objective: memory.ScheduleObjective) -> list[memory.Plan]:
    """Return the plans that a search within a budget begins with: they cost no evaluations."""
    plans = [objective.plan(point) for point in objective.starts()]
    choices = [memory.WORDS[word] for word in objective.options]
    greedy = memory.greedy(objective.graph, _room(objective), objective.machine, choices=choices)
    return plans if greedy is None else [*plans, objective.nearest(greedy)]


def _few(objective: memory.ScheduleObjective) -> memory.ScheduleObjective | None:
    """Return the same with few enough decisions, storages of a role sharing them; None where that leaves too many."""
    for pieces in (0, 3, 2, 1):
        few = replace(objective, pieces=pieces)
        if len(few.x0) <= DECISIONS:
            return few
    return None


def _exchanged(objective: memory.ScheduleObjective, plans: list[memory.Plan], exchanges: int, seed: int) -> memory.Plan:
    """Return the best plan that local search finds: half of it from each of the best few plans, half from one."""
    room, actions = _room(objective), [memory.WORDS[word] for word in objective.options]

    def score(plan: memory.Plan) -> memory.Score:
        return memory.score(objective.simulator, plan.actions, room)

    def exchanged(plan: memory.Plan, count: int, seed: int) -> memory.Plan:
        return memory.exchange(
            objective.graph, plan, room, count, seed=seed, machine=objective.machine, actions=actions
        )

    runners = sorted({plan.actions: plan for plan in plans}.values(), key=score)[:RUNNERS]
    share = exchanges // (2 * len(runners))
    first = [exchanged(plan, share, seed) for plan in runners]
    return exchanged(min(first, key=score), exchanges - share * len(runners), seed + 1)


def _searched(
    objective: memory.ScheduleObjective,
    starts: list[dict[str, str]],
    evaluations: int,
    seed: int,
    settings: dict[str, Any],
) -> Any:
    known = [(point, objective(point)) for i, point in enumerate(starts) if point not in starts[:i]]
    return lamcts.minimize(objective, objective.space, budget=evaluations, seed=seed, known=known, **settings)
