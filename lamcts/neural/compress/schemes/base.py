"""The protocol of a compression scheme."""

from collections.abc import Callable
from typing import ClassVar, Protocol

from torch import Tensor

from lamcts.neural.compress.bucket import Bucket
from lamcts.neural.compress.group import Group

Keep = float | Callable[[int], float]  # the share that is sent, or that share by step


class Scheme(Protocol):
    """Settings of a way to send gradients: a frozen dataclass."""

    name: ClassVar[str]
    feedback: ClassVar[bool]  # whether what was not sent is added to the next gradient, unless the user sets it
    sparse: ClassVar[bool]  # whether momentum correction is possible

    def reduce(self, gradients: list[Tensor], group: Group, bucket: Bucket) -> Tensor:
        """Return the mean over all workers.

        Parameters
        ----------
        gradients : list of Tensor
            A flat float32 vector for each worker of this process. It becomes what that worker did not send.
        group : Group
            The collectives.
        bucket : Bucket
            The parameters, the step, and what the scheme keeps.
        """


def share(keep: Keep, step: int) -> float:
    """Return the share that is sent in a step; ValueError if it is outside of (0, 1]."""
    now = keep(step) if callable(keep) else keep
    if not 0 < now <= 1:
        raise ValueError(f"expected keep in (0, 1], the share of numbers to send, got {now} in step {step}")
    return now
