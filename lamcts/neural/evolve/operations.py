"""Operations of torch by their names in a graph: what is read as which operation, and how it is computed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.graphs.computation import ComputationGraph, OperationNode, kinds
from lamcts.neural.graphs.computation.kinds import IMAGE, Attribute, Shape, channels, pair

TENSORS = {  # of a read operation: places of its parameters and buffers among the arguments, by name in the module
    "conv2d": {"weight": 1, "bias": 2},
    "linear": {"weight": 1, "bias": 2},
    "batch_norm": {"weight": 1, "bias": 2, "running_mean": 3, "running_var": 4},
    "layer_norm": {"weight": 2, "bias": 3},
    "group_norm": {"weight": 2, "bias": 3},
    "prelu": {"weight": 1},
}


class Known(NamedTuple):
    """What an operation of torch is in a graph; `op` is empty for an opaque one."""

    op: str
    attributes: dict[str, Attribute]


OPAQUE = Known("opaque", {})


def known(name: str, arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    """Return the operation of a graph that an operation of torch is, or `OPAQUE`."""
    reader = READERS.get(name)
    return OPAQUE if reader is None or not shapes else reader(arguments, shapes, result)


def _pair(value: Any) -> tuple[int, int]:
    return (int(value[0]), int(value[-1]))


def _conv(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    if len(shapes[0]) != IMAGE or len(shapes) != 1 or isinstance(arguments[4], str):
        return OPAQUE
    names = ("stride", "padding", "dilation")
    settings: dict[str, Attribute] = {n: _pair(value) for n, value in zip(names, arguments[3:6], strict=True)}
    return Known("conv", {"channels": result[0], **settings, "groups": int(arguments[6])})


def _linear(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    plain = len(shapes) == 1 and len(shapes[0]) in (1, 2)
    return Known("linear", {"channels": result[-1]}) if plain else OPAQUE


def _batch_norm(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    if len(shapes) != 1 or len(result) not in (1, IMAGE):
        return OPAQUE
    return Known("batch_norm", {"momentum": float(arguments[6]), "eps": float(arguments[7])})


def _layer_norm(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    plain = len(shapes) == 1 and len(result) in (1, 2) and list(arguments[1]) == [result[-1]]
    return Known("layer_norm", {"eps": float(arguments[4])}) if plain else OPAQUE


def _group_norm(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    plain = len(shapes) == 1 and len(result) == IMAGE
    return Known("group_norm", {"groups": int(arguments[1]), "eps": float(arguments[4])}) if plain else OPAQUE


def _prelu(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    """Return a PReLU of images or vectors; tokens have their channels in another axis than torch's PReLU."""
    return Known("prelu", {}) if len(shapes) == 1 and len(result) in (1, IMAGE) else OPAQUE


def _pool(op: str, arguments: Sequence[Any], shapes: Sequence[Shape]) -> Known:
    if len(shapes[0]) != IMAGE:
        return OPAQUE
    kernel, stride, padding = _pair(arguments[1]), arguments[2], arguments[3]
    settings: dict[str, Attribute] = {"kernel": kernel, "stride": _pair(stride) if len(stride) else kernel}
    settings["padding"] = _pair(padding)
    if op == "max_pool":
        return Known(op, settings | {"dilation": _pair(arguments[4]), "ceil": bool(arguments[5])})
    if arguments[6] is not None:  # a divisor of the user's
        return OPAQUE
    return Known(op, settings | {"ceil": bool(arguments[4]), "count_padding": bool(arguments[5])})


