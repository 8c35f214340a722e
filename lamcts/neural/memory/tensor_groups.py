"""Groups of storages with the same role in a network, which can share one decision of a plan.

Repeated layers of a transformer, or blocks of a ResNet stage, have one storage each in a group.
"""

import numpy as np

from lamcts.graphs import StepGraph


def tensor_groups(graph: StepGraph, pieces: int = 1) -> list[list[int]]:
    """Group the movable storages by the operations that write and read them in the forward pass, and by size.

    pieces: number of parts, from front to back, into which each group is split (1).
    """
    readers: dict[int, list[str]] = {one: [] for one in graph.movable}
    for step in graph.steps[: graph.forward_count]:
        for one in step.reads:
            if one in readers:
                readers[one].append(step.kind)
    found: dict[tuple[object, ...], list[int]] = {}
    for i, one in enumerate(graph.movable):
        makers = tuple(graph.steps[t].kind for t in graph.makers[one])
        found.setdefault((makers, tuple(sorted(readers[one])), graph.storages[one].bytes), []).append(i)
    cut = [np.array_split(group, min(pieces, len(group))) for group in found.values()]
    return [part.tolist() for parts in cut for part in parts]
