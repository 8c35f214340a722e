"""The protocol of a compression scheme."""

import math
from collections.abc import Callable
from typing import ClassVar, Protocol

from torch import Tensor

from lamcts.neural.compress.bucket import Bucket
from lamcts.neural.compress.group import Group

Keep = float | Callable[[int], float]  # the share that is sent, or that share by step


class Scheme(Protocol):
    """Settings of a way to send gradients: a frozen dataclass.

    Attributes
    ----------
    name : str
        The name for `hook` and `SimulatedWorkers`.
    feedback : bool
        Whether error feedback is on unless the user sets it: not for unbiased schemes.
    sparse : bool
        Whether the scheme reports the indices that were sent, which momentum correction needs.
    """

    name: ClassVar[str]
    feedback: ClassVar[bool]
    sparse: ClassVar[bool]

    def reduce(self, gradients: list[Tensor], group: Group, bucket: Bucket) -> Tensor:
        """Return the mean over all workers."""


def share(keep: Keep, step: int) -> float:
    """Return the share that is sent in a step; ValueError if it is outside of (0, 1]."""
    now = keep(step) if callable(keep) else keep
    if not 0 < now <= 1:
        raise ValueError(f"expected keep in (0, 1], the share of numbers to send, got {now} in step {step}")
    return now


def count_of(keep: Keep, step: int, size: int) -> int:
    """Return how many of `size` numbers are sent, 1 or more."""
    return max(1, min(size, math.ceil(share(keep, step) * size)))
