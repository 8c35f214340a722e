"""Scratch memory of kernels in a step graph: measured bytes that no traced tensor has.

A convolution's backward pass reorders its inputs, for example. Fake tensors of a trace do not show it.
"""

from collections.abc import Mapping

from lamcts.neural.graphs import StepGraph, Storage

Work = tuple[str, int, int]  # kind, floating-point operations and moved bytes of an operation


def with_scratch(graph: StepGraph, scratch: Mapping[Work, int]) -> StepGraph:
    """Return a graph whose steps also write a temporary storage of their scratch bytes, as do their recomputations.

    Movable storages stay the same, so a plan for one graph is a plan for the other.
    """
    storages, steps = list(graph.storages), []
    for step in graph.steps:
        size = scratch.get((step.kind, step.flops, step.moved_bytes), 0)
        steps.append(step._replace(writes=(*step.writes, len(storages))) if size else step)
        storages += [Storage(f"scratch of {step.name}", size, "temporary")] if size else []
    return StepGraph(tuple(steps), tuple(storages), graph.tensors, graph.accounting, graph.outside_bytes)
