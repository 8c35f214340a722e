"""Results that torch's meta kernels predict of an operation, and where real kernels differ. Needs torch."""

from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only

aten = torch.ops.aten
NORMALISED = 3  # outputs: the result, means, and inverse deviations
WEIGHT = {aten.native_batch_norm: 1, aten.native_layer_norm: 2, aten.native_group_norm: 1}  # its position
ROOMY = {aten.mse_loss, aten.smooth_l1_loss, aten.soft_margin_loss, aten.binary_cross_entropy}


def as_run(func: OpOverload[..., Any], args: tuple[Any, ...], result: Any) -> Any:
    """Correct the types and storage sizes of a fake result.

    A norm of half inputs with float32 weights, as under autocast, saves float32 statistics on the CPU too; torch 2.13
    predicts halves. Some losses compute one number for each element and store the mean in the same storage.
    """
    weight = WEIGHT.get(func.overloadpacket)
    if weight is not None and args[weight] is not None and len(result) == NORMALISED:
        out, *statistics = result
        return out, *(one.to(args[weight].dtype) for one in statistics)
    if func.overloadpacket in ROOMY and result.dim() == 0:
        return _roomy(args[0], args[1])
    return result


def predicted_bytes(func: OpOverload[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int | None]:
    """Return the storage sizes that a trace has for the results of an operation on real arguments; None: no tensor."""
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    fake.cache_enabled = False
    with torch.no_grad(), _disable_current_modes():
        args, kwargs = tree_map_only(Tensor, lambda one: fake.from_tensor(one.detach()), (args, kwargs))
        with fake:
            made = as_run(func, args, func(*args, **kwargs))
    return [one.untyped_storage().nbytes() if isinstance(one, Tensor) else None for one in tree_leaves(made)]


def _roomy(output: Tensor, target: Tensor) -> Tensor:
    """Return a scalar in a storage with room for each element of both."""
    shape = torch.broadcast_shapes(output.shape, target.shape)  # type: ignore[no-untyped-call]
    return output.new_empty(shape).as_strided((), ())
