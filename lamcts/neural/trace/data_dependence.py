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
LAYERS = tuple(OWN[0] / name for name in ("nn", "distributions", "ao"))  # folders of layers and their functions
CALLS = nn.Module.__call__.__code__.co_filename  # of every module
WITHOUT_BRANCH = (
    "replace a branch or a boolean index by torch.where or by a product with a mask, or compute it before the model is "
    "called"
)
COMPILED = (
    "that code of torch reads values itself: take memory.fit_compiled, which runs it without a graph, or replace it by "
    "a formula that does not"
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
    lines = [one for one in frames if not _is_in(one.filename, OWN)]
    place = f"{lines[-1].filename}:{lines[-1].lineno}: {lines[-1].line}: " if lines else ""
    layer = _layer(model, error)
    layer, cure = (f"{layer}: ", COMPILED) if layer else ("", WITHOUT_BRANCH)
    return f"{place}{layer}expected operations that depend on shapes alone, got {what}, which depends on values: {cure}"


def _layer(model: nn.Module, error: Exception) -> str:
    """Return the layer or function of torch in which an error was raised, with its place in the model; else ""."""
    found = ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        file, one = frame.f_code.co_filename, frame.f_locals.get("self")
        if not _is_in(file, OWN):
            found = ""  # called by a line of the model
        elif _is_in(file, LAYERS) and file != CALLS:
            if isinstance(one, nn.Module):
                names = [name for name, other in model.named_modules() if other is one]
                found = f"{type(one).__name__}({one.extra_repr()}) {f'at {names[0]}' if names else 'in the loss'}"
            found = found or f"{frame.f_globals['__name__']}.{frame.f_code.co_name}"
    return found


def _is_in(file: str, folders: tuple[Path, ...]) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in folders)
