"""The min-cut partitioner of `torch.compile` under `activation_memory_budget`. Needs torch.

This file holds all uses of torch's private functions, which may change with any release; `missing` names one that is
absent.
"""

import copy
import importlib
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.fx import Graph, GraphModule, Node
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import flop_registry

from lamcts.neural.graphs import Step, StepGraph, Storage
from lamcts.neural.graphs import Tensor as Named
from lamcts.neural.graphs.steps import Role
from lamcts.neural.trace.module import Loss, faked, scalar
from lamcts.neural.trace.recorder import Args, Kwargs

TESTED = "2.13"  # the tested release; others may work
NAMES = {
    "torch._functorch.aot_autograd": ("aot_function",),
    "torch._functorch.partitioners": ("min_cut_rematerialization_partition",),
    "torch._functorch.config": ("activation_memory_budget", "patch"),
    "torch.fx.experimental.symbolic_shapes": ("optimization_hint",),
}


@dataclass(frozen=True, eq=False)
class Partition:
    """A training step as a forward and a backward graph.

    budget: of saved bytes, 0 to 1. forward, backward: graph modules; the forward one returns `outputs` results and then
    the saved tensors. given: fake parameters, buffers and inputs, in the order of its arguments. tangents: the fake
    gradient of the loss.
    """

    budget: float
    forward: GraphModule
    backward: GraphModule
    outputs: int
    given: tuple[Tensor, ...]
    tangents: tuple[Tensor, ...]
    fake: FakeTensorMode

    @property
    def saved(self) -> list[Node]:
        """Forward nodes that the backward graph reads, without parameters, buffers and inputs."""
        (results,) = next(iter(reversed(self.forward.graph.nodes))).args
        return [node for node in results[self.outputs :] if node.op != "placeholder"]


def missing() -> str | None:
    """Return the first private name of torch that the partitioner needs and that is absent, or None."""
    return lacking(NAMES)


def lacking(names: Mapping[str, Sequence[str]]) -> str | None:
    """Return a message about the first of `names`, by module, that torch lacks, or None."""
    for name, wanted in names.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            return f"torch {torch.__version__} has no {name}; tested with {TESTED}"
        if lacks := [one for one in wanted if not hasattr(module, one)]:
            return f"torch {torch.__version__} has no {name}.{lacks[0]}; tested with {TESTED}"
    return None


def partitions(
    module: nn.Module, batch: object, budgets: Sequence[float], *, loss: Loss | None = None
) -> list[Partition]:
    """Partition a training step as `torch.compile(module, backend="aot_eager")` does, for each budget from 0 to 1."""
    if lacks := missing():
        raise RuntimeError(f"expected a torch with the min-cut partitioner: {lacks}")
    from torch._functorch.aot_autograd import aot_function

    fake = FakeTensorMode()
    held, args, kwargs = faked(fake, module, batch)
    unique = list({id(one): one for one in held.values()}.values())
    place = {id(one): i for i, one in enumerate(unique)}
    order = {name: place[id(one)] for name, one in held.items()}

    def step(values: list[Tensor], args: Args, kwargs: Kwargs) -> Tensor:
        return scalar(functional_call(module, {name: values[i] for name, i in order.items()}, args, kwargs), loss)

    cutter = _Cutter(tuple(budgets), len(unique), fake)
    graphs = aot_function(step, fw_compiler=_unchanged, bw_compiler=_unchanged, partition_fn=cutter.cut)
    with fake, torch.enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of torch, about copies of graphs
        graphs(unique, args, kwargs)
    return cutter.found


class _Cutter:
    """Partition a joint graph for each budget; saving parameters and buffers is free, as in `torch.compile`."""

    def __init__(self, budgets: tuple[float, ...], free: int, fake: FakeTensorMode) -> None:
        self.budgets, self.free, self.fake = budgets, free, fake
        self.found: list[Partition] = []

    def cut(
        self, joint: GraphModule, inputs: Any, *, num_fwd_outputs: int, **_: object
    ) -> tuple[GraphModule, GraphModule]:
        from torch._functorch import config
        from torch._functorch.partitioners import min_cut_rematerialization_partition

        given, tangents = (tuple(tree_leaves(part)) for part in inputs)
        for budget in self.budgets:
            with config.patch(activation_memory_budget=float(budget)):
                forward, backward = min_cut_rematerialization_partition(
                    copy.deepcopy(joint),
                    inputs,
                    num_fwd_outputs=num_fwd_outputs,
                    static_lifetime_input_indices=list(range(self.free)),
                )
            self.found.append(Partition(budget, forward, backward, num_fwd_outputs, given, tangents, self.fake))
        return forward, backward


