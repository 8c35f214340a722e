"""What networks draw as they train: from generators of their own, so that no global one is touched."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn


class Source(torch.Generator):
    """A generator that travels to other processes as numbers.

    Torch would send a tensor through shared memory that is gone before the process opens it (torch 2.13, "spawn").
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.get_state().numpy(),)


def _restored(state: NDArray[Any]) -> Source:
    made = Source()
    made.set_state(torch.from_numpy(state))
    return made


class Noise(nn.Module):
    """A module that draws while it trains. `reseed` says from what; until then, and where it is judged, it is quiet."""

    def __init__(self, rate: float = 0.0) -> None:
        super().__init__()
        self.rate = rate
        self.generator: torch.Generator | None = None

    @property
    def quiet(self) -> bool:
        return not self.training or self.rate == 0.0 or self.generator is None

    def kept(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Return what to multiply by: 0 with probability `rate`, else what keeps the mean; drawn on the CPU."""
        stays = torch.rand(shape, generator=self.generator) >= self.rate
        return stays.to(like.device, like.dtype) / (1 - self.rate)


class DropPath(Noise):
    """Leaves a path out, example by example (Larsson 2017; Zoph 2018, whose rate grows as training goes on)."""

    def forward(self, x: Tensor) -> Tensor:
        return x if self.quiet else x * self.kept((len(x), *[1] * (x.ndim - 1)), x)


class Dropout(Noise):
    """Leaves numbers out; `shared`: one draw for all places of an axis, such as the words of a text (Gal 2016)."""

    def __init__(self, rate: float, shared: int | None = None) -> None:
        super().__init__(rate)
        self.shared = shared

    def forward(self, x: Tensor) -> Tensor:
        shape = tuple(1 if axis == self.shared else length for axis, length in enumerate(x.shape))
        return x if self.quiet else x * self.kept(shape, x)


def reseed(net: nn.Module, seed: int, drop_path: float | None = None) -> None:
    """Let the modules of a network that draw do so from one generator; `drop_path`: how likely a path is dropped."""
    generator = Source()
    generator.manual_seed(seed)
    for module in net.modules():
        if isinstance(module, Noise):
            module.generator = generator
        if isinstance(module, DropPath) and drop_path is not None:
            module.rate = drop_path
