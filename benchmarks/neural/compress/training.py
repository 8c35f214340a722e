"""Data-parallel training on simulated workers, which exchange gradients by a scheme of `lamcts.neural.compress`."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.neural.compress.tasks import Task, accuracy, batches, loss
from lamcts.neural import compress

WORKERS = 8
MOMENTUM, DECAY = 0.9, 1e-4  # of SGD; with momentum correction the workers' momentum takes the place of SGD's
RISE = 0.1  # share of the steps in which the learning rate rises, before it falls by a cosine


@dataclass(frozen=True)
class Method:
    """A scheme and its options. correction: momentum correction, so that SGD has no momentum."""

    scheme: str
    options: dict[str, Any] = field(default_factory=dict)
    correction: bool = False

    def workers(self, workers: int, seed: int) -> compress.SimulatedWorkers:
        momentum = {"momentum": MOMENTUM} if self.correction else {}
        return compress.SimulatedWorkers(self.scheme, workers=workers, seed=seed, **momentum, **self.options)


class Trained(NamedTuple):
    """Accuracy in per cent, and received bits for a number in a step."""

    accuracy: float
    bits: float


def trained(
    task: Task, method: Method, seed: int, *, workers: int = WORKERS, steps: int | None = None, part: str = "test"
) -> Trained:
    """Train a network on simulated workers, and return its accuracy on a part of the data.

    Gradients, batch norm and its running statistics are as in DistributedDataParallel: a worker normalises by its own
    batch, and running statistics are those of worker 0.
    """
    torch.manual_seed(seed)
    steps = steps or task.steps
    net, exchange = task.network(), method.workers(workers, seed)
    parameters = list(net.parameters())
    momentum = 0.0 if method.correction else MOMENTUM
    optimizer = torch.optim.SGD(parameters, lr=task.rate, momentum=momentum, weight_decay=DECAY)
    source = batches(task, workers, seed)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = task.rate * schedule(step / steps)
        means = exchange.step(by_worker(net, next(source)))
        for parameter, mean in zip(parameters, means, strict=True):
            parameter.grad = mean
        optimizer.step()
    return Trained(accuracy(net, task, part), exchange.report().bits)


def falling(first: float, last: float, steps: int) -> Callable[[int], float]:
    """Return a share by step that falls geometrically from `first` to `last` in some steps, and stays there."""
    return lambda step: last * (first / last) ** max(0.0, 1 - step / steps)


def schedule(progress: float) -> float:
    """Return the learning rate relative to the largest."""
    return min(1.0, (progress + 1e-2) / RISE) * 0.5 * (1 + math.cos(math.pi * progress))


def by_worker(net: nn.Module, given: list[tuple[Tensor, Tensor]]) -> list[list[Tensor | None]]:
    """Return the gradients of each worker; buffers become those of worker 0."""
    buffers: list[Tensor] = []
    found = []
    for x, y in given:
        found.append(list(torch.autograd.grad(loss(net, x, y), list(net.parameters()))))
        buffers = buffers or [one.clone() for one in net.buffers()]
    for one, first in zip(net.buffers(), buffers, strict=True):
        one.copy_(first)
    return found
