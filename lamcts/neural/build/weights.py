"""Initial weights from a seed: those of a module depend on its path in the network only."""

import zlib
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from lamcts.rng import stream

Net = TypeVar("Net", bound=nn.Module)
RECTIFIED = 2**0.5  # gain of layers before a ReLU (He 2015); other layers have an attribute `gain`
EMBEDDED = 0.1  # bound of uniform word embeddings (Zaremba 2014, ENAS)


def initialised(make: Callable[[], Net], seed: int) -> Net:
    """Return the network that a function builds, on the CPU, its weights drawn from a seed."""
    with torch.device("meta"):  # with memory, layers would draw weights from the global generator
        net = make()
    net.to_empty(device="cpu")
    initialise(net, seed)
    return net


@torch.no_grad()
def initialise(net: nn.Module, seed: int) -> None:
    """Draw all weights of a network; convolutions and linear layers are normal by fan-in (He 2015)."""
    for path, module in net.named_modules():
        if isinstance(module, nn.modules.batchnorm._NormBase | nn.GroupNorm | nn.LayerNorm):
            module.reset_parameters()  # draws nothing
        elif isinstance(module, nn.Conv2d | nn.Linear):
            deviation = getattr(module, "gain", RECTIFIED) / module.weight[0].numel() ** 0.5
            drawn = _of(seed, path).normal(0.0, deviation, tuple(module.weight.shape))
            module.weight.copy_(torch.from_numpy(drawn))
            if module.bias is not None:
                module.bias.zero_()
        elif isinstance(module, nn.Embedding):
            drawn = _of(seed, path).uniform(-EMBEDDED, EMBEDDED, tuple(module.weight.shape))
            module.weight.copy_(torch.from_numpy(drawn))
        elif own := [
            name for name, _ in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
        ]:
            raise TypeError(f"{path}: expected layers that can be initialised, got {type(module).__name__} with {own}")


def _of(seed: int, path: str) -> np.random.Generator:
    return stream(seed, zlib.crc32(path.encode()))
