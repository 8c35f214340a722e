"""Simulated workers: the gradients that the hook would return, in one process."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from lamcts.neural.compress.group import Simulated
from lamcts.neural.compress.schemes import Scheme, make
from lamcts.neural.compress.state import State


class Workers:
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

    Examples
    --------
    >>> import torch
    >>> from lamcts.neural import compress
    >>> workers = compress.Workers("topk", workers=2, keep=0.25, values="fp32")
    >>> gradients = [[torch.tensor([1.0, 0, 0, 5])], [torch.tensor([3.0, 1, 0, 2])]]  # by worker, by parameter
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
        self.group = Simulated(workers)
        self.state = State(
            make(scheme, options), feedback=feedback, warmup=warmup, momentum=momentum, measure=measure, seed=seed
        )

    def step(
        self, gradients: Sequence[Sequence[Tensor | None]], buckets: Sequence[Sequence[int]] | None = None
    ) -> list[Tensor | None]:
        """Return the mean gradient of each parameter.

        Parameters
        ----------
        gradients : list of list of Tensor or None
            By worker, then by parameter. None counts as 0, unless no worker has a gradient.
        buckets : list of list of int, optional
            The parameters that are reduced together, in order. By default all, in one bucket.
        """
        if len(gradients) != self.group.size:
            raise ValueError(f"expected gradients of {self.group.size} workers, got those of {len(gradients)}")
        means: list[Tensor | None] = [None] * len(gradients[0])
        for keys in buckets or [range(len(means))]:
            self._reduce(gradients, [key for key in keys if any(one[key] is not None for one in gradients)], means)
        self.state.step += 1
        return means

    def report(self) -> Any:
        """Return costs and errors of the steps so far, a `Report`."""
        return self.state.report()

    def _reduce(
        self, gradients: Sequence[Sequence[Tensor | None]], keys: list[int], means: list[Tensor | None]
    ) -> None:
        """Write the means of a bucket."""
        if not keys:
            return
        like = [next(one[key] for one in gradients if one[key] is not None) for key in keys]
        local = [
            torch.cat(
                [
                    torch.zeros_like(some).reshape(-1) if one[key] is None else one[key].reshape(-1)
                    for key, some in zip(keys, like, strict=True)
                ]
            )
            for one in gradients
        ]
        flat = self.state.reduce(local, tuple(keys), tuple(one.shape for one in like), self.group)
        for key, some, part in zip(keys, like, flat.split([one.numel() for one in like]), strict=True):
            means[key] = part.view_as(some)
