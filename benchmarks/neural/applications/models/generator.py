"""Generators of small images with searched cells, the DCGAN baseline (Radford et al. 2016), and a discriminator.

A generator maps a latent vector to a quarter of the image side and doubles the side twice, with a cell after each
doubling. Letters: b images, z of a latent vector.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.build.edge_cells import EdgeCell
from lamcts.neural.build.layers import conv_norm_relu
from lamcts.neural.build.weights import initialised
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import EdgeCells

HALVINGS = 2  # of an image's side, down to the map that a generator begins with
LEAK = 0.2  # slope of the discriminator's rectifiers below 0: DCGAN


def generator(
    space: EdgeCells,
    point: Point,
    *,
    channels: int = 1,
    side: int = 8,
    latent: int = 16,
    width: int = 16,
    seed: int = 0,
) -> "Generator":
    """Return a generator, on the CPU, with the cell of a point after each doubling: [b, z] -> images [b, c, s, s].

    channels, side: of an image (1, 8); a multiple of four. latent: numbers that it makes an image of (16).
    width: its channels (16). seed: of the first weights (0).
    """
    if not isinstance(space, EdgeCells):
        raise ValueError(f"generator: expected cells with an operation on each edge, got {space.name}")

    def block() -> nn.Sequential:
        cell = EdgeCell(space.operations, space.numbers(point), width)
        return nn.Sequential(cell, nn.BatchNorm2d(width), nn.ReLU())

    return initialised(lambda: Generator([block() for _ in range(HALVINGS)], channels, side, latent, width), seed)


def dcgan(*, channels: int = 1, side: int = 8, latent: int = 16, width: int = 16, seed: int = 0) -> "Generator":
    """Return a generator with a convolution 3 x 3, a batch norm and a ReLU after each doubling (DCGAN)."""

    def made() -> Generator:
        return Generator([conv_norm_relu(width, width, 3) for _ in range(HALVINGS)], channels, side, latent, width)

    return initialised(made, seed)


def discriminator(*, channels: int = 1, side: int = 8, width: int = 16, seed: int = 0) -> nn.Module:
    """Return a discriminator without batch norm: a score [b] of images [b, c, s, s], high for real ones."""
    return initialised(lambda: Discriminator(channels, side, width), seed)


class Generator(nn.Module):
    """Images from -1 to 1 of latent vectors [b, z]."""

    def __init__(self, blocks: list[nn.Sequential], channels: int, side: int, latent: int, width: int) -> None:
        super().__init__()
        self.latent, self.width, self.least = latent, width, side >> HALVINGS
        self.first = nn.Linear(latent, width * self.least**2)
        self.norm = nn.BatchNorm2d(width)
        self.blocks = nn.ModuleList(blocks)
        self.last = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, z: Tensor) -> Tensor:
        x = self.norm(self.first(z).reshape(len(z), self.width, self.least, self.least)).relu()
        for block in self.blocks:
            x = block(functional.interpolate(x, scale_factor=2.0, mode="nearest"))
        images: Tensor = self.last(x).tanh()
        return images


class Discriminator(nn.Module):
    """Two convolutions that halve the side, and a linear layer."""

    def __init__(self, channels: int, side: int, width: int) -> None:
        super().__init__()
        self.one = nn.Conv2d(channels, width, 4, 2, 1)
        self.two = nn.Conv2d(width, 2 * width, 4, 2, 1)
        self.scores = nn.Linear(2 * width * (side >> HALVINGS) ** 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        for layer in (self.one, self.two):
            x = functional.leaky_relu(layer(x), LEAK)
        found: Tensor = self.scores(x.flatten(1))[:, 0]
        return found


def latent(generator: nn.Module, n: int, noise: torch.Generator, device: torch.device | str = "cpu") -> Tensor:
    """Return n standard normal latent vectors, drawn on the CPU so that all devices get the same: [n, z]."""
    return torch.randn(n, int(generator.latent), generator=noise).to(device)  # type: ignore[arg-type]


@torch.no_grad()
def sample(generator: nn.Module, n: int, seed: int = 0) -> Tensor:
    """Return n generated images, the same for the same seed."""
    device = next(generator.parameters()).device
    noise = torch.Generator().manual_seed(seed)
    images: Tensor = generator.eval()(latent(generator, n, noise, device))
    return images
