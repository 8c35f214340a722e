"""Plans of the thesis: baseline, liveness, offload, and three recomputation strategies (8.3)."""

from collections.abc import Callable
from dataclasses import replace

from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.graph_tables import recomputable
from lamcts.neural.memory.plan import RECOMPUTED, Action, Plan, keep_all

OFFLOADED = ("conv",)  # kinds of layers whose outputs are offloaded (thesis 8.3.3)


def preset(name: str, graph: StepGraph) -> Plan:
    """Return a plan of the thesis by name; storages that cannot be recomputed are kept.

    Parameters
    ----------
    name : {"baseline", "liveness", "offload", "speed", "memory", "cost-aware"}
        "offload" offloads outputs of convolutions; the last three also recompute storages that are not checkpoints.
    graph : StepGraph
        The training step.
    """
    if name not in PRESETS:
        raise ValueError(f"expected the name of a plan ({', '.join(PRESETS)}), got {name!r}")
    plan, free = PRESETS[name](graph), recomputable(graph)
    pairs = zip(plan.actions, free, strict=True)
    return replace(plan, actions=tuple(one if some or one not in RECOMPUTED else Action.KEEP for one, some in pairs))


def baseline(graph: StepGraph) -> Plan:
    """Return the plan that frees nothing."""
    return Plan((Action.KEEP,) * len(graph.movable), frees=False, name="baseline")


def offload(graph: StepGraph) -> Plan:
    """Return the plan that offloads outputs of convolutions: the unified tensor pool (thesis 8.3.3)."""
    kinds = [graph.steps[graph.makers[one][-1]].kind for one in graph.movable]
    return Plan(tuple(Action.OFFLOAD if kind in OFFLOADED else Action.KEEP for kind in kinds), name="offload")


def speed_centric(graph: StepGraph) -> Plan:
    """Return the plan that recomputes once and keeps the results (thesis 8.3.4, figure 8.9a)."""
    return _recomputing(graph, Action.RECOMPUTE, "speed")


def memory_centric(graph: StepGraph) -> Plan:
    """Return the plan that recomputes at each need (thesis 8.3.4, figure 8.9b)."""
    return _recomputing(graph, Action.RECOMPUTE_AGAIN, "memory")


def cost_aware(graph: StepGraph) -> Plan:
    """Return the speed-centric plan, memory-centric in segments that would exceed l_peak (thesis 8.3.4)."""
    actions, limit = list(speed_centric(graph).actions), layer_peak(graph)
    for segment in segments(graph):
        if segment_bytes(graph, segment) > limit:
            for i in segment:
                actions[i] = Action.RECOMPUTE_AGAIN
    return Plan(tuple(actions), name="cost-aware")


def layer_peak(graph: StepGraph) -> int:
    """Return l_peak of the thesis: the most bytes that one backward step reads and writes.

    A gradient that overwrites another counts twice, as in the thesis. So `max(l_i)` is no lower bound: AlexNet needs
    less.
    """
    sizes = [storage.bytes for storage in graph.storages]
    return max(sum(sizes[one] for one in (*step.reads, *step.writes)) for step in graph.steps if not step.forward)


def segments(graph: StepGraph) -> list[list[int]]:
    """Return the segments of the thesis: movable storages that are connected without passing a checkpoint."""
    free = [i for i, one in enumerate(graph.movable) if not graph.steps[graph.makers[one][-1]].checkpoint]
    number = {graph.movable[i]: i for i in free}
    found: dict[int, list[int]] = {}
    for i in free:
        one = graph.movable[i]
        reads = {read for t in graph.makers[one] for read in graph.steps[t].reads if read in number and read != one}
        before = {id(found[number[read]]): found[number[read]] for read in reads if number[read] in found}
        merged = [*(k for part in before.values() for k in part), i]
        found.update(dict.fromkeys(merged, merged))
    return sorted({id(part): part for part in found.values()}.values())


def segment_bytes(graph: StepGraph, segment: list[int]) -> int:
    """Return the memory to recompute a segment at once: its inputs, itself and its last gradients, in bytes.

    This is the sum of l_i^f and l_seg^b of the thesis; the gradients are of the segment's last layer, whose backward
    step runs first.
    """
    sizes = [storage.bytes for storage in graph.storages]
    mine = {graph.movable[i] for i in segment}
    sources = {read for one in mine for t in graph.makers[one] for read in graph.steps[t].reads} - mine
    last = graph.steps[graph.makers[graph.movable[segment[-1]]][-1]].name
    backward = [step for step in graph.steps if not step.forward]
    own = [step for step in backward if step.name == f"d {last}"] or [step for step in backward if mine & {*step.reads}]
    above = {one for step in own[:1] for one in (*step.reads, *step.writes) if graph.storages[one].role == "gradient"}
    return sum(sizes[one] for one in mine | sources | above)


def _recomputing(graph: StepGraph, action: Action, name: str) -> Plan:
    checkpoints = [graph.steps[graph.makers[one][-1]].checkpoint for one in graph.movable]
    return Plan(tuple(Action.OFFLOAD if dear else action for dear in checkpoints), name=name)


PRESETS: dict[str, Callable[[StepGraph], Plan]] = {
    "baseline": baseline,
    "liveness": keep_all,
    "offload": offload,
    "speed": speed_centric,
    "memory": memory_centric,
    "cost-aware": cost_aware,
}
