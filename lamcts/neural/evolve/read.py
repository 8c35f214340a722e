"""A module as a computation graph, by `torch.export`.

Operations that are not known are opaque: they are computed as they are and never replaced, so that every model that
can be exported can be read.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, cast

import torch
from torch import Tensor, fx, nn
from torch.export import Dim, ExportedProgram, export
from torch.utils.flop_counter import FlopCounterMode

from lamcts.neural.evolve.calls import Calls, Input, OpaqueCall, Parameter, folded, function_named, name_of, plain
from lamcts.neural.evolve.operations import OF_PIXELS, OPAQUE, TENSORS, Known, axis_of, known
from lamcts.neural.graphs.computation import ComputationGraph, OperationNode
from lamcts.neural.graphs.computation.kinds import IMAGE, Attribute, Shape

CURE = "keep forward to operations of torch on tensors, and do other work outside of the module"
LAST, FIRST = [0, 2, 3, 1], [0, 3, 1, 2]  # orders of an image's axes: channels last, and first again
WHOLE = 2**63 - 1  # end of a slice without one
CUTS = ("chunk", "split", "split_with_sizes", "tensor_split")
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\w+)')


@dataclass(frozen=True, eq=False)
class ReadModel:
    """A module that was read."""

    graph: ComputationGraph
    calls: Calls = field(repr=False)
    tensors: dict[str, Tensor] = field(repr=False)  # parameters, buffers and constants of the module by name

    @property
    def names(self) -> dict[int, str]:
        """Short names of the opaque operations by their attribute "target": of the last call that is not a view."""
        return {number: _short(_main(calls).target) for number, calls in self.calls.items()}

    @property
    def opaque(self) -> list[str]:
        """Names of the opaque operations, each once."""
        calls = (call for some in self.calls.values() for call in some)
        return list(dict.fromkeys(call.target.removeprefix("torch.ops.") for call in calls))


def _main(calls: Sequence[OpaqueCall]) -> OpaqueCall:
    return next((one for one in reversed(calls) if not _is_view(function_named(one.target))), calls[-1])


def _short(target: str) -> str:
    """Return the name of a function without its modules and its overload."""
    parts = target.split(".")
    return parts[3] if target.startswith("torch.ops.") else parts[-1]


class UnreadableModel(ValueError):
    """A module cannot be read as a graph; the message names the line."""


def read(model: nn.Module, batch: Tensor) -> ReadModel:
    """Return a module's computation graph.

    Parameters
    ----------
    model : torch.nn.Module
        Takes one tensor and returns one. Its mode (training or evaluation) is left as it is.
    batch : Tensor of shape (n, ...)
        Two examples or more.

    Raises
    ------
    UnreadableModel
        If the control flow depends on data; the message names the line.
    ValueError
        If the batch has fewer than two examples.
    """
    if batch.ndim < 2 or len(batch) < 2:
        raise ValueError(f"batch: expected two examples or more along the first axis, got shape {tuple(batch.shape)}")
    return _Reader(_exported(model, batch), batch).read()


def _exported(model: nn.Module, batch: Tensor) -> ExportedProgram:
    """Return the program of a module in evaluation mode, for any size of the batch if the module allows it."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        return export(model, (batch,), dynamic_shapes=({0: Dim.AUTO},))
    except Exception as error:  # torch.export raises many types
        raise UnreadableModel(f"the model cannot be exported: {_cause(error)}") from error
    finally:
        for module, mode in modes.items():
            module.training = mode


def _cause(error: Exception) -> str:
    """Return the first line of an error of torch.export, and the line of the model that it names."""
    text = str(error)
    frames = [found.groupdict() for found in FRAME.finditer(text)]
    first = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    if "data-dependent" in first:
        first = "its control flow depends on data; compute with torch.where, or move the branch out of forward"
    else:
        first += f"; {CURE}"
    return f"{frames[-1]['file']}, line {frames[-1]['line']}: {first}" if frames else first