def _global_pool(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    return Known("global_pool", {}) if len(shapes[0]) == IMAGE and result[1:] == (1, 1) else OPAQUE


def _mean(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    axes = sorted(axis % (len(shapes[0]) + 1) for axis in arguments[1] or ())
    if len(shapes[0]) != IMAGE or axes != [2, 3] or arguments[3] is not None:
        return OPAQUE
    return Known("global_pool" if len(result) == IMAGE else "global_pool+flatten", {})


def _flatten(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    return Known("flatten", {}) if len(shapes) == 1 and len(result) == 1 else OPAQUE


def _combined(op: str, arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    if len(shapes) < 2 or any(one not in (result, (*result[:1], *(1 for _ in result[1:]))) for one in shapes):
        return OPAQUE
    return OPAQUE if op == "add" and len(arguments) > 2 and arguments[2] != 1 else Known(op, {})


def _sum_or_product(op: str, arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    """Return a sum or a product of values, or of a value and a number."""
    number = arguments[1]
    if len(shapes) != 1 or not isinstance(number, (int, float)) or arguments[0] is not None or shapes[0] != result:
        return OPAQUE if op == "sub" else _combined(op, arguments, shapes, result)
    if len(arguments) > 2 and arguments[2] != 1:
        return OPAQUE
    return Known("scale" if op == "mul" else "shift", {"by": -number if op == "sub" else number})


def _hardtanh(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    """Return the clipping of values, which is what torch exports a ReLU6 as."""
    ends = tuple(map(float, arguments[1:3]))
    if len(shapes) != 1:
        return OPAQUE
    return Known("relu6", {}) if ends == (0.0, 6.0) else Known("hardtanh", {"min_val": ends[0], "max_val": ends[1]})


def _slice(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    axis = int(arguments[1]) % (len(result) + 1)
    if len(shapes) != 1 or arguments[4] != 1 or axis != axis_of(result):
        return OPAQUE
    ends = slice(*arguments[2:4]).indices(channels(shapes[0]))
    return Known("slice", {"start": ends[0], "stop": ends[1]})


def axis_of(shape: Shape) -> int:
    """Return the axis of the channels, the batch axis counted."""
    return 1 if len(shape) == IMAGE else len(shape)


def _concat(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
    axis = int(arguments[1]) % (len(result) + 1)
    return Known("concat", {}) if len(shapes) > 1 and axis == axis_of(result) else OPAQUE


def _pointwise(op: str, *names: str) -> "Reader":
    def reader(arguments: Sequence[Any], shapes: Sequence[Shape], result: Shape) -> Known:
        if len(shapes) != 1:
            return OPAQUE
        return Known(op, dict(zip(names, arguments[1:], strict=False)))

    return reader


Reader = Callable[[Sequence[Any], Sequence[Shape], Shape], Known]
READERS: dict[str, Reader] = {
    "conv2d": _conv,
    "linear": _linear,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "group_norm": _group_norm,
    "prelu": _prelu,
    "max_pool2d": lambda arguments, shapes, _: _pool("max_pool", arguments, shapes),
    "avg_pool2d": lambda arguments, shapes, _: _pool("avg_pool", arguments, shapes),
    "adaptive_avg_pool2d": _global_pool,
    "mean": _mean,
    "flatten": _flatten,
    "view": _flatten,
    "reshape": _flatten,
    "add": lambda *given: _sum_or_product("add", *given),
    "sub": lambda *given: _sum_or_product("sub", *given),
    "mul": lambda *given: _sum_or_product("mul", *given),
    "cat": _concat,
    "slice": _slice,
    "relu": _pointwise("relu"),
    "relu6": _pointwise("relu6"),
    "hardtanh": _hardtanh,
    "leaky_relu": _pointwise("leaky_relu", "negative_slope"),
    "elu": _pointwise("elu", "alpha"),
    "gelu": _pointwise("gelu", "approximate"),
    "silu": _pointwise("silu"),
    "sigmoid": _pointwise("sigmoid"),
    "tanh": _pointwise("tanh"),
    "hardswish": _pointwise("hardswish"),
    "hardsigmoid": _pointwise("hardsigmoid"),
    "softplus": _pointwise("softplus", "beta", "threshold"),
    "mish": _pointwise("mish"),
    "dropout": _pointwise("dropout", "p"),
}
OF_PIXELS = {"linear", "layer_norm", "add", "sub", "mul", *kinds.POINTWISE}  # one pixel at a time, by torch's names
OTHER = {"sigmoid", "tanh", "scale", "shift", "dropout", "identity"}  # not functions of torch.nn.functional
POINTWISE: dict[str, Callable[..., Tensor]] = {
    name: getattr(functional, name) for name in kinds.POINTWISE if name not in OTHER
} | {"sigmoid": torch.sigmoid, "tanh": torch.tanh}


def module_of(node: OperationNode, before: Shape) -> nn.Module | None:
    """Return a new module with the parameters of a node, given the shape of its input; None if it has none."""
    own = node.attributes
    bias = bool(own.get("bias", True))
    if node.op == "conv":
        kernel, stride, padding, dilation = (pair(own, name, default) for name, default in WINDOW.items())
        groups = int(own.get("groups", 1))  # type: ignore[arg-type]
        return nn.Conv2d(before[0], node.shape[0], kernel, stride, padding, dilation, groups, bias)
    if node.op == "linear":
        return nn.Linear(channels(before), channels(node.shape), bias=bias)
    affine, eps = bool(own.get("affine", True)), float(own.get("eps", 1e-5))  # type: ignore[arg-type]
    if node.op == "batch_norm":
        kind = nn.BatchNorm2d if len(node.shape) == IMAGE else nn.BatchNorm1d
        return kind(channels(node.shape), eps, float(own.get("momentum", 0.1)), affine)  # type: ignore[arg-type]
    if node.op == "group_norm":
        return nn.GroupNorm(int(own["groups"]), channels(node.shape), eps, affine)  # type: ignore[arg-type]
    if node.op == "prelu":
        return nn.PReLU(1 if own.get("shared") else channels(node.shape))
    return nn.LayerNorm(channels(node.shape), eps, affine) if node.op == "layer_norm" else None


def channels_last(graph: ComputationGraph) -> list[bool]:
    """Return whether each value is an image that is computed with its channels in the last axis."""
    found: list[bool] = []
    for node in graph.nodes:
        pixels = node.op in ("add", "mul", *kinds.POINTWISE) and all(found[one] for one in node.inputs)
        found.append(len(node.shape) == IMAGE and (node.op in ("linear", "layer_norm") or pixels))
    return found


# settings of a convolution with their defaults
WINDOW = {"kernel": 1, "stride": 1, "padding": 0, "dilation": 1}


def compute(node: OperationNode, values: Sequence[Tensor], training: bool) -> Tensor:
    """Return the output of a node without parameters."""
    x, own = values[0], node.attributes
    if node.op in POINTWISE:
        return POINTWISE[node.op](x, **own)
    if node.op == "dropout":
        return functional.dropout(x, float(own.get("p", 0.5)), training)  # type: ignore[arg-type]
    if node.op in ("max_pool", "avg_pool"):
        kernel, stride, padding = pair(own, "kernel", 1), pair(own, "stride", 1), pair(own, "padding", 0)
        ceil = bool(own.get("ceil", False))
        if node.op == "avg_pool":
            return functional.avg_pool2d(x, kernel, stride, padding, ceil, bool(own.get("count_padding", True)))
        return functional.max_pool2d(x, kernel, stride, padding, pair(own, "dilation", 1), ceil)
    if node.op in ("add", "mul"):
        for other in values[1:]:
            x = x + other if node.op == "add" else x * other
        return x
    if node.op == "concat":
        return torch.cat(list(values), axis_of(node.shape))
    if node.op == "slice":
        start, stop = int(own["start"]), int(own["stop"])  # type: ignore[arg-type]
        return x.narrow(axis_of(node.shape), start, stop - start)
    number: Any = own.get("by")  # a whole one leaves whole values whole
    plain: Mapping[str, Callable[[], Tensor]] = {
        "identity": lambda: x,
        "scale": lambda: x * number,
        "shift": lambda: x + number,
        "global_pool": lambda: functional.adaptive_avg_pool2d(x, 1),
        "flatten": lambda: x.flatten(1),
    }
    return plain[node.op]()
