"""Communication hooks of DistributedDataParallel."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from lamcts.neural.compress.group import Processes
from lamcts.neural.compress.schemes import Scheme, make
from lamcts.neural.compress.state import State

Hook = Callable[[State, dist.GradBucket], torch.futures.Future[Tensor]]


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
    """Return the state and the hook for `ddp.register_comm_hook(state, hook)`."""
    state = State(
        make(scheme, options), feedback=feedback, warmup=warmup, momentum=momentum, measure=measure, seed=seed
    )
    numbers: dict[int, int] = {}
    groups: list[Processes] = []

    def reduce(state: State, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        if not groups:
            groups.append(Processes(process_group))
        flat, parameters = bucket.buffer(), bucket.parameters()
        keys = tuple(numbers.setdefault(id(one), len(numbers)) for one in parameters)
        mean = state.reduce([flat], keys, tuple(one.shape for one in parameters), groups[0])
        state.step += bucket.is_last()
        done: torch.futures.Future[Tensor] = torch.futures.Future()
        done.set_result(mean.to(flat.dtype))
        return done

    return state, reduce
