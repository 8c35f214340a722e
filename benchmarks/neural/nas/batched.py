"""The batched training loop: `lamcts.neural.train.loop` with an axis of networks.

Letters: m networks, n examples, b of a batch, k classes, e epochs.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.build.edge_cells import Convolution, EdgeCell, EdgeNetwork, Reduction
from lamcts.neural.nas.cells import EDGES, LAST, ZERO
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
    nets: Sequence[EdgeNetwork], data: Data, recipe: Recipe, *, seeds: Sequence[int | Seeds], device: str = "cpu"
) -> BatchedResult:
    """Train many networks at once, in place.

    Up to rounding, each network learns what `lamcts.neural.train.train` would teach it alone. A network that diverges
    has nan losses and does not affect the others.

    Parameters
    ----------
    nets : sequence of torch.nn.Module
        Networks of `build` with an operation on each edge, of one size and any cells.
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
    stack = StackedNetworks(nets).to(here)
    optimiser = optimiser_of(recipe, list(stack.parameters()))
    orders, part = [Seeds.of(seed).order for seed in seeds], to_device(data.train, here)
    losses = [_learn(stack, optimiser, part, recipe, orders, epoch) for epoch in range(recipe.epochs)]
    stack.restore()
    evaluated = [evaluate(stack, to_device(part, here), len(nets)) for part in (data.valid, data.test)]
    stack.train()  # as `train` leaves a single network
    return BatchedResult(torch.stack(losses).cpu().numpy(), *(values for pair in evaluated for values in pair))


def _check(nets: Sequence[EdgeNetwork], recipe: Recipe, seeds: Sequence[object]) -> None:
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
    for first in range(0, len(part.x), CHUNK):
        x, y = (one[first : first + CHUNK] for one in part)
        wanted = y[:, None].expand(-1, m)
        scores = stack(x[:, None].expand(-1, m, *x.shape[1:]))
        loss = loss + losses_of(scores, wanted) * len(y)
        right = right + (scores.argmax(-1) == wanted).sum(0)
    return (loss / len(part.y)).cpu().numpy(), (right.double() / len(part.y)).cpu().numpy()


NARROW = 8  # channels below which convolutions unfold images: at 1 channel, matrix products take a fifth of the time
SMALL = 256  # pixels up to which average pooling is a matrix product: at 64 pixels, a fifth of the time


class StackedNetworks(nn.Module):
    """Stack networks of cells with an operation on each edge: images [b, m, c, h, w] to scores [b, m, k]."""

    def __init__(self, nets: Sequence[EdgeNetwork]) -> None:
        super().__init__()
        shapes = {net.shape for net in nets}
        if len(shapes) != 1:
            raise ValueError(f"nets: expected networks of one size, got {len(shapes)} sizes; train each size by itself")
        self.stem = stack([net.stem for net in nets])
        self.stages = nn.ModuleList(stack(parts) for parts in zip(*[net.stages for net in nets], strict=True))
        self.last, self.head = stack([net.last for net in nets]), stack([net.head.linear for net in nets])

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        scores: Tensor = self.head(self.last(x).relu().mean((3, 4)))
        return scores

    def restore(self) -> None:
        """Write the weights and running statistics back to the networks."""
        for part in self.modules():
            if isinstance(part, _Stack):
                part.restore()


def stack(modules: Sequence[nn.Module]) -> nn.Module:
    """Stack modules of one kind; the network axis of tensors follows the image axis."""
    return KINDS[type(modules[0])](modules)


# Modules with weights -------------------------------------------------------------------------------------------------


