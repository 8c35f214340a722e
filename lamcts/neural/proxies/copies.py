"""Copies of networks that a proxy may change."""

import copy

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


def evaluation_copy(net: nn.Module, by_batch: bool = True) -> nn.Module:
    """Return a copy in evaluation mode without gradients; no random layer draws."""
    made = copy.deepcopy(net).eval()
    made.zero_grad(set_to_none=True)
    for module in made.modules():
        if by_batch and isinstance(module, _BatchNorm):
            module.train()
    return made
