"""What a plan means for each storage of a traced step: found once, followed at every step."""

from dataclasses import dataclass

from lamcts.neural.memory.forward import forward
from lamcts.neural.memory.live_ranges import live_ranges
from lamcts.neural.memory.plan import Action, Plan
from lamcts.neural.memory.simulator import Simulator
from lamcts.neural.trace import Trace


@dataclass(frozen=True, eq=False)
class PlanSchedule:
    """actions, writes: what becomes of each movable storage that the backward pass wants, and how many steps write it.

    leaving: those that are not on the device when the forward pass has ended. fetched: those that come from the host
    ahead of their needs, in the order of these; staying: of them, those that have no time to be away. held_bytes: of
    what autograd saved, and of what others are made of, if it is there.
    """

    traced: Trace
    actions: dict[int, Action]
    writes: dict[int, int]
    leaving: frozenset[int]
    fetched: list[int]
    staying: frozenset[int]
    held_bytes: int


def schedule(traced: Trace, plan: Plan) -> PlanSchedule:
    """Return what `plan` means; ValueError for a plan of another trace, or one that makes anew what cannot be."""
    graph, simulator = traced.graph, Simulator(traced.graph)
    simulator.report(plan)
    first, last, _ = live_ranges(simulator.tables, plan.actions)
    resident = forward(simulator.tables, plan.actions, first, last).resident
    wanted = [i for i in range(len(graph.movable)) if last[i] >= 0]
    actions = {graph.movable[i]: Action.KEEP if resident[i] else plan.actions[i] for i in wanted}
    leaving = frozenset(one for one, action in actions.items() if action != Action.KEEP)
    fetched = [i for i in wanted if plan.actions[i] == Action.OFFLOAD]
    staying = frozenset(graph.movable[i] for i in fetched if resident[i])
    fetched.sort(key=lambda i: (first[i], -i))
    held = (set(actions) | set(traced.packed)) - leaving
    writes = {one: len(graph.makers[one]) for one in actions}
    size = sum(graph.storages[one].bytes for one in held)
    return PlanSchedule(traced, actions, writes, leaving, [graph.movable[i] for i in fetched], staying, size)
