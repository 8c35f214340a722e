"""Modules that compute a graph."""

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

from lamcts.neural.evolve.calls import Calls, Input, Parameter, function_named
from lamcts.neural.evolve.operations import channels_last, compute, module_of
from lamcts.neural.evolve.read import ReadModel
from lamcts.neural.graphs.computation import ComputationGraph, OperationNode

PARTS = ("weight", "bias", "running_mean", "running_var")  # tensors of a module, in the order of `source`


class GraphNetwork(nn.Module):
    """A network that computes a graph."""

    def __init__(
        self, graph: ComputationGraph, model: ReadModel, inherit: bool = True, seed: int | None = None
    ) -> None:
        super().__init__()
        self.graph = graph
        self.last = channels_last(graph)
        self.calls = model.calls
        self.functions = _functions(model.calls)
        self.own = nn.ModuleDict()
        self.shared: dict[str, str] = {}  # keys of modules by the names of their tensors in the module that was read
        with torch.random.fork_rng(devices=[], enabled=seed is not None):
            if seed is not None:
                torch.manual_seed(seed)
            self.keys = [self._module(number, node) for number, node in enumerate(graph.nodes)]
        known: dict[str, nn.Parameter] = {}
        for source, key in self.shared.items():
            for name, part in _parts(source, self.own[key]).items():
                own = getattr(self.own[key], part)
                if isinstance(own, nn.Parameter):
                    setattr(self.own[key], part, known.setdefault(name, own))
        if inherit:
            self._inherit(model.tensors)
        self._opaque_tensors(model.tensors)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles: functions are found again by their names."""
        return {name: value for name, value in self.__dict__.items() if name != "functions"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.functions = _functions(self.calls)

    def _module(self, number: int, node: OperationNode) -> str | None:
        """Make the module of a node, unless it is shared and there; return its key."""
        made = module_of(node, self.graph.nodes[node.inputs[0]].shape) if node.inputs else None
        if made is None:
            return None
        if node.source is None:
            self.own[f"new{number}"] = made
            return f"new{number}"
        if node.source in self.shared:
            return self.shared[node.source]
        name = node.source.split("+")[-1 if node.op in ("conv", "linear") else 0].rpartition(".")[0]
        key = name.replace(".", "_") or f"own{number}"
        key = f"layer{key}" if key[0].isdigit() else key
        while key in self.own:
            key += "_"
        self.own[key] = made
        self.shared[node.source] = key
        return key

    def _inherit(self, tensors: Mapping[str, Tensor]) -> None:
        for source, key in self.shared.items():
            values = self.own[key].state_dict()
            found = {part: tensors[name] for name, part in _parts(source, self.own[key]).items()}
            fitting = {part: value for part, value in found.items() if value.shape == values[part].shape}
            self.own[key].load_state_dict(fitting, strict=False)

    def _opaque_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        used = {node.attributes["target"] for node in self.graph.nodes if node.op == "opaque"}
        for number in sorted(cast(set[int], used)):
            for name in _parameters([(call.arguments, call.keywords) for call in self.calls[number]]):
                key = "opaque_" + name.replace(".", "_")
                if hasattr(self, key):
                    continue
                value = tensors[name].detach().clone()
                if isinstance(tensors[name], nn.Parameter):
                    self.register_parameter(key, nn.Parameter(value, tensors[name].requires_grad))
                else:
                    self.register_buffer(key, value)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the graph."""
        values: list[Any] = []
        for node, key, last in zip(self.graph.nodes, self.keys, self.last, strict=True):
            given = [self._arranged(values[one], self.last[one], last) for one in node.inputs]
            if node.op == "input":
                values.append(x)
            elif node.op == "opaque":
                values.append(self._call(cast(int, node.attributes["target"]), given))
            elif key is not None:
                values.append(self.own[key](given[0]))
            else:
                values.append(compute(node, given, self.training))
        found = tuple(self._arranged(values[one], self.last[one], False) for one in self.graph.outputs)
        return found[0] if len(found) == 1 else cast(Tensor, found)

    @staticmethod
    def _arranged(value: Any, is_last: bool, last: bool) -> Any:
        """Return a value with its channels in the axis where they are needed."""
        return value if is_last == last else value.movedim(1, -1) if last else value.movedim(-1, 1)

    def _call(self, number: int, given: list[Any]) -> Any:
        """Return the result of an opaque operation."""
        values = list(given)

        def value(one: Any) -> Any:
            if isinstance(one, Input):
                return values[one.place]
            if isinstance(one, Parameter):
                return getattr(self, "opaque_" + one.name.replace(".", "_"))
            if isinstance(one, (list, tuple)):
                return type(one)(map(value, one))
            return {name: value(item) for name, item in one.items()} if isinstance(one, dict) else one

        for call, function in zip(self.calls[number], self.functions[number], strict=True):
            arguments = [value(one) for one in call.arguments]
            if call.training is not None:
                arguments[call.training] = self.training
            values.append(function(*arguments, **{name: value(one) for name, one in call.keywords.items()}))
        return values[-1]


def _functions(calls: Calls) -> dict[int, list[Any]]:
    return {number: [function_named(call.target) for call in some] for number, some in calls.items()}


def _parts(source: str, module: nn.Module) -> dict[str, str]:
    """Return the parts of a module ("weight", "bias") by the names of its tensors in the module that was read."""
    return dict(
        zip(source.split("+"), (part for part in PARTS if getattr(module, part, None) is not None), strict=True)
    )


def _parameters(values: Any) -> list[str]:
    """Return the names of the parameters in the arguments of a call."""
    if isinstance(values, Parameter):
        return [values.name]
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, (list, tuple)) and not isinstance(values, Input):
        return [name for one in values for name in _parameters(one)]
    return []
