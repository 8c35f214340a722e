"""The loss of a fit through gpytorch's kernels and torch's autograd: an oracle of `lamcts.models.fit.Loss`."""

import warnings

import numpy as np
import torch

with warnings.catch_warnings():
    # linear_operator compiles with torch.jit when it is first imported, which torch has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    import gpytorch

from lamcts.models.coding import Inputs
from lamcts.models.fit import NO_FACTOR
from lamcts.models.posterior import SIGNAL_RATE, SIGNAL_SHAPE
from lamcts.models.priors import Prior
from lamcts.types import Floats


class TorchLoss:
    """The loss of numbers without known noise, and its gradient."""

    def __init__(self, inputs: Inputs, z: Floats, prior: Prior) -> None:
        x = inputs.numbers
        self._x, self._z = (torch.as_tensor(np.array(own), dtype=torch.float64) for own in (x, z))
        self._kernel = gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=x.shape[1]).to(torch.float64)
        self._prior = prior

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        n = len(self._z)
        log = torch.tensor(theta, dtype=torch.float64, requires_grad=True)
        # gpytorch's kernels take their length scale from a parameter; scaling the rows keeps it in the graph.
        self._kernel.lengthscale = 1.0
        rows = self._x / log[:-1].exp()
        eye = torch.eye(n, dtype=torch.float64)
        covariance = self._kernel(rows).to_dense() + log[-1].exp() * eye
        root, failed = torch.linalg.cholesky_ex(covariance)
        if failed:
            return NO_FACTOR, np.zeros_like(theta)
        sides = torch.cat([self._z, torch.ones_like(self._z[:, :1])], 1)
        white = torch.linalg.solve_triangular(root, sides, upper=False)  # [n, q + 1]
        white, ones = white[:, :-1], white[:, -1:]
        gap = white - ones @ (ones.T @ white) / ones.square().sum()
        signal = (gap.square().sum(0) / 2 + SIGNAL_RATE) / (n / 2 + SIGNAL_SHAPE + 1)  # [q]
        loss = (n / 2 + SIGNAL_SHAPE + 1) * signal.log().sum() + len(signal) * root.diagonal().log().sum()
        loss.backward()
        assert log.grad is not None
        more, slope = self._prior.loss(theta)
        return loss.item() + more, log.grad.cpu().numpy() + slope
