"""Storages that play the same part in a network, so that one decision may stand for all of them.

The layers of a transformer, or the blocks of one stage of a ResNet, have one storage each of every part.
"""

import numpy as np

from lamcts.graphs import StepGraph


def tensor_groups(graph: StepGraph, pieces: int = 1) -> list[list[int]]:
    """Return the movable storages by what makes them, what reads them going forward, and their size.

    pieces: into how many parts of the network, from front to back, each role is cut (1).
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
    cut = [np.array_split(role, min(pieces, len(role))) for role in found.values()]
    return [part.tolist() for parts in cut for part in parts]
