"""Greedy plans within a memory budget, for graphs of any size."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.checkpoint_plans import starting_plans
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import RECOMPUTED, Action, Plan
from lamcts.neural.memory.presets import preset
from lamcts.neural.memory.simulator import Simulator

TRIED = 6  # storages whose changes are simulated at each step, cheapest per byte first (untuned)
FINISHED = 3  # plans that are refined storage by storage (untuned)
FEW = 64  # most storages of a start that recomputes all at each need, whose time is quadratic
STARTS = ("liveness", "offload", "speed", "memory", "cost-aware")
Actions = list[Action]


class Tried(NamedTuple):
    """Actions, their bytes above the budget, summed over steps, and the seconds of a training step."""

    actions: Actions
    excess: int
    seconds: float


def never() -> bool:
    """Return False: there is no time limit."""
    return False


def greedy(
    graph: StepGraph,
    budget_bytes: int,
    machine: Machine | None = None,
    *,
    choices: Collection[Action] = tuple(Action),
    starts: Sequence[Plan] = (),
    over: Callable[[], bool] = never,
) -> Plan | None:
    """Find a plan within a memory budget by greedy changes.

    Starts are the thesis's plans, checkpointing by block, offloading everything, and for small graphs recomputing all
    at each need. While a plan exceeds the budget, the change with the best reduction of excess per time is applied.
    Then storages are kept again where the budget allows it. In the three fastest plans each storage gets, once, its
    fastest action within the budget.

    Parameters
    ----------
    graph : StepGraph
        The training step.
    budget_bytes : int
        Largest peak in bytes, without `graph.outside_bytes`.
    machine : Machine, default Machine()
        Rates of the simulation.
    choices : collection of Action, default all
        Allowed actions; KEEP is always allowed.
    starts : sequence of Plan, default ()
        Initial plans to use instead, such as those of an earlier search.
    over : callable, default never
        Returns whether the time limit has passed. The best plan so far is then returned; a first one is always sought.
    """
    simulator = Simulator(graph, machine)
    allowed = _allowed(simulator, choices)
    within: list[Tried] = []
    given = [plan.checked(graph).actions for plan in starts]
    if not starts:
        plans = [*(preset(name, graph) for name in STARTS), *starting_plans(graph)]
        given = [plan.actions for plan in plans] + [(Action.OFFLOAD,) * len(allowed)]
    if not starts and len(allowed) <= FEW:
        given.append((Action.RECOMPUTE_EACH,) * len(allowed))
    fitted = [[one if one in some else Action.KEEP for one, some in zip(row, allowed, strict=True)] for row in given]
    for one in [one for k, one in enumerate(fitted) if one not in fitted[:k]]:
        if within and over():
            break
        found = _lowered(simulator, one, budget_bytes, allowed)
        within += [] if found is None else [found]
    if not within:
        return None
    keep: list[tuple[Action, ...]] = [(Action.KEEP,)] * len(allowed)
    kept = [_better(simulator, one, budget_bytes, keep, over) for one in within]
    fastest = sorted({tuple(one.actions): one for one in kept}.values(), key=lambda one: one.seconds)[:FINISHED]
    best = min((_better(simulator, one, budget_bytes, allowed, over) for one in fastest), key=lambda one: one.seconds)
    return Plan(tuple(best.actions), name="greedy")


def _allowed(simulator: Simulator, choices: Collection[Action]) -> list[tuple[Action, ...]]:
    """Return the allowed actions of each storage; some storages cannot be recomputed."""
    found = [Action.KEEP, *(one for one in choices if one != Action.KEEP)]
    sources = simulator.tables.recomputable
    return [tuple(one for one in found if free or one not in RECOMPUTED) for free in sources]


def _lowered(simulator: Simulator, start: Actions, budget: int, allowed: list[tuple[Action, ...]]) -> Tried | None:
    """Return a plan within the budget by single changes; None if no further change helps."""
    now = _tried(simulator, start, budget)
    while now.excess > 0:
        changed = [_tried(simulator, one, budget) for one in _changes(simulator, now.actions, allowed)]
        better = [one for one in changed if one.excess < now.excess]
        if not better:
            return None
        now = min(better, key=lambda one: (one.seconds - now.seconds) / (now.excess - one.excess))
    return now


def _changes(simulator: Simulator, actions: Actions, allowed: list[tuple[Action, ...]]) -> Iterator[Actions]:
    """Yield the actions with one change, of a storage that is live at the peak but not used by its step."""
    tables, machine = simulator.tables, simulator.machine
    live = simulator.live(actions)
    peak = live.index(max(live))
    step, last = tables.graph.steps[peak], simulator.last_needs(actions)
    used = {*step.reads, *step.writes}
    cost = {
        i: min(tables.recompute_seconds[i], 2 * machine.transfer_seconds(size)) / max(size, 1)
        for i, size in enumerate(tables.size)
        if tables.first_write[i] <= peak <= last[i]
        and (tables.graph.movable[i] not in used or actions[i] != Action.KEEP)
    }
    for i in sorted(cost, key=cost.__getitem__)[:TRIED]:
        for action in allowed[i]:
            if action != actions[i]:
                yield [*actions[:i], action, *actions[i + 1 :]]


def _better(
    simulator: Simulator, now: Tried, budget: int, allowed: list[tuple[Action, ...]], over: Callable[[], bool]
) -> Tried:
    """Give each storage that is not kept its fastest allowed action within the budget, slowest recomputation first."""
    tables = simulator.tables
    changed = [i for i, action in enumerate(now.actions) if action != Action.KEEP]
    for i in sorted(changed, key=tables.recompute_seconds.__getitem__, reverse=True):
        if over():
            break
        for action in allowed[i]:
            if action == now.actions[i]:
                continue
            tried = _tried(simulator, [*now.actions[:i], action, *now.actions[i + 1 :]], budget)
            equal = action == Action.KEEP and tried.seconds == now.seconds
            if tried.excess == 0 and (tried.seconds < now.seconds or equal):
                now = tried
    return now


def _tried(simulator: Simulator, actions: Actions, budget: int) -> Tried:
    return Tried(actions, *simulator.excess(actions, budget))
