"""Costs of networks that are measured: latency next to the parent, and the peak memory of a training step."""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from lamcts.movement import costs
from lamcts.neural.graphs.computation import ComputationGraph, flops, parameters
from lamcts.neural.train.data import Data
from lamcts.neural.train.loop import step_bytes
from lamcts.neural.train.recipe import Recipe

MEGA = 1e6  # bytes
ROUNDS = 30  # interleaved runs of parent and child; the fastest of each counts (untuned)
WARM = 3  # runs of each that are not timed
SMALL, SIZES = 3, 3  # maps of the smallest memory, and numbers of memories, as for cells in `lamcts.movement.costs`
MEASURED = ("peak_mb", "latency_ms")


def io_maps(graph: ComputationGraph) -> float:
    """Return the maps that a memory of few maps spills in a pass; see `lamcts.movement.costs.mean_spills`."""
    inputs = [node.inputs for node in graph.nodes]
    least = max(SMALL, 1 + max(map(len, inputs)))
    return costs.mean_spills(inputs, range(least, least + SIZES))


CLOSED: dict[str, Callable[[ComputationGraph], float]] = {"flops": flops, "params": parameters, "io_maps": io_maps}
COSTS = (*CLOSED, *MEASURED)


@torch.no_grad()
def latency_ratio(child: nn.Module, parent: nn.Module, x: Tensor, rounds: int = ROUNDS) -> float:
    """Return the time of a child's forward pass as a multiple of its parent's."""
    modes = [(net, net.training) for net in (child, parent)]
    for net, _ in modes:
        net.eval()
    for _ in range(WARM):
        seconds(child, x)
        seconds(parent, x)
    pairs = [(seconds(child, x), seconds(parent, x)) for _ in range(rounds)]
    found = min(own for own, _ in pairs) / min(of_parent for _, of_parent in pairs)
    for net, mode in modes:
        net.train(mode)
    return found


def seconds(net: nn.Module, x: Tensor) -> float:
    """Return the time of one forward pass: on one thread its CPU time, which other load on the machine leaves alone."""
    on_cuda = x.device.type == "cuda"
    clock = time.thread_time if not on_cuda and torch.get_num_threads() == 1 else time.perf_counter
    if on_cuda:
        torch.cuda.synchronize(x.device)
    begin = clock()
    net(x)
    if on_cuda:
        torch.cuda.synchronize(x.device)
    return clock() - begin


@torch.no_grad()
def latency(net: nn.Module, x: Tensor, rounds: int = ROUNDS) -> float:
    """Return the time of the fastest forward pass in milliseconds, after warm-up, in evaluation mode."""
    mode = net.training
    net.eval()
    for _ in range(WARM):
        seconds(net, x)
    found = min(seconds(net, x) for _ in range(rounds))
    net.train(mode)
    return 1e3 * found


def peak_mb(net: nn.Module, data: Data, recipe: Recipe) -> float:
    """Return the peak of a training step in megabytes, with weights and optimizer state, by a trace."""
    return step_bytes(net, data, recipe) / MEGA
