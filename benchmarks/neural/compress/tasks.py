"""Four small tasks that simulated workers train: digits, MNIST, a subset of CIFAR-10 and a text."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.neural.evolve.networks import ResNet
from lamcts.neural.train import Data, load

DATA_SEED = 1000  # added to a run's seed for the order of its examples
PART = 512  # test examples at a time


@dataclass(frozen=True)
class Task:
    """A network, its data, and how it is trained.

    steps: optimizer steps. batch: examples of one worker in a step. rate: largest learning rate. side: pixels of a
    side to resize images to; None keeps them.
    """

    data: str
    network: Callable[[], nn.Module]
    steps: int
    batch: int
    rate: float
    side: int | None = None

    def loaded(self) -> Data:
        return _loaded(self.data, self.side)


@cache
def _loaded(name: str, side: int | None = None) -> Data:
    return load(name, side=side)


def batches(task: Task, workers: int, seed: int) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Yield the batches of all workers, one step after another, without end."""
    x, y = map(torch.from_numpy, (task.loaded().train.x.copy(), task.loaded().train.y.copy()))
    rng, order = np.random.default_rng(seed + DATA_SEED), np.empty(0, np.int64)
    while True:
        while len(order) < workers * task.batch:
            order = np.concatenate([order, rng.permutation(len(y))])
        now, order = order[: workers * task.batch].reshape(workers, -1), order[workers * task.batch :]
        yield [(x[rows], y[rows]) for rows in now]


def loss(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Return the mean cross-entropy, over the tokens of a text."""
    return functional.cross_entropy(net(x).flatten(0, y.ndim - 1), y.flatten())


@torch.no_grad()
def accuracy(net: nn.Module, task: Task, part: str = "test") -> float:
    """Return the percentage of correct examples of a part, of a text of the next characters."""
    net.eval()
    test = task.loaded().parts[part]
    right = sum(
        int((net(torch.tensor(test.x[i : i + PART])).argmax(-1).numpy() == test.y[i : i + PART]).sum())
        for i in range(0, len(test.y), PART)
    )
    net.train()
    return 100 * right / test.y.size


def convnet(places: int, hidden: int) -> nn.Module:
    """Return two convolutions with batch norm and two linear layers; `places` are left after pooling."""

    def conv(before: int, after: int) -> list[nn.Module]:
        return [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]

    pools = [nn.MaxPool2d(2)] if places == 9 else []
    features = [*conv(1, 16), *pools, *conv(16, 32), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*features, nn.Linear(32 * places, hidden), nn.ReLU(), nn.Linear(hidden, 10))


class Transformer(nn.Module):
    """Two causal encoder layers that predict the next character."""

    def __init__(self, characters: int, width: int = 32, length: int = 35) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, width)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, characters)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(self.embedding(x) + self.places, self.mask, is_causal=True))


def text_network() -> Any:
    return Transformer(_loaded("tinyshakespeare").classes)


TASKS = {
    "digits": Task("digits", lambda: convnet(16, 64), steps=110, batch=16, rate=0.2),
    "mnist": Task("mnist", lambda: convnet(9, 128), steps=100, batch=16, rate=0.1, side=14),
    "cifar10": Task("cifar10", lambda: ResNet(8), steps=120, batch=8, rate=0.1, side=16),
    "text": Task("tinyshakespeare", text_network, steps=180, batch=3, rate=0.4),
}
