"""Name the line of a model that depends on values of tensors, which a trace does not have. Needs torch."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

VALUES = {"_local_scalar_dense": "a Python number of a tensor"}  # by operation
OWN = (Path(torch.__file__).parent, Path(__file__).parent)  # folders whose lines are not the user's
WITHOUT_BRANCH = (
    "replace a branch or a boolean index by torch.where or by a product with a mask, or compute it before the model is "
    "called"
)
COMPILED = (
    "the layer reads values itself: take fit_compiled, which runs such layers, or put a layer or a formula without "
    "them there"
)
NUMPY = ".numpy() is not supported"  # how torch refuses the values of a fake tensor


class DataDependence(ValueError):
    """A model depends on values of tensors; the message names the line and the cure."""


@contextmanager
def data_dependence(model: nn.Module) -> Iterator[None]:
    """Raise `DataDependence` with the line and the layer if a step of a model needs values of tensors in the block."""
    try:
        yield
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        operation = error.func._overloadpacket.__name__
        raise DataDependence(_text(model, error, VALUES.get(operation, f"the shape of {operation}"))) from error
    except RuntimeError as error:
        if NUMPY not in str(error):
            raise
        raise DataDependence(_text(model, error, "a NumPy array of a tensor")) from error


def _text(model: nn.Module, error: Exception, what: str) -> str:
    """Return the message, with the innermost line outside torch and outside this package, and the layer of torch."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [one for one in frames if not any(Path(one.filename).is_relative_to(folder) for folder in OWN)]
    place = f"{lines[-1].filename}:{lines[-1].lineno}: {lines[-1].line}: " if lines else ""
    layer = _layer(model, error)
    cure = WITHOUT_BRANCH if layer is None else COMPILED
    return (
        f"{place}{f'{layer}: ' if layer else ''}expected operations that depend on shapes alone, got {what}, which "
        f"depends on values: {cure}"
    )


def _layer(model: nn.Module, error: Exception) -> str | None:
    """Return the layer of torch in which an error was raised, and its place in the model; None outside such layers."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == "forward")
    found = [one for frame in frames if isinstance(one := frame.f_locals.get("self"), nn.Module)]
    if not found or not type(found[-1]).__module__.startswith("torch."):
        return None
    names = [name for name, one in model.named_modules() if one is found[-1]]
    return f"{type(found[-1]).__name__}({found[-1].extra_repr()}) at {names[0] if names else 'the loss'}"
