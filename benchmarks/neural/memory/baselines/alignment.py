"""Match the nodes of a partitioned forward graph to traced storages, by operation and order. Needs torch.

Both forward passes are of one module, but the partitioner's is functional: its `relu` is the traced `relu_`, and has a
new result. The two sequences of operations are aligned as texts are by `difflib`.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from operator import getitem
from typing import Any, NamedTuple

from lamcts.neural.graphs import Step, StepGraph

NAMES = {"_native_batch_norm_legit_functional": "native_batch_norm"}  # functional name of the eager operation
PARTS = {"native_dropout": ("empty_like", "bernoulli", "div", "mul")}  # eager mode on the CPU splits it
WRITES = {"native_dropout": (3, 1)}  # index of the part that writes each output
SHARING = ("_unsafe_view", "alias", "detach", "lift_fresh")  # views whose schema does not declare it


class Word(NamedTuple):
    """An operation of a graph module: its node, and the number of its part."""

    name: str
    node: Any
    part: int


def storages(graph: StepGraph, forward: Any) -> dict[Any, int | None]:
    """Return the storage of `graph` for each node of a forward graph, None for nodes without one.

    A view has the storage of its base. Parameters, buffers and inputs are outside storages and have None too.
    """
    words = [word for node in forward.graph.nodes if _computes(node) for word in _words(node)]
    steps = graph.steps[: graph.forward_count]
    ours = [_name(step) for step in steps]
    matcher = SequenceMatcher(None, ours, [word.name for word in words], autojunk=False)
    found: dict[tuple[Any, int], Step] = {}
    for a, b, size in matcher.get_matching_blocks():
        for k in range(size):
            word = words[b + k]
            found[word.node, word.part] = steps[a + k]
    result: dict[Any, int | None] = {}
    for node in forward.graph.nodes:
        result[node] = _storage(node, found, result)
    return result


def _storage(node: Any, found: dict[tuple[Any, int], Step], known: dict[Any, int | None]) -> int | None:
    if node.op != "call_function":
        return None
    if _is_view(node):
        return known[node.args[0]]
    maker, output = (node.args[0], node.args[1]) if node.target is getitem else (node, 0)
    if node.target is getitem and _is_view(maker):  # one of several views of one tensor
        return known[maker]
    part = WRITES[_op(maker)][output] if _op(maker) in WRITES else 0
    step = found.get((maker, part))
    if step is None and _op(node) == "clone":  # eager mode may return its input, as for dropout
        return known[node.args[0]]
    output = 0 if _op(maker) in WRITES else output
    return step.writes[output] if step and output < len(step.writes) else None


def _words(node: Any) -> Iterator[Word]:
    op = _op(node)
    parts = PARTS.get(op, (NAMES.get(op, op),))
    return (Word(name.rstrip("_"), node, k) for k, name in enumerate(parts))


def _name(step: Step) -> str:
    return step.name.rpartition(".")[2].partition(":")[0].rstrip("_")


def _op(node: Any) -> str:
    packet = getattr(node.target, "_overloadpacket", None)
    return str(packet.__name__ if packet else getattr(node.target, "__name__", node.target))


def _computes(node: Any) -> bool:
    return node.op == "call_function" and node.target is not getitem and not _is_view(node)


def _is_view(node: Any) -> bool:
    if _op(node) in SHARING:
        return True
    schema = getattr(node.target, "_schema", None)
    aliases = [one.alias_info for one in schema.returns] if schema else []
    return any(alias is not None and not alias.is_write for alias in aliases)
