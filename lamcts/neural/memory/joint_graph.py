"""The step graph of the joint graph, forward and backward, that `torch.compile` partitions. Needs torch."""

from collections.abc import Collection
from operator import getitem
from typing import Any

from torch import Tensor
from torch.fx import Graph, Node
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import flop_registry

from lamcts.neural.graphs import Step, StepGraph, Storage
from lamcts.neural.graphs import Tensor as Named
from lamcts.neural.graphs.steps import Role


def joint_steps(joint: Graph, forward: Collection[Node]) -> tuple[StepGraph, dict[Node, int]]:
    """Return the step graph of a joint graph, and the storage of each node."""
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
