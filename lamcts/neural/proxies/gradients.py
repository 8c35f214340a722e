"""Proxies of the gradients of parameters: the gradient norm and SynFlow."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from lamcts.neural.proxies.copies import evaluation_copy


def gradient_norm(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return the sum of the gradient norms of all parameter tensors (Abdelfattah et al. 2021, section 3.1)."""
    made = evaluation_copy(net)
    with torch.enable_grad():
        scores = made(x).float().flatten(0, -2)  # [b, k]; of texts, [b t, k]
        functional.cross_entropy(scores, y.flatten()).backward()  # type: ignore[no-untyped-call]
    return float(sum(each.grad.double().norm() for each in made.parameters() if each.grad is not None))


def synflow(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return log(1 + R), R the sum of |w dS/dw| over all parameters w (Tanaka et al. 2020, equation 6).

    S is the summed output for an image of ones, all parameters replaced by absolute values. Batch norms are reset.
    """
    made = evaluation_copy(net, by_batch=False).double()
    for module in made.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()  # mean 0 and variance 1: almost the identity
    with torch.no_grad():
        for each in made.parameters():
            each.abs_()
    with torch.enable_grad():
        made(torch.ones_like(x[:1], dtype=torch.float64)).sum().backward()
    flows = (float((each.grad * each.detach()).sum()) for each in made.parameters() if each.grad is not None)
    return math.log1p(sum(flows))
