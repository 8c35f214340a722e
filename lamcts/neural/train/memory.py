"""Peak memory of a training step from its traced graph, without allocation."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.graphs import liveness
from lamcts.neural.train.data import Data
from lamcts.neural.train.recipe import Recipe


def step_bytes(net: nn.Module, data: Data, recipe: Recipe) -> int:
    """Return the peak of a training step in bytes, with weights and optimizer state."""
    from lamcts.neural.trace import trace

    batch = min(recipe.batch, len(data.train.y))
    x, y = torch.tensor(data.train.x[:batch]), torch.tensor(data.train.y[:batch])

    def loss(scores: Tensor) -> Tensor:
        flat = scores.flatten(0, -2)
        return functional.cross_entropy(flat, torch.zeros(len(flat), dtype=y.dtype, device=scores.device))

    state = "adam" if recipe.optimiser == "adamw" else "momentum" if recipe.momentum else "sgd"
    graph = trace(net.train(), x, loss=loss, optimizer=state).graph
    return liveness(graph).peak_bytes + graph.outside_bytes
