"""Export of networks to files that run without lamcts: torch's exported programs, and ONNX."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from lamcts.errors import MissingExtra
from lamcts.text import safe_text

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.export import ExportedProgram

ONNX_PACKAGES = ("onnx", "onnxscript")  # of torch's exporter; no extra brings them, since nothing else needs them
LEAST = 2  # examples: torch treats a batch of one as a constant


def export_network(net: "nn.Module", example: "Tensor | NDArray[Any]", path: Path | str) -> bool:
    """Export a network to a file that runs without its code. Needs torch; ONNX needs onnx and onnxscript.

    Parameters
    ----------
    net : torch.nn.Module
        The network, exported in evaluation mode; its mode is kept.
    example : torch.Tensor or array
        A batch of at least two examples, on the device of the network.
    path : path
        File to write: .pt2 for `torch.export.load`, or .onnx.

    Returns
    -------
    bool
        Whether the exported network takes batches of any size, or else only of the example's.

    Raises
    ------
    ValueError
        If the suffix is another one, the example is too small, or torch cannot export the network.
    MissingExtra
        If the packages for ONNX are not installed.
    """
    write = checked_format(path)
    if len(example) < LEAST:
        raise ValueError(f"example: expected a batch of at least {LEAST} examples, got {len(example)}")
    training = net.training
    try:
        program = _program(net.eval(), example)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write(program, str(path))
    except Exception as error:  # torch has no common class for what it cannot export
        text = f"{type(error).__name__}: {safe_text(error)}"
        raise ValueError(f"{path}: expected a network that torch can export, got {text:.300}") from error
    finally:
        net.train(training)
    return any(each.lower != each.upper for each in program.range_constraints.values())


def checked_format(path: Path | str) -> "Callable[[ExportedProgram, str], None]":
    """Return what writes the format of a file; ValueError for another suffix, MissingExtra without its packages."""
    suffix = Path(path).suffix
    if suffix not in FORMATS:
        raise ValueError(f"expected a file that ends in {' or '.join(FORMATS)}, got {str(path)!r}")
    missing = [name for name in ONNX_PACKAGES if suffix == ".onnx" and find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"{path} needs {' and '.join(missing)}, not installed: pip install {' '.join(ONNX_PACKAGES)}"
        )
    return FORMATS[suffix]


def _program(net: "nn.Module", example: "Tensor | NDArray[Any]") -> "ExportedProgram":
    import torch

    free = torch.export.Dim.AUTO  # any size, unless the network's code fixes it
    with torch.no_grad():
        return torch.export.export(net, (torch.as_tensor(example),), dynamic_shapes=({0: free},))


def _write_program(program: "ExportedProgram", path: str) -> None:
    import torch

    torch.export.save(program, path)


def _write_onnx(program: "ExportedProgram", path: str) -> None:
    import torch

    torch.onnx.export(program, (), path, dynamo=True, external_data=False, verbose=False)


FORMATS: "dict[str, Callable[[ExportedProgram, str], None]]" = {".pt2": _write_program, ".onnx": _write_onnx}
