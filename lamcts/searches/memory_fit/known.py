"""Plans of a graph that cost no search: the thesis's, the greedy one, and the one that needs least.

plans = known(graph, room)
smallest(graph).actions
"""

from lamcts.graphs import StepGraph
from lamcts.neural import memory

ROUNDS = 6  # greedy plans that are tried for the smallest, a second each for a ResNet-50 (untuned)
NEAR = 0.02  # of the peak, relative, within which the smallest is near enough (untuned)
OFFLOADING = "offload all"


def presets(simulator: memory.Simulator) -> list[memory.Plan]:
    """Return the thesis's plans and the one that offloads all; what a graph does not let make anew is kept."""
    graph = simulator.graph
    plans = [memory.preset(name, graph) for name in memory.PRESETS]
    plans.append(memory.Plan((memory.Action.OFFLOAD,) * len(graph.movable), name=OFFLOADING))
    return [_allowed(simulator, plan) for plan in plans]


def known(graph: StepGraph, room: int, machine: memory.Machine | None = None) -> list[memory.Report]:
    """Return the presets and, if there is one, the greedy plan with a peak of `room` bytes, simulated.

    room: for the peak without `graph.outside_bytes`, as everywhere in this file.
    """
    simulator = memory.Simulator(graph, machine)
    plans, found = presets(simulator), memory.greedy(graph, room, machine)
    return [simulator.report(plan) for plan in (*plans, *([] if found is None else [found]))]


def smallest(graph: StepGraph, machine: memory.Machine | None = None) -> memory.Report:
    """Return the plan with the lowest peak that greedy plans at lower and lower budgets come to, simulated.

    Whatever budget somebody has in mind, it is the same plan.
    """
    simulator = memory.Simulator(graph, machine)
    best = min(map(simulator.report, presets(simulator)), key=lambda one: one.peak_bytes)
    low, room = _floor(graph), _floor(graph)
    for _ in range(ROUNDS):
        found = memory.greedy(graph, room, machine)
        if found is None:
            low = room + 1
        elif (report := simulator.report(found)).peak_bytes < best.peak_bytes:
            best = report
        room = (low + best.peak_bytes) // 2
        if best.peak_bytes - low <= NEAR * best.peak_bytes:
            break
    return best


def _floor(graph: StepGraph) -> int:
    """Return the most bytes that one step reads and writes: no plan needs less."""
    sizes = [0 if storage.role == "outside" else storage.bytes for storage in graph.storages]
    return max(sum(sizes[one] for one in {*step.reads, *step.writes}) for step in graph.steps)


def _allowed(simulator: memory.Simulator, plan: memory.Plan) -> memory.Plan:
    pairs = zip(plan.actions, simulator.scheme.sources, strict=True)
    kept = memory.Action.KEEP
    actions = tuple(kept if one.word.startswith("recompute") and not free else one for one, free in pairs)
    return memory.Plan(actions, plan.frees, plan.name)
