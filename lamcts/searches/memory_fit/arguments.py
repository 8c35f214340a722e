"""Checks of the arguments of `fit`: model, batch and optimizer. No torch."""

from collections.abc import Mapping
from typing import Any

ADAMS = ("Adam", "AdamW", "NAdam", "RAdam")  # torch optimizers with two numbers for each parameter
WORDS = "'none', 'sgd', 'momentum', 'adam' (0, 0, 1 and 2 numbers of each parameter)"


def checked_model(model: Any) -> None:
    """Raise TypeError for a non-module, and for a model that reduces gradients during the backward pass."""
    if not hasattr(model, "named_modules"):
        raise TypeError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    kinds = {cls.__name__ for one in model.modules() for cls in type(one).__mro__}
    if "DistributedDataParallel" in kinds:
        raise TypeError(
            "model: expected one of one process, got a DistributedDataParallel: its buckets reduce gradients during the"
            " backward pass, which plans do not support; fit the module inside it"
        )
    if not any(one.requires_grad for one in model.parameters()):
        raise ValueError("model: expected parameters that require gradients, got none: there is nothing to train")


def checked_batch(batch: Any) -> None:
    """Raise TypeError for a batch without tensors."""
    if not any(hasattr(one, "untyped_storage") for one in _leaves(batch)):
        raise TypeError(
            "batch: expected a tensor, a tuple of arguments, or a dict of them by name, with a tensor among them, got"
            f" {type(batch).__name__}"
        )


def optimizer_word(optimizer: Any) -> str:
    """Return the name of a torch optimizer for `trace`, which counts its state; names are returned unchanged."""
    if optimizer is None or isinstance(optimizer, str):
        return optimizer or "none"
    name, groups = type(optimizer).__name__, getattr(optimizer, "param_groups", [])
    if name == "SGD":
        return "momentum" if any(group.get("momentum") for group in groups) else "sgd"
    if name in ADAMS and not any(group.get("amsgrad") for group in groups):
        return "adam"
    got = f"{name} with amsgrad" if name in ADAMS else name
    raise ValueError(f"optimizer: expected {WORDS}, or torch's SGD or Adam, got {got}: give the word that is nearest")


def without_memory(model: Any) -> bool:
    """Return whether a model has no memory, on the "meta" device or with fake tensors, so that no step can run."""
    tensors = [*model.parameters(), *model.buffers()]
    return any(one.is_meta or type(one).__name__ == "FakeTensor" or hasattr(one, "fake_mode") for one in tensors)


def _leaves(values: Any) -> list[Any]:
    if isinstance(values, Mapping):
        return [leaf for one in values.values() for leaf in _leaves(one)]
    if isinstance(values, (list, tuple)):
        return [leaf for one in values for leaf in _leaves(one)]
    return [values]
