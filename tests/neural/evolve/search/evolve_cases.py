"""A small network, small data and a quick recipe, with which an evolution takes a second."""

import numpy as np
import torch
from torch import Tensor, nn

from lamcts.neural import evolve
from lamcts.neural.graphs.computation.database import SegmentDatabase
from lamcts.neural.train import Data, Recipe
from lamcts.neural.train.data import Part, part_of
from tests.neural.graphs.computation_cases import database

QUICK = Recipe(epochs=1, batch=30)
CLASSES = 3


class Network(nn.Module):
    """A residual block that is used twice, and a head."""

    def __init__(self, channels: int = 1, width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(channels, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.last = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        return self.head(self.last(self.block(self.block(x)) + x).mean((2, 3)))


def made(kind: type[nn.Module] = Network, *given: object) -> nn.Module:
    """Return a module whose weights are drawn from a seed of their own."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return kind(*given)


def data(examples: int = 90) -> Data:
    """Return images of 6 x 6, brighter in each class."""
    rng = np.random.default_rng(0)
    y = np.arange(examples) % CLASSES
    x = rng.random((examples, 1, 6, 6)).astype(np.float32) + y[:, None, None, None]
    part: Part = part_of(x, y, slice(None))
    return Data("bright", part, part, part, CLASSES)


def segments() -> SegmentDatabase:
    """Return segments of small residual networks."""
    return database()


def quick(model: nn.Module | None = None, **options: object) -> evolve.Found:
    """Evolve a network with few short trainings."""
    settings = {"at_most": {"flops": 0.9}, "against": ("flops",), "budget": 10, "seeds": 2, "finalists": 2}
    settings |= {"database": segments(), "recipe": QUICK, "data": data(), "progress": False} | options
    return evolve.fit(made() if model is None else model, **settings)  # type: ignore[arg-type]
