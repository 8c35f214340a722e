"""Where fake tensors are told another type than the operation really gives. Needs torch."""

from typing import Any

import torch

NORMALISED = 3  # outputs: the result, means, and inverse deviations


def as_run(func: Any, args: Any, result: Any) -> Any:
    """Return the fake result of an operation with the types that the real one has.

    A batch-norm of halves with float32 weights, as autocast makes it, saves float32 statistics on the CPU too; torch
    2.13's decomposition says that they are halves there.
    """
    if func is not torch.ops.aten.native_batch_norm.default or args[1] is None or len(result) != NORMALISED:
        return result
    out, *statistics = result
    return out, *(one.to(args[1].dtype) for one in statistics)
