"""Checkpoints: arrays and JSON in one .npz file, without pickles, written atomically."""

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lamcts.utils.files import opened

CODE = 16  # hexadecimal digits of a digest: 64 bits
VALUES = "values"  # the array that holds the JSON


class Checkpoint(NamedTuple):
    """Content of a file: JSON values, and arrays whose names have parts before slashes."""

    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def tensors(self, part: str) -> dict[str, Tensor]:
        """Return the arrays of a part (all: "") by the rest of their names."""
        start = f"{part}/" if part else ""
        return {n.removeprefix(start): torch.tensor(a) for n, a in self.arrays.items() if n.startswith(start)}

    def states(self, part: str) -> dict[int, dict[str, Tensor]]:
        """Return the arrays of a part whose names have a number and a word."""
        found: dict[int, dict[str, Tensor]] = {}
        for name, tensor in self.tensors(part).items():
            number, _, word = name.partition("/")
            found.setdefault(int(number), {})[word] = tensor
        return found


def save(path: Path | str, values: Mapping[str, object], tensors: Mapping[str, Tensor]) -> None:
    """Write a checkpoint atomically: a process killed here leaves the previous one."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: value.detach().cpu().numpy() for name, value in tensors.items()}
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with open(beside, "wb") as file:
        np.savez(file, **{VALUES: np.array(json.dumps(values))}, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def load(path: Path | str, identity: Mapping[str, object]) -> Checkpoint:
    """Read a checkpoint; raise ValueError if it is damaged or of a training with another identity."""
    found = read(path)
    known = found.values["identity"]
    differing = [name for name in identity if known.get(name) != identity[name]]
    if differing:
        raise ValueError(
            f"{path}: expected a checkpoint of this training, got one of another {', '.join(differing)}; "
            "move it away, or give another file"
        )
    return found


def read(path: Path | str) -> Checkpoint:
    """Read any checkpoint."""
    try:
        with opened(path, "the checkpoint", most=None) as file, np.load(file, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
            return Checkpoint(json.loads(str(arrays.pop(VALUES))), arrays)
    except (ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path}: expected a checkpoint, got a damaged file or another: {error}; delete it") from None


def digest(tensors: Mapping[str, Tensor]) -> str:
    """Return a hash of the tensors."""
    found = hashlib.sha256()
    for name, value in tensors.items():
        found.update(f"{name}{tuple(value.shape)}".encode() + value.detach().cpu().numpy().tobytes())
    return found.hexdigest()[:CODE]