class _Reader:
    """The state of one reading: nodes so far, and which value is computed by which node."""

    def __init__(self, program: ExportedProgram, examples: Tensor) -> None:
        self.program, self.examples = program, examples
        signature = program.graph_signature
        self.trained = signature.inputs_to_parameters
        self.names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        self.names |= signature.inputs_to_lifted_tensor_constants
        self.tensors: dict[str, Tensor] = {**program.state_dict, **program.constants}
        self.nodes: list[OperationNode] = []
        self.calls: Calls = {}
        self.place: dict[fx.Node, int] = {}  # values of the program by node
        self.last: dict[fx.Node, int | None] = {}  # images with channels in the last axis, and where they are made so
        self.pixels: set[fx.Node] = set()  # of these, those that were computed so
        self.parts: dict[fx.Node, list[dict[str, Attribute]]] = {}  # slices of values that are cut along the channels
        self.stands: dict[fx.Node, fx.Node] = {}  # a value that was changed in place, by what it is since
        self.batch: Any = None

    @cached_property
    def flops(self) -> dict[str, int]:
        """Floating-point operations of one example by name of the node."""
        tensors = {name: self.tensors[own] for name, own in self.names.items()}
        return counted(self.program.graph_module, tensors, self.examples)

    def read(self) -> ReadModel:
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self._input(node)
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                values = [self._placed(self._now(one)) for one in node.args[0]]
        graph, calls = folded(ComputationGraph(tuple(self.nodes), tuple(values)), self.calls, self.tensors)
        return ReadModel(graph, calls, self.tensors)

    def _input(self, node: fx.Node) -> None:
        if node.name in self.names:
            return
        if self.batch is not None:
            raise UnreadableModel("expected a model that takes one tensor, got one that takes several")
        shape = node.meta["val"].shape
        self.batch = shape[0]
        self._add(node, OperationNode("input", (), _whole(shape[1:])))

    def _add(self, node: fx.Node, *added: OperationNode) -> None:
        self.nodes += added
        self.place[node] = len(self.nodes) - 1

    def _now(self, node: fx.Node) -> fx.Node:
        while node in self.stands:
            node = self.stands[node]
        return node

    def _call(self, node: fx.Node) -> None:
        target: Any = node.target
        schema = getattr(target, "_schema", None)
        name = "" if schema is None else schema.name.split("::")[1].rstrip("_")
        given = [] if schema is None else _arguments(node, schema)
        if self._is_arranged(node, name, given):
            return
        found, shape, maps = OPAQUE, self._shape(node), False
        written = schema is not None and any(one.alias_info and one.alias_info.is_write for one in schema.arguments)
        if schema is not None and shape is not None and not (written and self._is_seen_elsewhere(node)):
            shapes = [one for read in self._tensors_read(node) if (one := self._shape(read)) is not None]
            if len(shapes) == len(self._tensors_read(node)):
                maps = self._are_maps(node, name, [*shapes, shape])
                tokens = [(one[0] * one[1], one[2]) for one in (*shapes, shape)] if maps else [*shapes, shape]
                found = known(name, given, tokens[:-1], tokens[-1])
        if found.op == "opaque":
            self._opaque(node)
        elif maps:
            self.last[node] = None
            self.pixels.add(node)
            self._known(node, found, name, (*shape[2:], *shape[:2]) if shape else (), self.place.__getitem__)
        else:
            self._known(node, found, name, shape or (), self._placed)
        if written and isinstance(node.args[0], fx.Node):
            self.stands[self._now(node.args[0])] = node

    def _is_arranged(self, node: fx.Node, name: str, given: Sequence[Any]) -> bool:
        """Read an order of axes, a slice of all, a cut along the channels or a part of it; False for other calls."""
        source = self._now(node.args[0]) if node.args and isinstance(node.args[0], fx.Node) else None
        if source in self.parts:
            part = self.parts[source][cast(int, node.args[1])]
            self._add(node, OperationNode("slice", (self.place[source],), self._shape(node) or (), part))
            return True
        if source not in self.place or (shape := self._shape(source)) is None:
            return False
        if name == "permute" and len(shape) == IMAGE:
            order = [axis % (IMAGE + 1) for axis in given[1]]
            if order != (FIRST if source in self.last else LAST):
                return False
            if source not in self.last:
                self.last[node] = None
            self.place[node] = self.place[source]
            return True
        if source in self.last:
            return False
        if name == "slice" and given[1] == 0 and not given[2] and given[3] in (None, WHOLE) and given[4] == 1:
            self.place[node] = self.place[source]
            return True
        axis = axis_of(shape)
        parted = name in CUTS and all(user.target is operator.getitem for user in node.users)
        if not parted or given[2] % (len(shape) + 1) != axis:
            return False
        ends = list(accumulate((one.shape[axis] for one in node.meta["val"]), initial=0))
        self.parts[node] = [{"start": start, "stop": stop} for start, stop in pairwise(ends)]
        self.place[node] = self.place[source]
        return True

    def _are_maps(self, node: fx.Node, name: str, shapes: Sequence[Shape]) -> bool:
        """Whether a call computes each pixel of images whose channels are in the last axis."""
        read = self._tensors_read(node)
        same = len({one[:2] for one in shapes}) == 1 and all(len(one) == IMAGE for one in shapes)
        ready = self.last if name in ("linear", "layer_norm") else self.pixels
        return name in OF_PIXELS and bool(read) and all(one in ready for one in read) and same

    def _placed(self, one: fx.Node) -> int:
        """Return the node that computes a value as the program has it: for some, by an order of axes that is made."""
        if one not in self.last:
            return self.place[one]
        if (made := self.last[one]) is None:
            number, channels, *pixels = len(self.calls), *self.nodes[self.place[one]].shape
            self.calls[number] = (OpaqueCall("torch.ops.aten.permute.default", (Input(0), LAST), {}, None),)
            self.nodes.append(OperationNode("opaque", (self.place[one],), (*pixels, channels), {"target": number}))
            made = self.last[one] = len(self.nodes) - 1
        return made

    def _tensors_read(self, node: fx.Node) -> list[fx.Node]:
        """Return the values that a call reads, in the order of its arguments, one that is read twice twice."""
        found: list[fx.Node] = []
        fx.node.map_arg((node.args, node.kwargs), lambda one: found.append(self._now(one)))
        return [one for one in found if one.name not in self.names]

    def _is_seen_elsewhere(self, node: fx.Node) -> bool:
        """Whether what a call changes in place is a view of another value, or has views."""
        changed = node.args[0]
        if not isinstance(changed, fx.Node) or changed.target is operator.getitem:
            return True
        return _is_view(changed.target) or any(_is_view(user.target) for user in changed.users)

    def _shape(self, node: fx.Node) -> Shape | None:
        """Return a value's shape without the batch axis, or None if it has none."""
        value = node.meta.get("val")
        if not isinstance(value, Tensor) or not value.ndim or str(value.shape[0]) != str(self.batch):
            return None
        try:
            return _whole(value.shape[1:])
        except ValueError:
            return None

    def _known(self, node: fx.Node, found: Known, name: str, shape: Shape, placed: Callable[[fx.Node], int]) -> None:
        places = tuple(placed(one) for one in self._tensors_read(node))
        attributes, source = dict(found.attributes), None
        if name in TENSORS:
            given = {part: _named(node, at, self.names) for part, at in TENSORS[name].items()}
            if given["weight"] is None:
                self.last.pop(node, None)
                self.pixels.discard(node)
                self._opaque(node)
                return
            attributes |= self._sizes(found.op, given["weight"], given.get("bias") is not None)
            source = "+".join(one for one in given.values() if one is not None)
        first, *rest = found.op.split("+")
        if rest:
            here = OperationNode(first, places, (shape[0], 1, 1))
            self.nodes.append(here)
            self._add(node, OperationNode(rest[0], (len(self.nodes) - 1,), shape))
        else:
            self._add(node, OperationNode(first, places, shape, attributes, source))

    def _sizes(self, op: str, source: str, bias: bool) -> dict[str, Any]:
        if op == "conv":
            height, width = self.tensors[source].shape[2:]
            return {"kernel": (height, width), "bias": bias}
        if op == "prelu":
            return {"shared": self.tensors[source].numel() == 1}
        return {"bias": bias} if op == "linear" else {"affine": True}

    def _opaque(self, node: fx.Node) -> None:
        inputs = [self._now(one) for one in node.all_input_nodes if one.name not in self.names]
        unique = list(dict.fromkeys(inputs))
        slot = {one: Input(i) for i, one in enumerate(unique)}

        def template(one: fx.Node) -> Any:
            return Parameter(self.names[one.name]) if one.name in self.names else slot[self._now(one)]

        places = tuple(self._placed(one) for one in unique)
        arguments = plain(fx.node.map_arg(node.args, template))
        keywords = plain(fx.node.map_arg(node.kwargs, template))
        number = len(self.calls)
        self.calls[number] = (OpaqueCall(name_of(node.target), arguments, keywords, _training(node)),)
        value = node.meta.get("val")
        shape = self._shape(node) or (tuple(map(_size, value.shape)) if isinstance(value, Tensor) else ())
        own = [self.names[one.name] for one in node.all_input_nodes if one.name in self.trained]
        costs = {"flops": self.flops[node.name], "parameters": sum(self.tensors[name].numel() for name in own)}
        attributes = {"target": number} | {name: count for name, count in costs.items() if count}
        self._add(node, OperationNode("opaque", places, shape, attributes, "+".join(own) or None))


