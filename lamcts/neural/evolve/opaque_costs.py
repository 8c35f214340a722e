"""Floating-point operations of the calls of a program, counted by torch as they run."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils.flop_counter import FlopCounterMode


class _Counting(fx.Interpreter):
    """Runs a graph, and counts the operations of each call by the name of its node."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.found: dict[str, int] = {}

    def run_node(self, n: fx.Node) -> Any:
        with FlopCounterMode(display=False) as counter:
            result = super().run_node(n)
        self.found[n.name] = counter.get_total_flops()
        return result


@torch.no_grad()
def counted(module: fx.GraphModule, tensors: Mapping[str, Tensor], batch: Tensor) -> dict[str, int]:
    """Return the floating-point operations of one example by name of the node.

    Parameters
    ----------
    module : torch.fx.GraphModule
        The graph of an exported program, whose parameters and buffers are inputs.
    tensors : mapping
        Parameters and buffers by name of the input; copies of them are used.
    batch : Tensor of shape (n, ...)
        The remaining input.
    """
    running = _Counting(module)
    inputs = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):  # of a model that is noisy
        running.run(*(tensors.get(name, batch).clone() for name in inputs))
    return {name: count // len(batch) for name, count in running.found.items()}
