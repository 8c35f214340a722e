"""Loss of a fit by gpytorch's kernel on a device of torch, for more rows than the closed form handles."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.models.coding import Inputs
from lamcts.models.fit import NO_FACTOR
from lamcts.models.posterior import SIGNAL_SHAPE, profiled_signal
from lamcts.models.priors import Prior
from lamcts.types import Floats

try:
    import torch

    with warnings.catch_warnings():
        # linear_operator compiles with torch.jit when it is first imported, which torch has deprecated
        warnings.simplefilter("ignore", DeprecationWarning)
        import gpytorch
except ImportError:
    raise MissingExtra.of("gpytorch", "torch") from None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread on the CPU, as BLAS is."""
    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


class GpytorchLoss:
    """The loss of `fit.Loss` for numbers without known noise, with its gradient, in float64.

    The factor needs no derivative: the loss along the kernel has the derivative `W / 2` with `W` of `fit.Loss`, and
    autograd propagates it through the kernel. Letters: n rows, q numbers, r columns.
    """

    def __init__(self, inputs: Inputs, z: Floats, prior: Prior, device: str) -> None:
        q = inputs.numbers.shape[1]
        x, self._z = (torch.tensor(a, dtype=torch.float64, device=device) for a in (inputs.numbers, z))
        self._x = x
        self._prior = prior
        self._sides = torch.hstack([self._z, torch.ones_like(x[:, :1])])
        self._kernel = gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=q).to(x)
        self._kernel.lengthscale = 1.0  # the rows are scaled instead: autograd then sees the length scales

    @one_thread()
    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        (n, r), noise = self._z.shape, math.exp(theta[-1])
        log_lengths = torch.tensor(theta[:-1]).to(self._x).requires_grad_()
        kernel = self._kernel(self._x / log_lengths.exp()).to_dense()  # [n, n]
        with torch.no_grad():
            covariance = kernel.clone()
            covariance.diagonal().add_(noise)
            root, info = torch.linalg.cholesky_ex(covariance)
            if info:
                return NO_FACTOR, np.zeros(len(theta))
            solved = torch.cholesky_solve(self._sides, root)  # C^-1 z, C^-1 1
            mean = solved[:, :-1].sum(0) / solved[:, -1].sum()
            weights = solved[:, :-1] - solved[:, -1:] * mean
            squares: Any = (weights * (self._z - mean)).sum(0)
            signal = profiled_signal(squares, n)  # [r]
            value = (n / 2 + SIGNAL_SHAPE + 1) * signal.log().sum() + r * root.diagonal().log().sum()
            w = r * torch.cholesky_inverse(root) - (weights / signal) @ weights.T
        (gradient,) = torch.autograd.grad(kernel, log_lengths, w / 2)
        prior_value, prior_gradient = self._prior.loss(theta)
        return value.item() + prior_value, torch.hstack(
            [gradient, noise * w.trace() / 2]
        ).cpu().numpy() + prior_gradient


def check_device(name: str) -> None:
    """Raise ValueError unless torch computes in float64 on a device."""
    try:
        if not isinstance(name, str):
            raise TypeError("no name")
        torch.ones(1, dtype=torch.float64, device=name).item()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        expected = "expected a device on which torch computes in float64, such as 'cpu' or 'cuda'"
        why = str(error).strip().partition("\n")[0]
        raise ValueError(f"GpBo: device: {expected}, got {name!r} ({why}); None is NumPy on the CPU") from None
