"""Wrappers of models: that of `torch.compile`, and those of several processes or threads, which are refused."""

import sys
import warnings
from types import FrameType
from typing import Any

COMPILED = "torch._dynamo.eval_frame"  # module of the function around a compiled call

KINDS = {  # by the name of a class of torch
    "DistributedDataParallel": "its buckets reduce gradients during the backward pass",
    "FullyShardedDataParallel": "its parameters come when they are used",
    "FSDPModule": "its parameters come when they are used",
}


def refuse_parallel(model: Any) -> None:
    """Raise TypeError for a model of several processes, or one whose replicas run in other threads."""
    for module in model.modules():
        names = [cls.__name__ for cls in type(module).__mro__]
        found = next((name for name in names if name in KINDS), None)
        if found is not None:
            raise TypeError(
                f"model: expected one of one process, got a {found}: {KINDS[found]}, which plans do not support; plan "
                "the module inside it"
            )
        if "DataParallel" in names and len(module.device_ids) > 1:
            raise TypeError(
                f"model: expected one device, got a DataParallel over {len(module.device_ids)}, whose replicas run in "
                "other threads; plan the module inside it"
            )


def uncompiled(model: Any) -> Any:
    """Return the module inside the wrapper of `torch.compile`; another model itself."""
    return getattr(model, "_orig_mod", model)


def in_compiled_call() -> bool:
    """Return whether the caller runs inside a function that `torch.compile` returned, compiled now or earlier."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == COMPILED:
            return True
        frame = frame.f_back
    return False


def warn_of_compiled(model: Any) -> None:
    """Warn that `torch.compile` has no effect on modules of a model while a plan is carried out."""
    for name, one in model.named_modules():
        if uncompiled(one) is not one or one._compiled_call_impl is not None:
            where = name or "the model"
            warnings.warn(f"{where} is compiled: it runs uncompiled while a plan is carried out", stacklevel=4)