def _named(node: fx.Node, at: int, names: Mapping[str, str]) -> str | None:
    """Return the name of the parameter or buffer that an argument is, or None."""
    value = node.args[at] if at < len(node.args) else None
    return names.get(value.name) if isinstance(value, fx.Node) else None


def _arguments(node: fx.Node, schema: Any) -> list[Any]:
    """Return all arguments of a call in the order of the schema, with defaults; tensors are None."""
    given = dict(zip((one.name for one in schema.arguments), node.args, strict=False)) | dict(node.kwargs)
    values = [given.get(one.name, one.default_value) for one in schema.arguments]
    return [None if isinstance(value, fx.Node) else value for value in values]


def _is_view(function: Any) -> bool:
    """Whether a function returns a view of its input."""
    schema = getattr(function, "_schema", None)
    return schema is not None and any(one.alias_info and not one.alias_info.is_write for one in schema.returns)


def _training(node: fx.Node) -> int | None:
    """Return the place of the argument that says whether the network is trained."""
    schema = getattr(node.target, "_schema", None)
    names = [] if schema is None else [one.name for one in schema.arguments]
    places = [names.index(one) for one in ("training", "train") if one in names]
    return places[0] if places and places[0] < len(node.args) else None


def _whole(shape: Sequence[Any]) -> Shape:
    if any(not isinstance(side, int) for side in shape):
        raise ValueError(f"expected a fixed shape, got {tuple(shape)}")
    return tuple(shape)


