"""Search for memory plans: the least time within a budget, or the front of peak and time."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import lamcts
from lamcts.movement.sizes import size_of
from lamcts.neural.graphs import MB, StepGraph
from lamcts.neural.memory.checkpoint_plans import starting_plans
from lamcts.neural.memory.exchange import Score, exchange
from lamcts.neural.memory.exchange import score as plan_score
from lamcts.neural.memory.greedy import greedy as greedy_plan
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.objective import ALL_OPTIONS, PEAK, ScheduleObjective
from lamcts.neural.memory.plan import WORDS, Plan
from lamcts.neural.memory.simulator import Simulator

EVALUATIONS = 50  # of the optimizer, for the least time: more took minutes without gain after the exchange
POINTS = 12  # of a front: a few seconds for AlexNet
EXCHANGES, EACH = 5000, 50  # plans, and plans for each storage: half a minute for a ResNet-152 (untuned)
RUNNERS = 4  # best starts of the exchange, which continues from the best after half of its plans
DECISIONS = 50  # most decisions of the optimizer; a hundred take as long as all other work


def least_time(
    graph: StepGraph,
    budget: str | int | float,
    *,
    evaluations: int = EVALUATIONS,
    exchanges: int | None = None,
    seed: int = 0,
    machine: Machine | None = None,
    options: tuple[str, ...] = ALL_OPTIONS,
    starts: Sequence[Plan] = (),
    seconds: float = math.inf,
    **settings: Any,
) -> Plan:
    """Find the fastest memory plan within a budget.

    Starts are the presets, checkpointing by block, and greedy plans, so none of those is faster. The optimizer decides
    storage by storage, or for large graphs by tensor group. Local search follows, half of it from the best few plans,
    half from the best result.

    Parameters
    ----------
    graph : StepGraph
        The training step.
    budget : int or str
        Largest peak, with `graph.outside_bytes`; bytes, or a text such as "900MB".
    evaluations : int, default 50
        Evaluations of the optimizer, which is skipped for graphs with too many groups, or by 0.
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
        them: other starts and the optimizer are skipped, and local search gets half of its plans.
    seconds : float, default infinity
        Limit of CPU time, after which the best plan so far is returned.
    **settings
        Options of `lamcts.minimize`.

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
    end = time.process_time() + seconds

    def over() -> bool:
        return time.process_time() >= end

    plans = _continued(objective, starts, over) if starts else _starts(objective, over)
    if not starts and evaluations and (few := _few(objective)):
        left = {} if math.isinf(seconds) else {"seconds": max(end - time.process_time(), 1e-3)}
        result = _searched(few, [few.point(plan) for plan in plans], evaluations, seed, settings | left)
        plans.append(few.plan(result.x))
    count = EXCHANGES + EACH * len(graph.movable) if exchanges is None else exchanges
    best = _exchanged(objective, plans, count // 2 if starts else count, seed, over)
    found = objective.measured(objective.simulator.cost(best.actions))[PEAK]
    if found > size_of(budget) / MB:
        raise ValueError(
            f"budget: expected at least {found:.3f} MB, the smallest peak found, got"
            f" {size_of(budget) / MB:.3f} MB: raise it, evaluate more, or allow more options"
        )
    return Plan(best.actions, name="searched")


def front(
    graph: StepGraph,
    *,
    points: int = POINTS,
    evaluations: int = 0,
    exchanges: int | None = None,
    seed: int = 0,
    machine: Machine | None = None,
    options: tuple[str, ...] = ALL_OPTIONS,
    **settings: Any,
) -> list[Plan]:
    """Return plans on the Pareto front of peak and time, lowest peak first.

    Budgets decrease from keeping everything by a share 1 / `points` of the presets' saving, or to just below the last
    peak. `least_time`, which documents the other arguments, finds a plan within each. A search for both objectives at
    once, `lamcts.minimize(ScheduleObjective(graph), ...)`, is far behind.

    Parameters
    ----------
    graph : StepGraph
        The training step.
    points : int, default 12
        Number of budgets, about.
    """
    objective = ScheduleObjective(graph, None, machine, options)
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


def _undominated(simulator: Simulator, plans: list[Plan]) -> list[Plan]:
    """Return the undominated plans, lowest peak first, the first of equal ones."""
    best: list[Plan] = []
    fastest = math.inf
    costs = [simulator.cost(plan.actions) for plan in plans]
    for i in sorted(range(len(plans)), key=lambda i: (costs[i].peak_bytes, costs[i].seconds)):
        if costs[i].seconds < fastest:
            best.append(plans[i])
            fastest = costs[i].seconds
    return best


def _room(objective: ScheduleObjective) -> int:
    """Return the bytes that a budget leaves for storages."""
    assert objective.budget is not None
    return size_of(objective.budget) - objective.graph.outside_bytes


def _starts(objective: ScheduleObjective, over: Callable[[], bool]) -> list[Plan]:
    """Return the initial plans of a search, with greedy ones with and without offloading."""
    plans = [objective.plan(point) for point in objective.starts()]
    plans += [objective.nearest(plan) for plan in starting_plans(objective.graph)]
    choices = [WORDS[word] for word in objective.options]
    staying = [action for action in choices if not action.word.startswith("offload")]
    for some in (choices, *([staying] if staying != choices else [])):
        greedy = greedy_plan(objective.graph, _room(objective), objective.machine, choices=some, over=over)
        plans += [] if greedy is None else [objective.nearest(greedy)]
    return plans


def _continued(objective: ScheduleObjective, starts: Sequence[Plan], over: Callable[[], bool]) -> list[Plan]:
    """Return the plans of an earlier search, and a greedy one from them."""
    plans = [objective.nearest(plan.checked(objective.graph)) for plan in starts]
    choices = [WORDS[word] for word in objective.options]
    search: dict[str, Any] = {"choices": choices, "starts": plans, "over": over}
    greedy = greedy_plan(objective.graph, _room(objective), objective.machine, **search)
    return plans if greedy is None else [*plans, objective.nearest(greedy)]


def _few(objective: ScheduleObjective) -> ScheduleObjective | None:
    """Return the objective with few enough decisions, shared by tensor groups; None if there are too many groups."""
    for pieces in (0, 3, 2, 1):
        few = replace(objective, pieces=pieces)
        if len(few.x0) <= DECISIONS:
            return few
    return None


def _exchanged(
    objective: ScheduleObjective, plans: list[Plan], exchanges: int, seed: int, over: Callable[[], bool]
) -> Plan:
    """Return the best plan of the local search: half of it from each of the best few plans, half from one."""
    room, actions = _room(objective), [WORDS[word] for word in objective.options]

    def score(plan: Plan) -> Score:
        return plan_score(objective.simulator, plan.actions, room)

    def exchanged(plan: Plan, count: int, seed: int) -> Plan:
        search: dict[str, Any] = {"machine": objective.machine, "actions": actions, "over": over}
        return exchange(objective.graph, plan, room, count, seed=seed, **search)

    runners = sorted({plan.actions: plan for plan in plans}.values(), key=score)[:RUNNERS]
    share = exchanges // (2 * len(runners))
    first = [exchanged(plan, share, seed) for plan in runners]
    return exchanged(min(first, key=score), exchanges - share * len(runners), seed + 1)


def _searched(
    objective: ScheduleObjective,
    starts: list[dict[str, str]],
    evaluations: int,
    seed: int,
    settings: dict[str, Any],
) -> Any:
    known = [(point, objective(point)) for i, point in enumerate(starts) if point not in starts[:i]]
    return lamcts.minimize(objective, objective.space, budget=evaluations, seed=seed, known=known, **settings)
