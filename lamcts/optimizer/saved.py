"""An optimizer in one file: its settings and its state, as arrays and JSON in a zip (numpy's `.npz`). No pickle.

The state is held against the settings by its fingerprint, and every byte of the file by the checksums of the zip.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from lamcts.optimizer.state import State

MAGIC = "lamcts optimizer"
COLUMN = "column "  # what the names of the arrays of rows begin with


def write(path: str | os.PathLike[str], settings: dict[str, Any], state: State) -> None:
    """Write a file, whole or not at all: one of the same name is replaced once the new one is complete."""
    place = Path(os.path.realpath(os.fsdecode(path)))  # a link stays one
    if place.is_dir():
        raise ValueError(f"save: expected the path of a file, got {os.fsdecode(path)!r}, which is a folder")
    content = state.to_dict()
    arrays = {f"{COLUMN}{name}": column for name, column in content["columns"].items()}
    arrays["pending"] = np.array([trial.pop("x") for trial in content["pending"]])
    try:
        text = json.dumps({"file": MAGIC, "settings": settings, "state": content | {"columns": None}})
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"save: expected states and notes of samplers that are JSON values, got others: {error}"
        ) from None
    arrays["text"] = np.frombuffer(text.encode(), np.uint8)
    draft = place.with_name(f"{place.name}-new-{os.getpid()}")
    try:
        with draft.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())  # before it takes the name: a power cut leaves the old one or the new one
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings and the state of a file; ValueError where it is no such file, or was damaged."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:  # its own handle it may leave open
            arrays = {name: file[name] for name in file.files}
        text = json.loads(arrays["text"].tobytes())
        if text["file"] != MAGIC:
            raise ValueError(f"it is {text['file']!r}")
        state = text["state"]
        state["columns"] = {
            name.removeprefix(COLUMN): array for name, array in arrays.items() if name.startswith(COLUMN)
        }
        for trial, x in zip(state["pending"], arrays["pending"], strict=True):
            trial["x"] = x
        return text["settings"], state
    except OSError as error:
        raise ValueError(f"{os.fsdecode(path)}: expected a file that Optimizer.save wrote: {error}") from error
    except Exception as error:  # whatever numpy, zipfile and zlib make of bytes that are no such file
        raise ValueError(
            f"{os.fsdecode(path)}: expected a file that Optimizer.save wrote, it is another or damaged ({error})"
        ) from error
