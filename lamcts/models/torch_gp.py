"""The posterior of `posterior.py` through gpytorch, on CPU or CUDA: an independent route to the same numbers.

The closed form is faster up to some thousand rows; on a GPU this one takes over beyond. Importing it loads torch.
Letters: n rows in the model, m rows asked about, d coordinates.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import shorten
from typing import TypeVar

import numpy as np
import torch

with warnings.catch_warnings():
    # linear_operator compiles with torch.jit when it is first imported, which torch has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    import gpytorch
    from linear_operator.utils.cholesky import psd_safe_cholesky

from lamcts.models.coding import Inputs
from lamcts.models.fit import NO_FACTOR, complete, search, shares
from lamcts.models.kernel import Hyper
from lamcts.models.known_noise import KnownNoise
from lamcts.models.posterior import SIGNAL_RATE, SIGNAL_SHAPE, Posterior
from lamcts.models.priors import Prior
from lamcts.types import Floats

MAX_CHARACTERS = 150  # of torch's reason in a message (untuned)
MIN_NOISE = 1e-12  # the library's parameters are positive (untuned: far below `NOISE_BOUNDS` of a fit)

T = TypeVar("T", bound="TorchPosterior")


def check(device: str) -> None:
    """Raise ValueError for a device that torch does not have here, or that has no double precision."""
    try:
        torch.zeros(1, dtype=torch.float64, device=device).tolist()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:  # as the kind of device may be
        here = [None, "cpu"] + [f"cuda:{i}" for i in range(torch.cuda.device_count())]
        reason = shorten(str(error), MAX_CHARACTERS, placeholder=" ...")
        raise ValueError(f"device: expected one of {here}, got {device!r}: {reason}") from None


class TorchPosterior(Posterior):
    """The posterior of numbers with its covariances, factors and solutions by gpytorch on `device`."""

    device = "cpu"

    def _factorise(self) -> None:
        n, kernel = len(self.inputs), gpytorch.kernels.MaternKernel(nu=2.5).to(self.device, torch.float64)
        kernel.lengthscale = 1.0  # the rows are scaled
        with torch.no_grad(), exactly():
            covariance = kernel(self._tensor(self.kernel.scaled)).to_dense()
            noise = self._tensor(np.maximum(self.noise, MIN_NOISE))
            covariance = covariance + noise * torch.eye(n).to(covariance)
            self._triangle = psd_safe_cholesky(covariance)  # [n, n], lower

    def whiten(self, b: Floats) -> Floats:
        return self._solve(self._triangle, b, upper=False)

    def unwhiten(self, v: Floats) -> Floats:
        return self._solve(self._triangle.T, v, upper=True)

    def _solve(self, triangle: torch.Tensor, b: Floats, upper: bool) -> Floats:
        result: Floats = torch.linalg.solve_triangular(triangle, self._tensor(b), upper=upper).cpu().numpy()
        return result

    def _grown(self: T, inputs: Inputs) -> T:
        """Return a posterior of more rows, without columns yet, with a new factor."""
        new = self._with_rows(inputs)
        new._factorise()
        return new

    def _tensor(self, x: Floats) -> torch.Tensor:
        return torch.as_tensor(np.array(x), dtype=torch.float64, device=self.device)


def process_on(device: str) -> type[TorchPosterior]:
    """Return the class of processes on a device."""
    return type("TorchPosterior", (TorchPosterior,), {"device": device})


def fit(
    inputs: Inputs,
    z: Floats,
    prior: Prior,
    start: Hyper,
    iterations: int,
    known: KnownNoise | None = None,
    device: str = "cpu",
) -> tuple[Hyper, float]:
    """Return what `lamcts.models.fit.fit` returns, by gpytorch's kernels and automatic gradients on `device`."""
    known = shares(inputs, z, start, known)
    return search(TorchLoss(*complete(inputs, z), prior, device, known), prior, start, iterations)


class TorchLoss:
    """The loss of `lamcts.models.fit.Loss` and its gradient, by gpytorch's kernels and torch's autograd."""

    def __init__(
        self, inputs: Inputs, z: Floats, prior: Prior, device: str = "cpu", known: KnownNoise | None = None
    ) -> None:
        x, every = inputs.numbers, np.ones(len(z))
        known = KnownNoise(0.0 * every, every) if known is None else known
        fitted, fixed = known.fitted, known.diagonal(0.0)
        self._fitted, self._fixed = (
            torch.as_tensor(own, dtype=torch.float64, device=device) for own in (fitted, fixed)
        )
        self._x = torch.as_tensor(np.array(x), dtype=torch.float64, device=device)
        self._z = torch.as_tensor(np.array(z), dtype=torch.float64, device=device)
        self._kernel = gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=x.shape[1]).to(device, torch.float64)
        self._prior = prior

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        n = len(self._z)
        log = torch.tensor(theta, dtype=torch.float64, device=self._x.device, requires_grad=True)
        # gpytorch's kernels take their length scale from a parameter; scaling the rows keeps it in the graph.
        self._kernel.lengthscale = 1.0
        rows = self._x / log[:-1].exp()
        eye = torch.eye(n, dtype=torch.float64, device=self._x.device)
        covariance = self._kernel(rows).to_dense() + (log[-1].exp() * self._fitted + self._fixed) * eye
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


@contextmanager
def exactly() -> Iterator[None]:
    """Have gpytorch use Cholesky factors, not iterative approximations, whatever the size."""
    settings = gpytorch.settings
    with settings.fast_computations(False, False, False), settings.max_cholesky_size(10**9), settings.debug(False):
        yield
