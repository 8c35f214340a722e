"""A network as Python source that imports torch alone, with weights in a safetensors file."""

import json
import math
import struct
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from lamcts.neural.evolve.build import GraphNetwork
from lamcts.neural.evolve.calls import Input, OpaqueCall, Parameter
from lamcts.neural.evolve.operations import axis_of
from lamcts.neural.graphs.computation import OperationNode
from lamcts.neural.graphs.computation.kinds import pair

TYPES = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16"}
TYPES |= {torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8"}
TYPES |= {torch.bool: "BOOL"}
ALIGNMENT = 8  # bytes, of the header

FILE = '''"""A network that lamcts found.{about}

`load()` returns it with its weights, which are in {weights} in the safetensors format.
"""

import json
import operator  # noqa: F401
import struct
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional  # noqa: F401

WEIGHTS = Path(__file__).with_name({weights!r})
TYPES = {types}


class Network(nn.Module):
    def __init__(self):
        super().__init__()
{layers}

    def forward(self, v0):
{steps}


def load(weights=WEIGHTS):
    """Return the network with its weights, in training mode."""
    data = bytearray(Path(weights).read_bytes())
    (size,) = struct.unpack("<Q", data[:8])
    values = {{}}
    for name, about in json.loads(data[8 : 8 + size]).items():
        first, last = about["data_offsets"]
        part = data[8 + size + first : 8 + size + last]
        kind = TYPES[about["dtype"]]
        flat = torch.frombuffer(part, dtype=kind) if part else torch.empty(0, dtype=kind)
        values[name] = flat.reshape(about["shape"])
    net = Network()
    net.load_state_dict(values)
    return net
'''


def save_source(net: GraphNetwork, path: Path | str, about: str = "") -> Path:
    """Write a network as source, with its weights next to it."""
    path = Path(path)
    if path.suffix != ".py":
        raise ValueError(f"path: expected a file that ends in .py, got {path.name!r}")
    file = path.with_suffix(".safetensors")
    state = {name.removeprefix("own."): value for name, value in net.state_dict().items()}
    layers = [f"self.{key} = {_module(module)}" for key, module in net.own.items()]
    layers += [*_tied(net), *_opaque(net)]
    text = FILE.format(
        about=f" {about}" if about else "",
        weights=file.name,
        types="{" + ", ".join(f'"{name}": {kind}' for kind, name in TYPES.items()) + "}",
        layers="\n".join(f"        {line}" for line in layers) or "        pass",
        steps="\n".join(f"        {line}" for line in _steps(net)),
    )
    write_weights(file, state)
    path.write_text(text)
    return file


def write_weights(path: Path, state: dict[str, Tensor]) -> None:
    """Write tensors in the safetensors format: a header of JSON, and the bytes."""
    header, parts, at = {}, [], 0
    for name, value in state.items():
        part = bytes(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()) if value.numel() else b""
        about = {"dtype": TYPES[value.dtype], "shape": list(value.shape), "data_offsets": [at, at + len(part)]}
        header[name] = about
        parts.append(part)
        at += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def _module(module: nn.Module) -> str:
    """Return the expression that makes a module."""
    if isinstance(module, nn.Conv2d):
        settings = {"stride": module.stride, "padding": module.padding, "dilation": module.dilation}
        more = "".join(f", {name}={value}" for name, value in settings.items())
        size = f"{module.in_channels}, {module.out_channels}, {module.kernel_size}"
        return f"nn.Conv2d({size}{more}, groups={module.groups}, bias={module.bias is not None})"
    if isinstance(module, nn.Linear):
        return f"nn.Linear({module.in_features}, {module.out_features}, bias={module.bias is not None})"
    if isinstance(module, nn.LayerNorm):
        return f"nn.LayerNorm({tuple(module.normalized_shape)}, eps={module.eps})"
    if isinstance(module, nn.GroupNorm):
        return f"nn.GroupNorm({module.num_groups}, {module.num_channels}, eps={module.eps})"
    if isinstance(module, nn.PReLU):
        return f"nn.PReLU({module.num_parameters})"
    norm = cast(nn.BatchNorm2d, module)
    return f"nn.{type(norm).__name__}({norm.num_features}, eps={norm.eps}, momentum={norm.momentum})"


def _tied(net: GraphNetwork) -> list[str]:
    """Return the assignments of parameters that several modules share."""
    first: dict[int, str] = {}
    lines = []
    for name, value in net.own.named_parameters(remove_duplicate=False):
        other = first.setdefault(id(value), name)
        if other != name:
            lines.append(f"self.{name} = self.{other}")
    return lines


def _opaque(net: GraphNetwork) -> list[str]:
    """Return the statements that make the tensors of opaque operations."""
    lines = []
    for name, value in net.named_parameters(recurse=False):
        made = f"torch.empty({tuple(value.shape)}, dtype={value.dtype})"
        lines.append(f"self.{name} = nn.Parameter({made}, requires_grad={value.requires_grad})")
    for name, held in net.named_buffers(recurse=False):
        lines.append(f'self.register_buffer("{name}", torch.empty({tuple(held.shape)}, dtype={held.dtype}))')
    return lines


def _steps(net: GraphNetwork) -> list[str]:
    """Return the statements of the forward pass."""
    graph, names, lines = net.graph, dict[int, str](), []
    for number, (node, key) in enumerate(zip(graph.nodes, net.keys, strict=True)):
        given = [_arranged(names[one], net.last[one], net.last[number]) for one in node.inputs]
        names[number] = f"v{number}"
        if node.op == "input":
            names[number] = "v0"
        elif node.op == "opaque":
            calls = net.calls[cast(int, node.attributes["target"])]
            for i, call in enumerate(calls):
                given.append(f"v{number}_{i}" if i < len(calls) - 1 else f"v{number}")
                lines.append(f"{given[-1]} = {_call(call, given)}")
        elif key is not None:
            lines.append(f"v{number} = self.{key}({given[0]})")
        else:
            lines.append(f"v{number} = {_operation(node, given)}")
    return [*lines, "return " + ", ".join(_arranged(names[one], net.last[one], False) for one in graph.outputs)]


def _arranged(name: str, is_last: bool, last: bool) -> str:
    """Return the expression of a value with its channels in the axis where they are needed."""
    return name if is_last == last else f"{name}.movedim({'1, -1' if last else '-1, 1'})"


def _operation(node: OperationNode, given: list[str]) -> str:
    """Return the expression of an operation without parameters."""
    x, own = given[0], node.attributes
    if node.op in ("add", "mul"):
        return (" + " if node.op == "add" else " * ").join(given)
    if node.op == "concat":
        return f"torch.cat([{', '.join(given)}], {axis_of(node.shape)})"
    if node.op == "slice":
        start, stop = cast(int, own["start"]), cast(int, own["stop"])
        return f"{x}.narrow({axis_of(node.shape)}, {start}, {stop - start})"
    if node.op == "dropout":
        return f"functional.dropout({x}, {own.get('p', 0.5)}, self.training)"
    if node.op in ("max_pool", "avg_pool"):
        return _pool(node, x)
    plain = {
        "identity": x,
        "scale": f"{x} * {own.get('by')!r}",
        "shift": f"{x} + {own.get('by')!r}",
        "global_pool": f"functional.adaptive_avg_pool2d({x}, 1)",
        "flatten": f"{x}.flatten(1)",
        "sigmoid": f"torch.sigmoid({x})",
        "tanh": f"torch.tanh({x})",
    }
    more = "".join(f", {name}={value!r}" for name, value in own.items())
    return plain.get(node.op, f"functional.{node.op}({x}{more})")


def _pool(node: OperationNode, x: str) -> str:
    own = node.attributes
    kernel, stride, padding = pair(own, "kernel", 1), pair(own, "stride", 1), pair(own, "padding", 0)
    given = f"{x}, {kernel}, {stride}, {padding}"
    ceil = bool(own.get("ceil", False))
    if node.op == "avg_pool":
        return f"functional.avg_pool2d({given}, {ceil}, {bool(own.get('count_padding', True))})"
    return f"functional.max_pool2d({given}, {pair(own, 'dilation', 1)}, {ceil})"


def _call(call: OpaqueCall, given: list[str]) -> str:
    """Return the expression of a call."""
    arguments = [_value(one, given) for one in call.arguments]
    if call.training is not None:
        arguments[call.training] = "self.training"
    arguments += [f"{name}={_value(one, given)}" for name, one in call.keywords.items()]
    return f"{call.target}({', '.join(arguments)})"


def _value(one: Any, given: list[str]) -> str:
    """Return the expression of an argument of an opaque operation."""
    if isinstance(one, Input):
        return given[one.place]
    if isinstance(one, Parameter):
        return f"self.opaque_{one.name.replace('.', '_')}"
    if isinstance(one, list):
        return f"[{', '.join(_value(item, given) for item in one)}]"
    if isinstance(one, tuple):
        return f"({''.join(_value(item, given) + ', ' for item in one)})"
    if isinstance(one, torch.device):
        return f"torch.device({str(one)!r})"
    if isinstance(one, float) and not math.isfinite(one):
        return f"float({str(one)!r})"
    if one is None or isinstance(one, (bool, int, float, str, torch.dtype, torch.layout, torch.memory_format, slice)):
        return repr(one)
    raise ValueError(f"expected an argument that can be written as source, got {type(one).__name__}")
