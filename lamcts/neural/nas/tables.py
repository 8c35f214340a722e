"""Files of trained networks: their places and formats."""

import os
import zipfile
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.utils.files import opened

FOLDER = "LAMCTS_DATA"  # the environment variable that names the folder of the tables
KEPT = 8  # tables in memory at a time: the largest takes 10 MB
NUMBERS, TEXT = "iuf", "U"  # kinds of arrays
CURE = "the file is damaged, or of another table"

Arrays = Mapping[str, NDArray[Any]]


class Array(NamedTuple):
    """The format of an array in a table: its shape, in which equal letters are equal lengths, and its kind.

    Where there is `end`, it holds whole numbers from 0 to below that; where there is `equal`, it is that.
    """

    shape: tuple[int | str, ...]
    kind: str = NUMBERS
    needed: bool = True
    end: int | None = None
    equal: tuple[str, ...] | None = None


class Format(NamedTuple):
    """The format of a table's file: its name, arrays and origin."""

    file: str
    arrays: tuple[tuple[str, Array], ...]
    origin: str


def read(form: Format, path: str | os.PathLike[str] | None = None) -> Arrays:
    """Return the arrays of a table, checked and read-only.

    `path` is the file or its folder; None for the folder that the environment variable LAMCTS_DATA names.
    FileNotFoundError says where the data come from, ValueError what is wrong with a file.
    """
    given = os.environ.get(FOLDER) if path is None else path
    if not given:
        raise FileNotFoundError(
            f"expected the table {form.file}, got no place to look: pass table=FILE, or set {FOLDER} to its folder; "
            f"it is made from {form.origin}"
        )
    file = Path(given)
    file = file / form.file if file.is_dir() else file
    if path is None and not file.is_file():
        raise FileNotFoundError(f"expected {form.file} in {FOLDER}={given}, got none; it is made from {form.origin}")
    if not file.is_file():
        raise FileNotFoundError(f"expected the table {form.file}, got no file at {file}; it is made from {form.origin}")
    stat = file.stat()
    return _read(form, str(file.resolve()), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=KEPT)
def _read(form: Format, file: str, mtime_ns: int, size: int) -> Arrays:
    """Return the checked arrays; the last two arguments identify the state of the file."""
    arrays = _loaded(file, form)
    lengths: dict[str, int] = {}
    for name, wanted in form.arrays:
        if name in arrays:
            _check(f"{Path(file).name}, {name}", arrays[name], wanted, lengths)
            arrays[name].flags.writeable = False
        elif wanted.needed:
            raise ValueError(f"{file}: expected an array {name!r}, got {', '.join(arrays)}; is it {form.file}?")
    return arrays


def _loaded(file: str, form: Format) -> dict[str, NDArray[Any]]:
    known = {name for name, _ in form.arrays}
    try:
        # opened here: where numpy finds no archive in it, numpy would leave the file open
        with opened(file, "the table") as stream:
            held = np.load(stream, allow_pickle=False)
            if not isinstance(held, np.lib.npyio.NpzFile):
                raise ValueError("a single array")
            return {name: held[name] for name in held.files if name in known}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        why = "no arrays of numbers or texts" if "pickle" in str(error) else error  # numpy's advice is to run its code
        raise ValueError(
            f"{file}: expected the table {form.file} as numpy writes it (.npz), got a damaged file or another: {why}"
        ) from None


def _check(name: str, array: NDArray[Any], wanted: Array, lengths: dict[str, int]) -> None:
    shown = ", ".join(map(str, wanted.shape))
    if array.dtype.kind not in wanted.kind:
        raise ValueError(f"{name}: expected {'numbers' if wanted.kind == NUMBERS else 'texts'}, got {array.dtype}")
    fits = array.ndim == len(wanted.shape) and all(
        length == (lengths.setdefault(side, length) if isinstance(side, str) else side)
        for side, length in zip(wanted.shape, array.shape, strict=True)
    )
    if not fits or not array.size:
        raise ValueError(f"{name}: expected shape ({shown}) with {lengths}, got {array.shape}: {CURE}")
    if wanted.end is not None:
        _check_range(name, array, wanted.end)
    if wanted.equal is not None and tuple(array.tolist()) != wanted.equal:
        raise ValueError(f"{name}: expected {', '.join(wanted.equal)}, got {', '.join(array.tolist())}")


def _check_range(name: str, array: NDArray[Any], end: int) -> None:
    if array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= end:
        got = f"{array.dtype} from {array.min()} to {array.max()}"
        raise ValueError(f"{name}: expected whole numbers from 0 to {end - 1}, got {got}: {CURE}")


def one_of(value: str, allowed: Any, name: str) -> int:
    """Return the index of a setting's value among the allowed ones."""
    names = [str(one) for one in allowed]
    if value not in names:
        raise ValueError(f"{name}: expected one of {', '.join(names)}, got {value!r}")
    return names.index(value)
