"""Communication hooks of DistributedDataParallel."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from lamcts.neural.compress.group import TorchGroup
from lamcts.neural.compress.schemes import make
from lamcts.neural.compress.schemes.base import Scheme
from lamcts.neural.compress.state import State

Hook = Callable[[State, Any], "torch.futures.Future[Tensor]"]
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def hook(
    scheme: str | Scheme,
    *,
    feedback: bool | None = None,
    warmup: int = 0,
    momentum: float = 0.0,
    measure: int = 0,
    seed: int = 0,
    process_group: Any = None,
    **options: Any,
) -> tuple[State, Hook]:
    """Return a state and a hook for `DistributedDataParallel.register_comm_hook`.

    Parameters
    ----------
    scheme : str or Scheme
        "none", "topk", "shared-topk", "fft", "qsgd", "terngrad" or "powersgd"; or one of the classes of `SCHEMES`,
        made.
    feedback : bool, optional
        Error feedback: what was not sent is added to the next gradient. By default on, but for the unbiased schemes
        "qsgd" and "terngrad", and for "none". The error of "terngrad" is too large for feedback to converge.
    warmup : int, default 0
        Number of steps in float32 before compression begins.
    momentum : float, default 0
        Momentum correction of sparse schemes (Lin et al. 2018), in [0, 1): velocities are sent, not gradients. Take
        the momentum from the optimizer then.
    measure : int, default 0
        Every so many steps one more all-reduce measures alpha of Assumption 3; 0 for never. Its bytes are not counted.
    seed : int, default 0
        Seed of random numbers, equal on all processes.
    process_group : ProcessGroup, optional
        The group of the model; the default is that of `init_process_group`.
    **options
        Options of the scheme: `keep` and `values` of "topk", "shared-topk" and "fft"; `bits` and `block` of "qsgd";
        `clip` of "terngrad"; `rank` of "powersgd".

    Returns
    -------
    state : State
        The progress: `state.report()`, and `state.state_dict()` to resume.
    hook : callable
        The function to register with the state.

    Raises
    ------
    ValueError
        For an unknown scheme, or an option out of its range.
    TypeError
        For an option that the scheme does not take.

    Notes
    -----
    The hook waits for its messages, so that they do not overlap with the backward pass. The memory is kept by
    parameter, since DistributedDataParallel regroups its buckets after the first step. With one process gradients
    are compressed all the same. All gradients have one dtype, float32, float16 or bfloat16, and one device.

    DistributedDataParallel drops the mean of a parameter that no process used in a step, and with it what feedback
    added.

    The state numbers parameters in the order in which buckets first bring them. So a resumed training needs the same
    model and the same `bucket_cap_mb`.

    Examples
    --------
    >>> import torch
    >>> from lamcts.neural import compress
    >>> store = torch.distributed.HashStore()  # with several processes, start them by torchrun
    >>> torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    >>> layer = torch.nn.utils.skip_init(torch.nn.Linear, 100, 10)
    >>> ddp = torch.nn.parallel.DistributedDataParallel(layer)
    >>> state, hook = compress.hook("topk", keep=0.01, values="range8")
    >>> ddp.register_comm_hook(state, hook)
    >>> ddp(torch.ones(4, 100)).sum().backward()
    >>> int(sum(one.grad.count_nonzero() for one in layer.parameters()))
    11
    >>> torch.distributed.destroy_process_group()
    """
    state = State(
        make(scheme, options), feedback=feedback, warmup=warmup, momentum=momentum, measure=measure, seed=seed
    )
    buckets = _Buckets(process_group)

    def reduce(state: State, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:  # type: ignore[name-defined]
        flat, keys, shapes = buckets.read(bucket)
        mean = state.reduce([flat.float()], keys, shapes, buckets.group)
        if bucket.is_last():
            state.end_step()
        done: torch.futures.Future[Tensor] = torch.futures.Future(devices=[flat.device] if flat.is_cuda else [])
        done.set_result(mean.to(flat.dtype))
        return done

    return state, reduce


class _Buckets:
    """The buckets of a model: their group, and the numbers of its parameters."""

    def __init__(self, process_group: Any) -> None:
        self._process_group = process_group
        self._numbers: dict[int, int] = {}
        self._parameters: list[Tensor] = []  # kept alive, so that no other takes their id
        self._like: Tensor | None = None

    @cached_property
    def group(self) -> TorchGroup:
        """The processes; they have met when the first bucket comes."""
        return TorchGroup(self._process_group)

    def read(self, bucket: Any) -> tuple[Tensor, tuple[int, ...], tuple[torch.Size, ...]]:
        """Return the flat gradient of a bucket, and the numbers and shapes of its parameters."""
        parameters = bucket.parameters()
        keys = tuple(self._number(one) for one in parameters)
        return self._checked(bucket.buffer()), keys, tuple(one.shape for one in parameters)

    def _number(self, parameter: Tensor) -> int:
        """Return the number of a parameter, by the order in which buckets brought them."""
        if id(parameter) not in self._numbers:
            self._numbers[id(parameter)] = len(self._parameters)
            self._parameters.append(parameter)
        return self._numbers[id(parameter)]

    def _checked(self, flat: Tensor) -> Tensor:
        """Return the gradients of a bucket; an error if they are sparse, or unlike those of the first bucket."""
        if flat.layout != torch.strided or flat.dtype not in DTYPES:
            raise TypeError(
                f"expected dense gradients in float32, float16 or bfloat16, got {flat.layout}, {flat.dtype}"
            )
        like = self._like = flat if self._like is None else self._like
        if flat.dtype != like.dtype:
            raise TypeError(f"expected gradients of one dtype, got {like.dtype} and {flat.dtype}: convert the model")
        if flat.device != like.device:
            raise ValueError(
                f"expected gradients on one device, got {like.device} and {flat.device}: use one device a process"
            )
        return flat