class _Stack(nn.Module):
    """The stacked parameters and buffers of some modules: [g, ...]."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, sources: Sequence[Any]) -> None:
        super().__init__()
        self.sources = tuple(sources)  # in a tuple, modules are not registered as submodules
        for name, _ in sources[0].named_parameters():
            self.register_parameter(name, nn.Parameter(torch.stack([getattr(s, name).detach() for s in sources])))
        for name, _ in sources[0].named_buffers():
            self.register_buffer(name, torch.stack([getattr(s, name) for s in sources]))

    @torch.no_grad()
    def restore(self) -> None:
        for name, values in (*self.named_parameters(), *self.named_buffers()):
            for source, value in zip(self.sources, values, strict=True):
                getattr(source, name).copy_(value)


class _Convs(_Stack):
    def forward(self, x: Tensor) -> Tensor:
        one, weight = self.sources[0], self.weight.flatten(0, 1)  # [g c', c, h, w]
        if x.shape[2] < NARROW and not x.requires_grad:
            return self._unfolded(x)
        y = functional.conv2d(x.flatten(1, 2), weight, None, one.stride, one.padding, groups=len(self.weight))
        return torch.unflatten(y, 1, self.weight.shape[:2])

    def _unfolded(self, x: Tensor) -> Tensor:
        """Return the convolution as a matrix product."""
        one = self.sources[0]
        patches = functional.unfold(x.flatten(0, 1), one.kernel_size, padding=one.padding, stride=one.stride)
        y = self.weight.flatten(2) @ torch.unflatten(patches, 0, x.shape[:2])  # [b, g, c', pixels]
        high = (x.shape[3] + 2 * one.padding[0] - one.kernel_size[0]) // one.stride[0] + 1
        return torch.unflatten(y, 3, (high, -1))


class _Norms(_Stack):
    def forward(self, x: Tensor) -> Tensor:
        one = self.sources[0]
        if self.training:
            self.num_batches_tracked += 1
        kept = self.running_mean.view(-1), self.running_var.view(-1)  # views, so that updates reach the buffers
        own = self.weight.view(-1), self.bias.view(-1)
        y = functional.batch_norm(x.flatten(1, 2), *kept, *own, self.training, one.momentum, one.eps)
        return y.view_as(x)


class _Heads(_Stack):
    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("bgc,gkc->bgk", x, self.weight) + self.bias


# Modules made of these ------------------------------------------------------------------------------------------------


class _Convolutions(nn.Module):
    def __init__(self, sources: Sequence[Convolution]) -> None:
        super().__init__()
        self.relu = sources[0].relu
        self.conv, self.norm = stack([s.conv for s in sources]), stack([s.norm for s in sources])

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(self.conv(x.relu() if self.relu else x))
        return y


class _Reductions(nn.Module):
    def __init__(self, sources: Sequence[Reduction]) -> None:
        super().__init__()
        self.first, self.second = stack([s.first for s in sources]), stack([s.second for s in sources])
        self.pool, self.skip = stack([s.pool for s in sources]), stack([s.beside for s in sources])

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(self.first(x)) + self.skip(self.pool(x))
        return y


class _Pools(nn.Module):
    """Average pooling; for small images an equal matrix product."""

    matrix: Tensor

    def __init__(self, sources: Sequence[nn.AvgPool2d]) -> None:
        super().__init__()
        self.pool, self.sides = sources[0], torch.Size()
        self.register_buffer("matrix", torch.empty(0), persistent=False)  # for the last image size

    def forward(self, x: Tensor) -> Tensor:
        sides = x.shape[-2:]
        if sides.numel() > SMALL:
            return torch.unflatten(self.pool(x.flatten(0, 1)), 0, x.shape[:2])
        if self.sides != sides:
            self.sides = sides
            pixels = torch.eye(sides.numel(), device=x.device, dtype=x.dtype).view(-1, 1, *sides)
            self.matrix = self.pool(pixels)[:, 0]  # [h w, h', w']
        return torch.unflatten(x.flatten(3) @ self.matrix.flatten(1), 3, self.matrix.shape[1:])


class _Cells(nn.Module):
    """One cell of each network."""

    def __init__(self, cells: Sequence[EdgeCell]) -> None:
        super().__init__()
        self.edges = nn.ModuleList(_Edges(cells, edge) for edge in range(len(EDGES)))

    def forward(self, x: Tensor) -> Tensor:
        nodes: list[Tensor | None] = [x, *[None] * LAST]
        for (i, j), edge in zip(EDGES, self.edges, strict=True):
            for rows, term in edge(nodes[i]):
                nodes[j] = _sum(nodes[j], rows, term, x)
        out = nodes[LAST]
        return 0 * x if out is None else out


def _sum(before: Tensor | None, rows: Tensor, term: Tensor, x: Tensor) -> Tensor:
    """Add the term [b, g, c, h, w] of some networks to a node; return [b, m, c, h, w] like `x`."""
    if len(rows) == x.shape[1]:
        return term if before is None else before + term
    return (torch.zeros_like(x) if before is None else before).index_add(1, rows, term)


class _Edges(nn.Module):
    """One edge of all cells: its operations, each with the rows of the networks that use it."""

    def __init__(self, cells: Sequence[EdgeCell], edge: int) -> None:
        super().__init__()
        found: dict[int, list[int]] = {}
        for row, cell in enumerate(cells):
            if cell.live[edge] != ZERO:
                found.setdefault(cell.live[edge], []).append(row)
        self.operations = nn.ModuleList(stack([cells[row].edges[edge] for row in rows]) for rows in found.values())
        for number, rows in enumerate(found.values()):
            self.register_buffer(f"rows{number}", torch.tensor(rows), persistent=False)

    def forward(self, x: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        for number, operation in enumerate(self.operations):
            rows = getattr(self, f"rows{number}")
            yield rows, operation(x if len(rows) == x.shape[1] else x.index_select(1, rows))


KINDS: dict[type[nn.Module], Callable[[Sequence[Any]], nn.Module]] = {
    nn.Conv2d: _Convs,
    nn.BatchNorm2d: _Norms,
    nn.Linear: _Heads,
    nn.AvgPool2d: _Pools,
    nn.Identity: lambda sources: nn.Identity(),
    Convolution: _Convolutions,
    Reduction: _Reductions,
    EdgeCell: _Cells,
}