def _unchanged(gm: GraphModule, example_inputs: object) -> GraphModule:
    return gm


def joint_steps(joint: Graph, forward: Collection[Node]) -> tuple[StepGraph, dict[Node, int]]:
    """Return the step graph of a joint graph, and the storage of each node.

    forward: its forward nodes. Inputs are outside storages; returned gradients live until the end.
    """
    builder = _Builder()
    for node in joint.nodes:
        if node.op == "placeholder":
            builder.number(node, "outside")
        elif node.op == "call_function" and node.target is not getitem:
            builder.step(node, node in forward)
    (results,) = next(iter(reversed(joint.nodes))).args
    returned = [builder.place[node] for node in tree_leaves(results) if node in builder.place and node not in forward]
    ahead = sorted(builder.steps, key=lambda step: not step.forward)  # views of the forward pass may come later
    if ahead:
        ahead[-1] = ahead[-1]._replace(reads=tuple(dict.fromkeys((*ahead[-1].reads, *returned))))
    tensors = tuple(Named(one.name, i) for i, one in enumerate(builder.storages))
    return StepGraph(tuple(ahead), tuple(builder.storages), tensors, "traced"), builder.place


class _Builder:
    """Steps and storages so far; tensors of the metadata that share memory share a storage."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.storages: list[Storage] = []
        self.place: dict[Node, int] = {}
        self._seen: dict[int, int] = {}

    def number(self, node: Node, role: Role) -> list[int]:
        """Return the storages of a node's results."""
        value: Any = node.meta.get("val")
        found = [self._storage(one, f"{node.name}:{k}", role) for k, one in enumerate(_tensors(value))]
        if isinstance(value, Tensor):
            self.place[node] = found[0]
        else:
            for user in node.users:
                if user.target is getitem and isinstance(value[user.args[1]], Tensor):
                    self.place[user] = self._storage(value[user.args[1]], user.name, role)
        return found

    def _storage(self, value: Tensor, name: str, role: Role) -> int:
        memory = value.untyped_storage()
        if memory._cdata not in self._seen:
            self._seen[memory._cdata] = len(self.storages)
            self.storages.append(Storage(name, 0 if role == "outside" else _known(memory.nbytes()), role))
        return self._seen[memory._cdata]

    def step(self, node: Node, forward: bool) -> None:
        before = len(self.storages)
        reads = tuple(dict.fromkeys(self.place[one] for one in node.all_input_nodes if one in self.place))
        made = self.number(node, "activation" if forward else "gradient")
        writes = tuple(one for one in dict.fromkeys(made) if one >= before)  # views write nothing
        if writes:
            values = [*_tensors(node.meta["val"]), *(v for n in node.all_input_nodes for v in _tensors(n.meta["val"]))]
            moved = sum(_known(one.numel()) * one.element_size() for one in values)
            flops = _flops(node)
            self.steps.append(Step(node.name, node.name, forward, reads, writes, flops, moved, flops > 0))


def _flops(node: Node) -> int:
    counted = flop_registry.get(getattr(node.target, "_overloadpacket", None))
    if counted is None:
        return 0
    args, kwargs = tree_map(lambda one: getattr(one, "meta", {}).get("val", one), (node.args, node.kwargs))
    return _known(counted(*args, **kwargs, out_val=node.meta["val"]))


def _known(size: Any) -> int:
    """Return a size as a number; one that varies between batches as that of the batch that was compiled for."""
    if isinstance(size, int):
        return size
    from torch.fx.experimental.symbolic_shapes import optimization_hint

    return int(optimization_hint(size))


def _tensors(values: object) -> list[Tensor]:
    return [one for one in tree_leaves(values) if isinstance(one, Tensor)]
