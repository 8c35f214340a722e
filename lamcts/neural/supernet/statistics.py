"""Batch-norm statistics of one network of a supernet, whose own statistics average architectures."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


@torch.no_grad()
def recalibrate(net: nn.Module, batches: Iterable[Tensor]) -> None:
    """Estimate all batch-norm statistics of a network from examples: the means over the batches.

    Nothing else changes, and no random numbers are drawn.

    Parameters
    ----------
    net : torch.nn.Module
        The network, changed in place.
    batches : iterable of tensor
        Batches of training examples.
    """
    norms = [module for module in net.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    training, momenta = net.training, [norm.momentum for norm in norms]
    net.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.train()
        norm.momentum = None  # cumulative mean over all batches
    for x in batches:
        net(x)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    net.train(training)
