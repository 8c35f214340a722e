"""Which models run in several processes or threads, whose steps no plan follows."""

from typing import Any

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
