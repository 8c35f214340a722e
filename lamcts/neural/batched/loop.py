"""The batched training loop: `lamcts.neural.train.loop` with an axis of networks.

Letters: m networks, n examples, b of a batch, k classes, e epochs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.batched.stacked import StackedNetworks, VmappedNetworks
from lamcts.neural.build.edge_cells import EdgeNetwork
from lamcts.neural.train.data import Data
from lamcts.neural.train.loop import DevicePart, batches, to_device
from lamcts.neural.train.progress import optimiser_of
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds

CHUNK = 128  # examples evaluated at once by all networks; for a dozen it needs less memory than a training step
# Settings with random draws, or of a single network.
ALONE = ("crop", "flip", "cutout", "mixup", "cutmix", "drop_path", "clip", "average")


@dataclass(frozen=True, eq=False)
class BatchedResult:
    """Losses and accuracies of m networks trained together."""

    train_loss: NDArray[Any]  # mean training loss of each epoch, in nats
    valid_loss: NDArray[Any]  # losses after the last epoch, in nats
    valid_accuracy: NDArray[Any]  # accuracies after the last epoch, from 0 to 1
    test_loss: NDArray[Any]  # losses after the last epoch, in nats
    test_accuracy: NDArray[Any]  # accuracies after the last epoch, from 0 to 1


def train(
    nets: Sequence[nn.Module], data: Data, recipe: Recipe, *, seeds: Sequence[int | Seeds], device: str = "cpu"
) -> BatchedResult:
    """Train many networks at once, in place.

    Up to rounding, each network learns what `lamcts.neural.train.train` would teach it alone. A network that diverges
    has nan losses and does not affect the others.

    Parameters
    ----------
    nets : sequence of torch.nn.Module
        Networks of one architecture, or networks of `build` with an operation on each edge, of one size and any cells.
    data : Data
        Training, validation and test data.
    recipe : Recipe
        Training settings, in float32, without augmentation, dropped paths, weight averages and gradient clipping.
    seeds : sequence of int or Seeds
        Seeds of the order of examples, one for each network; networks may share a seed.
    device : str, default "cpu"
        Device of torch, such as "cuda".

    Returns
    -------
    BatchedResult
        Losses and accuracies of each network.
    """
    _check(nets, recipe, seeds)
    here = torch.device(device)
    kinds = {type(net) for net in nets}
    stack = (StackedNetworks if kinds == {EdgeNetwork} else VmappedNetworks)(nets).to(here)  # type: ignore[arg-type]
    optimiser = optimiser_of(recipe, list(stack.parameters()))
    orders, part = [Seeds.of(seed).order for seed in seeds], to_device(data.train, here)
    losses = [_learn(stack, optimiser, part, recipe, orders, epoch) for epoch in range(recipe.epochs)]
    stack.restore()
    evaluated = [evaluate(stack, to_device(part, here), len(nets)) for part in (data.valid, data.test)]
    stack.train()  # as `train` leaves a single network
    return BatchedResult(torch.stack(losses).cpu().numpy(), *(values for pair in evaluated for values in pair))


def _check(nets: Sequence[nn.Module], recipe: Recipe, seeds: Sequence[object]) -> None:
    if not len(nets) or len(nets) != len(seeds):
        raise ValueError(f"seeds: expected one for each network, got {len(seeds)} for {len(nets)}")
    set_ = [name for name in ALONE if getattr(recipe, name)]
    refused = ", ".join(set_) or recipe.precision
    if set_ or recipe.precision != "float32":
        raise ValueError(
            f"recipe: expected settings that networks can share, in float32, got {refused}; "
            "train each network alone with lamcts.neural.train"
        )


def _learn(
    stack: nn.Module, optimiser: torch.optim.Optimizer, part: DevicePart, recipe: Recipe, orders: list[int], epoch: int
) -> Tensor:
    """Train for one epoch, each network in its own order of examples; return the mean losses [m]."""
    total, steps = torch.zeros(len(orders), device=part.x.device), math.ceil(len(part.y) / recipe.batch)
    stack.train()
    with torch.enable_grad():  # independent of the caller's mode
        for i, rows in enumerate(_rows(len(part.y), recipe.batch, orders, epoch, part.x.device)):
            losses = losses_of(stack(part.x[rows]), part.y[rows], recipe.smoothing)
            optimiser.param_groups[0]["lr"] = recipe.rate_at(epoch + i / steps)
            optimiser.zero_grad()
            losses.sum().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += losses.detach() * len(rows)
    return total / len(part.y)


def _rows(n: int, batch: int, orders: list[int], epoch: int, device: torch.device) -> Iterator[Tensor]:
    """Yield the rows of each batch of an epoch, sent to a device at once: [b, m]."""
    known = sorted(set(orders))
    which = torch.tensor([known.index(order) for order in orders], device=device)
    for rows in zip(*(batches(n, batch, order, epoch, device) for order in known), strict=True):
        yield torch.stack(rows, 1)[:, which]


def losses_of(scores: Tensor, y: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return the mean cross-entropy of each network [m], in nats, of scores [b, m, k] for classes [b, m]."""
    each = functional.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="none", label_smoothing=smoothing)
    return each.view_as(y).mean(0)


@torch.no_grad()
def evaluate(stack: nn.Module, part: DevicePart, m: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the mean loss, in nats, and the accuracy, from 0 to 1, of each network [m]."""
    stack.eval()
    loss = right = torch.zeros(m, device=part.x.device)
    for x, y in zip(torch.split(part.x, CHUNK), torch.split(part.y, CHUNK), strict=True):
        wanted = y[:, None].expand(-1, m)
        scores = stack(x[:, None].expand(-1, m, *x.shape[1:]))
        loss = loss + losses_of(scores, wanted) * len(y)
        right = right + (scores.argmax(-1) == wanted).sum(0)
    return (loss / len(part.y)).cpu().numpy(), (right.double() / len(part.y)).cpu().numpy()
