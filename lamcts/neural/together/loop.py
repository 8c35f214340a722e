"""The training loop of many networks at once. START HERE: `train.loop`, with an axis of networks.

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

from lamcts.neural.build.edge_cells import EdgeNetwork
from lamcts.neural.together.grouped import Grouped
from lamcts.neural.together.mapped import Mapped
from lamcts.neural.train.data import Data
from lamcts.neural.train.loop import Held, batches, on
from lamcts.neural.train.progress import optimiser_of
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds

CHUNK = 128  # examples judged at once by all networks: of a dozen, less than a step of training keeps
ALONE = ("crop", "flip", "cutout", "mixup", "cutmix", "drop_path", "clip", "average")  # what is drawn, or is of one net


@dataclass(frozen=True, eq=False)
class Together:
    """What came of m networks.

    train_loss: mean over the examples of each epoch [e, m], nats. valid_loss, test_loss [m]: after the last.
    valid_accuracy, test_accuracy [m]: shares of 1.
    """

    train_loss: NDArray[Any]
    valid_loss: NDArray[Any]
    valid_accuracy: NDArray[Any]
    test_loss: NDArray[Any]
    test_accuracy: NDArray[Any]


def train(
    nets: Sequence[nn.Module], data: Data, recipe: Recipe, *, seeds: Sequence[int | Seeds], device: str = "cpu"
) -> Together:
    """Train networks at once, which are changed, and return what came of each.

    Each learns what `lamcts.neural.train.train` would have taught it alone, but for rounding. One that diverges has
    losses that are no numbers, and harms no other.

    nets: of one architecture, or `build`'s of cells with an operation on each edge, of one size and any cells.
    seeds: of the order of examples, one a network; networks may share theirs.
    recipe: without what changes images, dropped paths, averages, and a cut gradient.
    """
    _check(nets, recipe, seeds)
    here = torch.device(device)
    kinds = {type(net) for net in nets}
    stack = (Grouped if kinds == {EdgeNetwork} else Mapped)(nets).to(here)  # type: ignore[arg-type]
    optimiser = optimiser_of(recipe, list(stack.parameters()))
    orders, part = [Seeds.of(seed).order for seed in seeds], on(data.train, here)
    losses = [_learn(stack, optimiser, part, recipe, orders, epoch) for epoch in range(recipe.epochs)]
    stack.restore()
    judged = [judge(stack, on(part, here), len(nets)) for part in (data.valid, data.test)]
    stack.train()  # as one that is trained alone is left
    return Together(torch.stack(losses).cpu().numpy(), *(values for pair in judged for values in pair))


def _check(nets: Sequence[nn.Module], recipe: Recipe, seeds: Sequence[Any]) -> None:
    if not len(nets) or len(nets) != len(seeds):
        raise ValueError(f"seeds: expected one for each of some networks, got {len(seeds)} for {len(nets)}")
    set_ = [name for name in ALONE if getattr(recipe, name)]
    if set_ or recipe.precision != "float32":
        raise ValueError(
            f"recipe: expected one that networks can share, in float32, got {', '.join(set_) or recipe.precision}; "
            "train each by itself with lamcts.neural.train"
        )


def _learn(
    stack: nn.Module, optimiser: torch.optim.Optimizer, part: Held, recipe: Recipe, orders: list[int], epoch: int
) -> Tensor:
    """Go through the examples once, each network in its own order, and return the mean losses [m]."""
    total, steps = torch.zeros(len(orders), device=part.x.device), math.ceil(len(part.y) / recipe.batch)
    stack.train()
    with torch.enable_grad():  # whatever the caller has switched off
        for i, rows in enumerate(_rows(len(part.y), recipe.batch, orders, epoch)):
            rows = rows.to(part.x.device)  # [b, m]
            losses = losses_of(stack(part.x[rows]), part.y[rows], recipe.smoothing)
            optimiser.param_groups[0]["lr"] = recipe.rate_at(epoch + i / steps)
            optimiser.zero_grad()
            losses.sum().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += losses.detach() * len(rows)
    return total / len(part.y)


def _rows(n: int, batch: int, orders: list[int], epoch: int) -> Iterator[Tensor]:
    """Yield the examples of each batch of an epoch, [b, m]."""
    known = sorted(set(orders))
    which = torch.tensor([known.index(order) for order in orders])
    for rows in zip(*(batches(n, batch, order, epoch) for order in known), strict=True):
        yield torch.stack(rows, 1)[:, which]


def losses_of(scores: Tensor, y: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return of each network the mean cross-entropy [m], in nats, of scores [b, m, k] for classes [b, m]."""
    each = functional.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="none", label_smoothing=smoothing)
    return each.view_as(y).mean(0)


@torch.no_grad()
def judge(stack: nn.Module, part: Held, m: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return of each network the mean loss in nats and the accuracy, a share of 1, [m]."""
    stack.eval()
    loss = right = torch.zeros(m, device=part.x.device)
    for x, y in zip(torch.split(part.x, CHUNK), torch.split(part.y, CHUNK), strict=True):
        wanted = y[:, None].expand(-1, m)
        scores = stack(x[:, None].expand(-1, m, *x.shape[1:]))
        loss = loss + losses_of(scores, wanted) * len(y)
        right = right + (scores.argmax(-1) == wanted).sum(0)
    return (loss / len(part.y)).cpu().numpy(), (right.double() / len(part.y)).cpu().numpy()
