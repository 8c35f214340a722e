"""Kinds of operations of a computation graph, and the shapes that they return.

A shape has no batch axis: (channels, height, width) of an image, (tokens, channels) or (channels,) otherwise.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Shape = tuple[int, ...]
Attribute = int | float | str | bool | tuple[int, ...]
Attributes = Mapping[str, Attribute]
IMAGE = 3  # axes of an image


class OperationKind(NamedTuple):
    """Properties of a kind of operation."""

    inputs: int | None = 1  # number of input values; None for two or more
    resizes: bool = False  # whether a stride may reduce height and width ("mutable" in AutoGO 3.2)
    sets_channels: bool = False
    parameters: bool = False  # whether it has parameters
    commutes: bool = False  # whether the order of the inputs has no effect


POINTWISE = [
    "relu",
    "relu6",
    "hardtanh",
    "leaky_relu",
    "elu",
    "gelu",
    "silu",
    "sigmoid",
    "tanh",
    "hardswish",
    "hardsigmoid",
    "softplus",
    "mish",
    "scale",
    "shift",
    "dropout",
    "identity",
]
# of a graph, by name
OPERATIONS: dict[str, OperationKind] = {
    "input": OperationKind(inputs=0),
    "conv": OperationKind(resizes=True, sets_channels=True, parameters=True),
    "linear": OperationKind(sets_channels=True, parameters=True),
    "max_pool": OperationKind(resizes=True),
    "avg_pool": OperationKind(resizes=True),
    "global_pool": OperationKind(),
    "batch_norm": OperationKind(parameters=True),
    "layer_norm": OperationKind(parameters=True),
    "group_norm": OperationKind(parameters=True),
    "prelu": OperationKind(parameters=True),
    "flatten": OperationKind(),
    "slice": OperationKind(),
    "add": OperationKind(inputs=None, commutes=True),
    "mul": OperationKind(inputs=None, commutes=True),
    "concat": OperationKind(inputs=None),
    "opaque": OperationKind(inputs=None),
    **{name: OperationKind() for name in POINTWISE},
}


def channels(shape: Shape) -> int:
    """Return the number of channels of a shape: the first axis of an image, else the last; 1 of a scalar."""
    return shape[0] if len(shape) == IMAGE else shape[-1] if shape else 1


def with_channels(shape: Shape, count: int) -> Shape:
    """Return a shape with another number of channels."""
    return (count, *shape[1:]) if len(shape) == IMAGE else (*shape[:-1], count) if shape else shape


def output_shape(op: str, attributes: Attributes, shapes: Sequence[Shape]) -> Shape:
    """Return the shape of an operation's output."""
    kind, first = OPERATIONS[op], shapes[0]
    if kind.inputs is not None and len(shapes) != kind.inputs:
        raise ValueError(f"{op}: expected {kind.inputs} input, got {len(shapes)}")
    if kind.resizes:
        if len(first) != IMAGE:
            raise ValueError(f"{op}: expected an image (channels, height, width), got shape {first}")
        count = int(attributes["channels"]) if kind.sets_channels else first[0]  # type: ignore[arg-type]
        return (count, *_resized(op, attributes, first[1:]))
    if op == "linear":
        return with_channels(first, int(attributes["channels"]))  # type: ignore[arg-type]
    if op == "slice":
        start, stop = int(attributes["start"]), int(attributes["stop"])  # type: ignore[arg-type]
        if not 0 <= start < stop <= channels(first):
            raise ValueError(f"{op}: expected some of {channels(first)} channels, got {start} to {stop}")
        return with_channels(first, stop - start)
    if op == "global_pool":
        return (first[0], 1, 1)
    if op == "flatten":
        return (math.prod(first),)
    if op == "concat":
        return _concatenated(shapes)
    if op == "prelu" and len(first) not in (1, IMAGE):  # of torch, whose channels are the second axis
        raise ValueError(f"{op}: expected an image or a vector, got shape {first}")
    if op == "group_norm" and (len(first) != IMAGE or first[0] % int(attributes["groups"])):  # type: ignore[arg-type]
        raise ValueError(f"{op}: expected an image with channels in {attributes['groups']} groups, got shape {first}")
    largest = max(shapes, key=math.prod)  # an image of one pixel counts for each pixel, as in squeeze and excitation
    for shape in shapes:
        if shape != largest and shape != (*largest[:1], *(1 for _ in largest[1:])):
            raise ValueError(f"{op}: expected inputs of one shape, got {', '.join(map(str, shapes))}")
    return largest


def _resized(op: str, attributes: Attributes, size: Shape) -> Shape:
    """Return height and width after a window with kernel, stride, padding and dilation."""
    sides = []
    for axis, side in enumerate(size):
        kernel, stride, padding, dilation = (
            pair(attributes, name, default)[axis]
            for name, default in (("kernel", 1), ("stride", 1), ("padding", 0), ("dilation", 1))
        )
        room = side + 2 * padding - dilation * (kernel - 1) - 1
        if room < 0:
            raise ValueError(f"{op}: a kernel of {kernel} does not fit into {side} pixels with a padding of {padding}")
        sides.append((-(-room // stride) if attributes.get("ceil") else room // stride) + 1)
    return tuple(sides)


def pair(attributes: Attributes, name: str, default: int) -> tuple[int, int]:
    """Return an attribute of height and width; one number counts for both."""
    value = attributes.get(name, default)
    return (value[0], value[-1]) if isinstance(value, tuple) else (int(value), int(value))


def _concatenated(shapes: Sequence[Shape]) -> Shape:
    if len({with_channels(shape, 0) for shape in shapes}) > 1:
        raise ValueError(f"concat: expected shapes that differ in channels alone, got {', '.join(map(str, shapes))}")
    return with_channels(shapes[0], sum(map(channels, shapes)))
