"""Random layers with their own generators, so that no global generator is used."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


class Source(torch.Generator):
    """A generator pickled as numbers: torch's "spawn" (2.13) closes the shared memory of a tensor too early."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.get_state().numpy(),)


def _restored(state: NDArray[np.uint8]) -> Source:
    made = Source()
    made.set_state(torch.from_numpy(state))
    return made


class Noise(nn.Module):
    """A module that draws random numbers in training, after `reseed` has set its generator."""

    def __init__(self, rate: float = 0.0) -> None:
        super().__init__()
        self.rate = rate
        self.generator: torch.Generator | None = None

    @property
    def quiet(self) -> bool:
        return not self.training or self.rate == 0.0 or self.generator is None

    def kept(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Return a factor drawn on the CPU: 0 with probability `rate`, else 1 / (1 - rate)."""
        stays = torch.rand(shape, generator=self.generator) >= self.rate
        return stays.to(like.device, like.dtype) / (1 - self.rate)


class DropPath(Noise):
    """Drop a path for each example with probability `rate` (Larsson et al. 2017)."""

    def forward(self, x: Tensor) -> Tensor:
        return x if self.quiet else x * self.kept((len(x), *[1] * (x.ndim - 1)), x)


class Dropout(Noise):
    """Dropout from a seeded generator.

    Parameters
    ----------
    rate : float
        Probability of a zero.
    shared : int, default None
        Axis along which one draw is shared, such as the words of a text (Gal and Ghahramani 2016).
    """

    def __init__(self, rate: float, shared: int | None = None) -> None:
        super().__init__(rate)
        self.shared = shared

    def forward(self, x: Tensor) -> Tensor:
        shape = tuple(1 if axis == self.shared else length for axis, length in enumerate(x.shape))
        return x if self.quiet else x * self.kept(shape, x)


def reseed(net: nn.Module, seed: int, drop_path: float | None = None) -> None:
    """Seed all random modules of a network with one generator; `drop_path`: probability of dropping a path."""
    generator = Source()
    generator.manual_seed(seed)
    for module in net.modules():
        if isinstance(module, Noise):
            module.generator = generator
        if isinstance(module, DropPath) and drop_path is not None:
            module.rate = drop_path
