"""The min-cut partitioner of `torch.compile` under `activation_memory_budget`. Needs torch.

This file holds all uses of torch's private functions, which may change with any release; `missing` names one that is
absent.
"""

import copy
import importlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from lamcts.neural.trace.module import Loss, faked, scalar
from lamcts.neural.trace.recorder import Args, Kwargs

TESTED = "2.13"  # the tested release; others may work
NAMES = {
    "torch._functorch.aot_autograd": ("aot_function",),
    "torch._functorch.partitioners": ("min_cut_rematerialization_partition",),
    "torch._functorch.config": ("activation_memory_budget", "patch"),
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
    """Partition a training step as `torch.compile(module, backend="aot_eager")` does, for each budget from 0 to 1.

    Fake tensors allocate nothing. RuntimeError if torch lacks a private function; see `trace` for other errors.
    """
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
