"""Corrections of fake results whose types or sizes differ from the real ones. Needs torch."""

from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

NORMALISED = 3  # outputs: the result, means, and inverse deviations
aten = torch.ops.aten
ROOMY = {aten.mse_loss, aten.smooth_l1_loss, aten.soft_margin_loss, aten.binary_cross_entropy}


def as_run(func: OpOverload[..., Any], args: tuple[Any, ...], result: Any) -> Any:
    """Correct the types and storage sizes of a fake result.

    A batch norm of half inputs with float32 weights, as under autocast, saves float32 statistics on the CPU too; torch
    2.13's decomposition gives halves. Some losses compute one number for each element and store the mean in the same
    storage.
    """
    if func is aten.native_batch_norm.default and args[1] is not None and len(result) == NORMALISED:
        out, *statistics = result
        return out, *(one.to(args[1].dtype) for one in statistics)
    if func.overloadpacket in ROOMY and result.dim() == 0:
        return _roomy(args[0], args[1])
    return result


def _roomy(output: Tensor, target: Tensor) -> Tensor:
    """Return a scalar in a storage with room for each element of both."""
    shape = torch.broadcast_shapes(output.shape, target.shape)  # type: ignore[no-untyped-call]
    return output.new_empty(shape).as_strided((), ())
