"""Time and memory of a training step by kind of layer (figure 8.8 of the thesis)."""

import re
from collections import defaultdict
from typing import NamedTuple

from lamcts.neural.graphs import StepGraph
from lamcts.neural.memory.machine import Machine

OTHER = "other"
WORDS = {  # kinds by a word in the name of an operation; the first match counts
    "conv": "conv",
    "pool": "pool",
    "norm": "norm",
    "attention": "attention",
    "embedding": "embedding",
    "softmax": "softmax",
    "threshold": "relu",
    "relu": "relu",
    "gelu": "gelu",
    "bernoulli": "dropout",
    "dropout": "dropout",
}


class LayerShare(NamedTuple):
    """A kind of layer, forward and backward: number of operations, seconds, and bytes of their results."""

    kind: str
    operations: int
    seconds: float
    bytes: int


def layer_shares(graph: StepGraph, machine: Machine | None = None) -> list[LayerShare]:
    """Return time and memory of a training step by kind of layer, the slowest first.

    Parameters
    ----------
    graph : StepGraph
        The training step.
    machine : Machine, default Machine()
        Rates of the times.

    Returns
    -------
    list of LayerShare
        Bytes are those of all activations, gradients and temporaries, each once, by the operation that writes it
        first. So they add up to the memory of a step that frees nothing.
    """
    rates, first = machine or Machine(), _first_writers(graph)
    seconds: dict[str, float] = defaultdict(float)
    sizes: dict[str, int] = defaultdict(int)
    count: dict[str, int] = defaultdict(int)
    for t, step in enumerate(graph.steps):
        kind = kind_of(step.kind)
        seconds[kind] += rates.seconds(step)
        count[kind] += 1
        sizes[kind] += sum(graph.storages[one].bytes for one in first.get(t, ()))
    found = [LayerShare(kind, count[kind], seconds[kind], sizes[kind]) for kind in seconds]
    return sorted(found, key=lambda one: (-one.seconds, one.kind))


def kind_of(operation: str) -> str:
    """Return the kind of layer of an operation of a trace; names of the thesis's layers are kinds already."""
    known = next((kind for word, kind in WORDS.items() if word in operation), None)
    return known or re.sub(r"^_+|_backward$|_+$", "", operation) or OTHER


def merged(kinds: list[LayerShare], share: float) -> list[LayerShare]:
    """Return the kinds with at least a share of time or memory, and the sum of the rest as "other"."""
    time, memory = sum(one.seconds for one in kinds), sum(one.bytes for one in kinds)
    large = [one for one in kinds if one.seconds >= share * time or one.bytes >= share * memory]
    small = [one for one in kinds if one not in large]
    if len(small) < 2:
        return kinds
    _, operations, seconds, sizes = zip(*small, strict=True)
    return [*large, LayerShare(OTHER, sum(operations), sum(seconds), sum(sizes))]


def _first_writers(graph: StepGraph) -> dict[int, list[int]]:
    """Return the storages by the step that writes them first; those outside are left out."""
    found: dict[int, list[int]] = {}
    seen = {i for i, storage in enumerate(graph.storages) if storage.role == "outside"}
    for t, step in enumerate(graph.steps):
        new = [one for one in dict.fromkeys(step.writes) if one not in seen]
        seen.update(new)
        found[t] = new
    return found
