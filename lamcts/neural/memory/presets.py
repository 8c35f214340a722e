"""The thesis's plans: baseline, liveness, offload, and three strategies of recomputation (8.3)."""

from collections.abc import Callable

from lamcts.graphs import StepGraph
from lamcts.neural.memory.plan import Action, Plan, keep_all

OFFLOADED = ("conv",)  # kinds of layers whose outputs travel (thesis 8.3.3: the others are too cheap, or too small)


def preset(name: str, graph: StepGraph) -> Plan:
    """Return one of the thesis's plans: "baseline", "liveness", "offload", "speed", "memory" or "cost-aware".

    "offload" sends the outputs of convolutions to the host; the last three also make anew what is no checkpoint.
    ValueError for another name.
    """
    if name not in PRESETS:
        raise ValueError(f"expected the name of a plan ({', '.join(PRESETS)}), got {name!r}")
    return PRESETS[name](graph)


def baseline(graph: StepGraph) -> Plan:
    """Return the plan that never frees anything."""
    return Plan((Action.KEEP,) * len(graph.movable), frees=False, name="baseline")


def offload(graph: StepGraph) -> Plan:
    """Return the plan of the unified tensor pool: outputs of convolutions go to the host (thesis 8.3.3)."""
    kinds = [graph.steps[graph.makers[one][-1]].kind for one in graph.movable]
    return Plan(tuple(Action.OFFLOAD if kind in OFFLOADED else Action.KEEP for kind in kinds), name="offload")


def speed_centric(graph: StepGraph) -> Plan:
    """Return the plan that makes what is no checkpoint anew once, and then holds it (thesis 8.3.4, figure 8.9a)."""
    return _recomputing(graph, Action.RECOMPUTE, "speed")


def memory_centric(graph: StepGraph) -> Plan:
    """Return the plan that makes what is no checkpoint anew for every need (thesis 8.3.4, figure 8.9b)."""
    return _recomputing(graph, Action.RECOMPUTE_AGAIN, "memory")


def cost_aware(graph: StepGraph) -> Plan:
    """Return the speed-centric plan, but memory-centric in segments that would exceed l_peak (thesis 8.3.4)."""
    actions, limit = list(speed_centric(graph).actions), layer_peak(graph)
    for segment in segments(graph):
        if segment_bytes(graph, segment) > limit:
            for i in segment:
                actions[i] = Action.RECOMPUTE_AGAIN
    return Plan(tuple(actions), name="cost-aware")


def layer_peak(graph: StepGraph) -> int:
    """Return l_peak of the thesis: the most bytes that one backward step reads and writes, each tensor on its own.

    A gradient that is written over another counts twice, as in the thesis; so `max(l_i)` is not the floor it is said
    to be there: AlexNet can do with less.
    """
    sizes = [storage.bytes for storage in graph.storages]
    return max(sum(sizes[one] for one in (*step.reads, *step.writes)) for step in graph.steps if not step.forward)


def segments(graph: StepGraph) -> list[list[int]]:
    """Return the movable storages between checkpoints: what hangs together without passing through one."""
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
    """Return the memory cost of a segment made anew at once: what it is made of, itself, and its last gradients.

    That is the sum of l_i^f and l_seg^b of the thesis: the gradients are those of the segment's last layer, the
    first whose backward step runs.
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
