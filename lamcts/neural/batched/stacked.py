"""Many networks as one module: cells by grouped convolutions, any one architecture by `torch.func.vmap`.

Letters: m networks, g of them with the same operation on an edge, b images, c channels, h by w, k classes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional

from lamcts.neural.build.edge_cells import Convolution, EdgeCell, EdgeNetwork, Reduction
from lamcts.neural.nas.cells import EDGES, LAST, ZERO

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


class VmappedNetworks(nn.Module):
    """Map one architecture over stacked weights: examples [b, m, ...] to scores [b, m, k]."""

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        super().__init__()
        self.nets = tuple(nets)  # in a tuple, modules are not registered as submodules
        weights, buffers = stack_module_state(list(nets))
        self.names, self.buffer_names = tuple(weights), tuple(buffers)
        self.weights = nn.ParameterList(weight.detach() for weight in weights.values())
        for number, values in enumerate(buffers.values()):
            self.register_buffer(f"buffer{number}", values)
        # runs the first network's code with all weights
        self.vmapped = vmap(lambda state, x: functional_call(self.nets[0], state, (x,)), in_dims=(0, 1), out_dims=1)

    def __len__(self) -> int:
        return len(self.nets)

    def train(self, mode: bool = True) -> "VmappedNetworks":
        self.nets[0].train(mode)
        super().train(mode)
        return self

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.vmapped(self._state(), x)
        return scores

    @torch.no_grad()
    def restore(self) -> None:
        """Write the weights and running statistics back to the networks."""
        state = self._state()
        for row, net in enumerate(self.nets):
            net.load_state_dict({name: values[row] for name, values in state.items()}, strict=False)

    def _state(self) -> dict[str, Tensor]:
        buffers = (getattr(self, f"buffer{number}") for number in range(len(self.buffer_names)))
        return dict(zip((*self.names, *self.buffer_names), (*self.weights, *buffers), strict=True))


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
