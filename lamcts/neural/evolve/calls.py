"""Calls of opaque operations as values, and their fusion where the only reader of one is opaque, as in attention."""

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from lamcts.neural.graphs.computation import ComputationGraph, OperationNode


class Input(NamedTuple):
    """In the arguments of an opaque call: the value of the node's input `place`."""

    place: int


class Parameter(NamedTuple):
    """In the arguments of an opaque call: a parameter, buffer or constant by its name in the module that was read."""

    name: str


class OpaqueCall(NamedTuple):
    """A call that is computed as it was read."""

    target: str  # the name of the function, such as "torch.ops.aten.view.default" or "operator.mul"
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    training: int | None  # the place of the argument that says whether the network is trained


def name_of(target: Any) -> str:
    """Return the name of an operator of torch or a function of Python."""
    if isinstance(target, torch._ops.OpOverload):
        return f"torch.ops.{target}"
    return f"{getattr(target, '__module__', '').replace('_operator', 'operator')}.{target.__name__}"


def function_named(name: str) -> Any:
    """Return the function that `name_of` named."""
    module, _, rest = name.partition(".")
    found: Any = torch if module == "torch" else importlib.import_module(module)
    for part in rest.split("."):
        found = getattr(found, part)
    return found


def plain(values: Any) -> Any:
    """Return containers of torch.fx as those of Python."""
    if isinstance(values, (Input, Parameter)):
        return values
    if isinstance(values, tuple):
        return tuple(map(plain, values))
    if isinstance(values, list):
        return [*map(plain, values)]
    return {name: plain(value) for name, value in values.items()} if isinstance(values, dict) else values


Calls = dict[int, tuple[OpaqueCall, ...]]  # calls of opaque operations by their attribute "target"


def folded(graph: ComputationGraph, calls: Calls, tensors: Mapping[str, Tensor]) -> tuple[ComputationGraph, Calls]:
    """Return the graph with fused opaque operations, and their calls.

    A fused operation runs later than before, with the last of its group. So random ones are not fused into later ones,
    and nothing is fused if any operation writes into its arguments.
    """
    if any(_writes(call) for some in calls.values() for call in some):
        return graph, calls
    last = _last(graph, calls)
    place: dict[int, int] = {}  # of a node among the new ones
    nodes: list[OperationNode] = []
    found: Calls = {}
    for number, node in enumerate(graph.nodes):
        if last.get(number, number) != number:
            continue
        if node.op == "opaque":
            group = [one for one in range(number + 1) if last.get(one) == number]
            target = cast(int, node.attributes["target"])
            node, found[target] = _joined(graph, group, calls, tensors)
        place[number] = len(nodes)
        nodes.append(replace(node, inputs=tuple(place[one] for one in node.inputs)))
    return ComputationGraph(tuple(nodes), tuple(place[one] for one in graph.outputs)), found


def _last(graph: ComputationGraph, calls: Calls) -> dict[int, int]:
    """Return the last operation of the group of each opaque operation; no other of a group is read outside of it."""
    last: dict[int, int] = {}
    for number in reversed(range(len(graph.nodes))):
        if graph.nodes[number].op == "opaque":
            ends = {last.get(one) for one in graph.users[number]}
            end = ends.pop() if len(ends) == 1 and number not in graph.outputs else None
            target = cast(int, graph.nodes[number].attributes["target"])
            last[number] = number if end is None or any(map(_random, calls[target])) else end
    return last


def _joined(
    graph: ComputationGraph, group: list[int], calls: Calls, tensors: Mapping[str, Tensor]
) -> tuple[OperationNode, tuple[OpaqueCall, ...]]:
    """Return a group as one operation, and its calls; inputs are numbers of the nodes before."""
    members = [graph.nodes[one] for one in group]
    inputs = list(dict.fromkeys(one for node in members for one in node.inputs if one not in group))
    slots = {one: i for i, one in enumerate([*inputs, *group])}
    steps = []
    for node in members:
        [call] = calls[cast(int, node.attributes["target"])]
        here = [slots[one] for one in node.inputs]
        steps.append(call._replace(arguments=_placed(call.arguments, here), keywords=_placed(call.keywords, here)))
    own = list(dict.fromkeys(name for node in members for name in (node.source or "").split("+") if name))
    flops = sum(cast(int, node.attributes.get("flops", 0)) for node in members)
    costs = {"flops": flops, "parameters": sum(tensors[name].numel() for name in own)}
    attributes = {"target": members[-1].attributes["target"]} | {name: count for name, count in costs.items() if count}
    return OperationNode("opaque", tuple(inputs), members[-1].shape, attributes, "+".join(own) or None), tuple(steps)


def _placed(values: Any, slots: list[int]) -> Any:
    """Return arguments whose inputs are at other places."""
    if isinstance(values, Input):
        return Input(slots[values.place])
    if isinstance(values, (list, tuple)) and not hasattr(values, "_fields"):
        return type(values)(_placed(one, slots) for one in values)
    return {name: _placed(one, slots) for name, one in values.items()} if isinstance(values, Mapping) else values


def _writes(call: OpaqueCall) -> bool:
    schema = getattr(function_named(call.target), "_schema", None)
    return schema is not None and any(one.alias_info and one.alias_info.is_write for one in schema.arguments)


def _random(call: OpaqueCall) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(function_named(call.target), "tags", ())
