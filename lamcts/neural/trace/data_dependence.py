"""Name the line of a model that depends on values of tensors, which a trace does not have. Needs torch."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

VALUES = {"_local_scalar_dense": "a Python number of a tensor"}  # by operation
OWN = (Path(torch.__file__).parent, Path(__file__).parent)  # folders whose lines are not the user's
NUMPY = ".numpy() is not supported"  # how torch refuses the values of a fake tensor


class DataDependence(ValueError):
    """A model depends on values of tensors; the message names the line and the cure."""


@contextmanager
def data_dependence() -> Iterator[None]:
    """Raise `DataDependence` with the line of the model if it needs values of tensors inside the block."""
    try:
        yield
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        operation = error.func._overloadpacket.__name__
        raise DataDependence(_text(error, VALUES.get(operation, f"the shape of {operation}"))) from error
    except RuntimeError as error:
        if NUMPY not in str(error):
            raise
        raise DataDependence(_text(error, "a NumPy array of a tensor")) from error


def _text(error: Exception, what: str) -> str:
    """Return the message, with the innermost line outside torch and outside this package."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [one for one in frames if not any(Path(one.filename).is_relative_to(folder) for folder in OWN)]
    place = f"{lines[-1].filename}:{lines[-1].lineno}: {lines[-1].line}: " if lines else ""
    return (
        f"{place}expected operations that depend on shapes alone, got {what}, which depends on values: replace a "
        "branch or a boolean index by torch.where or by a product with a mask, or compute it before the model is called"
    )