def _size(side: Any) -> int:
    return side if isinstance(side, int) else -1


RECURRENT = ("aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input")


class _Counting(fx.Interpreter):
    """Runs a graph, and counts the operations of each call by the name of its node."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.found: dict[str, int] = {}

    def run_node(self, n: fx.Node) -> Any:
        with FlopCounterMode(display=False) as counter:
            result = super().run_node(n)
        self.found[n.name] = counter.get_total_flops() or self._recurrent(n)
        return result

    def _recurrent(self, n: fx.Node) -> int:
        """Return the operations of the products of a recurrent layer, which torch does not count; 0 for others."""
        if str(n.target) not in RECURRENT:
            return 0
        x, _, weights = self.fetch_args_kwargs_from_env(n)[0][:3]
        return int(2 * (x.numel() // x.shape[-1]) * sum(one.numel() for one in weights if one.ndim > 1))


@torch.no_grad()
def counted(module: fx.GraphModule, tensors: Mapping[str, Tensor], batch: Tensor) -> dict[str, int]:
    """Return the floating-point operations of one example by name of the node."""
    running = _Counting(module)
    inputs = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):  # of a model that is noisy
        running.run(*(tensors.get(name, batch).clone() for name in inputs))
    return {name: count // len(batch) for name, count in running.found.items()}
