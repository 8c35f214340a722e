"""Simulated workers: the gradients that the hook would return, in one process."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from lamcts.neural.compress.group import Simulated
from lamcts.neural.compress.schemes import make
from lamcts.neural.compress.schemes.base import Scheme
from lamcts.neural.compress.state import Report, State

Gradients = Sequence[Sequence[Tensor | None]]  # by worker, by parameter


class SimulatedWorkers:
    """Workers in one process, which reduce their gradients as the hook of `hook` does.

    Parameters
    ----------
    scheme : str or Scheme
        As in `hook`.
    workers : int
        Number of workers, 1 or more.
    feedback, warmup, momentum, measure, seed : optional
        As in `hook`.
    **options
        Options of the scheme, as in `hook`.

    Attributes
    ----------
    state : State
        As that of `hook`: `report`, `state_dict`, `load_state_dict`.

    Notes
    -----
    Two workers return what two processes with gloo do, to the last bit, and so do more for schemes that gather. A ring
    all-reduce of more processes adds in another order, which changes the last bits.

    Examples
    --------
    >>> import torch
    >>> from lamcts.neural import compress
    >>> workers = compress.SimulatedWorkers("topk", workers=2, keep=0.25, values="fp32")
    >>> gradients = [[torch.tensor([1.0, 0, 0, 5])], [torch.tensor([3.0, 1, 0, 2])]]
    >>> workers.step(gradients)  # each sends its largest number
    [tensor([1.5000, 0.0000, 0.0000, 2.5000])]
    >>> workers.step(gradients)  # what was not sent is added: 2 0 0 5, and 3 2 0 4
    [tensor([0.0000, 0.0000, 0.0000, 4.5000])]
    """

    def __init__(
        self,
        scheme: str | Scheme,
        *,
        workers: int,
        feedback: bool | None = None,
        warmup: int = 0,
        momentum: float = 0.0,
        measure: int = 0,
        seed: int = 0,
        **options: Any,
    ) -> None:
        self._group = Simulated(workers)
        self.state = State(
            make(scheme, options), feedback=feedback, warmup=warmup, momentum=momentum, measure=measure, seed=seed
        )

    def step(self, gradients: Gradients, buckets: Sequence[Sequence[int]] | None = None) -> list[Tensor | None]:
        """Return the mean gradient of each parameter."""
        count = len(gradients[0]) if gradients else 0
        if len(gradients) != self._group.size or any(len(one) != count for one in gradients):
            raise ValueError(
                f"expected gradients of {self._group.size} workers for the same parameters, got lists of lengths "
                f"{[len(one) for one in gradients]}"
            )
        means: list[Tensor | None] = [None] * count
        for keys in buckets or [range(count)]:
            self._reduce(gradients, keys, means)
        self.state.end_step()
        return means

    def report(self) -> Report:
        """Return costs and errors of the steps so far."""
        return self.state.report()

    def _reduce(self, gradients: Gradients, keys: Sequence[int], means: list[Tensor | None]) -> None:
        """Write the means of a bucket."""
        like = {key: one for key in keys if (one := _first(gradients, key)) is not None}
        if not like:
            return
        local = [torch.cat([_flat(worker[key], one) for key, one in like.items()]) for worker in gradients]
        shapes = tuple(one.shape for one in like.values())
        mean = self.state.reduce(local, tuple(like), shapes, self._group)
        pieces = torch.split(mean, [shape.numel() for shape in shapes])
        for (key, one), piece in zip(like.items(), pieces, strict=True):
            means[key] = piece.view_as(one)


def _first(gradients: Gradients, key: int) -> Tensor | None:
    """Return the first gradient of a parameter that is there."""
    return next((one for worker in gradients if (one := worker[key]) is not None), None)


def _flat(gradient: Tensor | None, like: Tensor) -> Tensor:
    """Return a gradient as a vector, 0 if there is none; TypeError if it is not float32."""
    if gradient is None:
        return torch.zeros_like(like).reshape(-1)
    if gradient.dtype != torch.float32:
        raise TypeError(f"expected gradients in float32, got {gradient.dtype}: convert them, gradient.float()")
    return gradient.reshape(-1)
