"""Pickles of numbers, texts and containers, read without running code from the file.

A pickle names classes and functions, and reading it calls them. `load` never imports a name from the file: the few
names that tables of numbers need are replaced by the classes of this module, and any other name is an error.
"""

import bz2
import io
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.utils.files import opened

LARGEST = 2**28  # bytes of a decompressed file: the files of NATS-Bench have below 2 MB
COMPRESSED = ".pbz2"  # the end of a compressed file's name
PARSING = (ValueError, TypeError, LookupError, AttributeError, pickle.UnpicklingError)  # what damaged files raise
DAMAGED = (*PARSING, OSError, EOFError, OverflowError, MemoryError)  # ... or reading them


def load(path: Path, origin: str) -> Any:
    """Return what a pickle contains; ValueError if it needs any class, or is damaged. `origin`: its publisher."""
    try:
        with opened(path, "the file", LARGEST) as packed:
            file = bz2.BZ2File(packed) if path.suffix == COMPRESSED else packed
            content = file.read(LARGEST + 1)
            if len(content) > LARGEST:
                raise ValueError(f"more than {LARGEST} bytes")
        return loads(content)
    except DAMAGED as error:
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(f"expected the file {path} of {origin}, got none: download it again") from None
        raise ValueError(
            f"{path}: expected a pickle of numbers and texts, got {error}: download it again from {origin}"
        ) from None


def loads(content: bytes) -> Any:
    """Return what a pickle in memory contains; arrays are `PickledArray`, numbers of numpy are Python's."""
    return PlainUnpickler(io.BytesIO(content)).load()


class Replacement:
    """Base class of what stands for a name in a pickle: a pickle cannot change it."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        raise pickle.UnpicklingError(f"a state of {type(self).__name__}")


class PickledType(Replacement):
    """A numpy type of plain numbers."""

    __slots__ = ("code", "order")

    def __init__(self, code: str, align: bool = False, copy: bool = True) -> None:
        if not isinstance(code, str) or not re.fullmatch("[biuf][1248]", code):
            raise pickle.UnpicklingError(f"numbers of the type {code!r:.40}")
        self.code, self.order = code, "="

    def __setstate__(self, state: object) -> None:
        """Set the byte order, the second entry of the state of a numpy type; the others describe structures."""
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "=", "|"):
            raise pickle.UnpicklingError(f"the byte order {state!r:.40}")
        self.order = state[1]

    def values(self, content: bytes) -> NDArray[Any]:
        """Return the numbers of these bytes, (n,)."""
        return np.frombuffer(content, np.dtype(self.order + self.code))


class PickledArray(Replacement):
    """An array of plain numbers; `np.asarray` returns it."""

    __slots__ = ("held",)

    def __init__(self, *arguments: object) -> None:
        self.held = np.empty(0)

    def __setstate__(self, state: object) -> None:
        """Set the values: the state is (version, shape, type, whether in Fortran's order, bytes)."""
        if not isinstance(state, tuple) or len(state) != 5:
            raise pickle.UnpicklingError(f"the state {state!r:.40} of an array")
        _, shape, kind, by_column, content = state
        if not isinstance(kind, PickledType) or not isinstance(content, bytes):
            raise pickle.UnpicklingError("an array of objects")
        self.held = kind.values(content).reshape(shape, order="F" if by_column else "C")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.held, dtype)

    def __len__(self) -> int:
        return len(self.held)


class PickledNumber(Replacement):
    """A function in form of a class: a number of numpy becomes one of Python."""

    __slots__ = ()

    def __new__(cls, kind: PickledType, content: bytes) -> Any:
        if not isinstance(kind, PickledType) or not isinstance(content, bytes):
            raise pickle.UnpicklingError("a number of an unknown type")
        return kind.values(content)[0].item()


class PickledBytes(Replacement):
    """A function in form of a class: bytes, which old pickles hold as a text."""

    __slots__ = ()

    def __new__(cls, text: str, encoding: str) -> Any:
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise pickle.UnpicklingError(f"a text in the encoding {encoding!r:.40}")
        return text.encode("latin-1")


ALLOWED: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): dict,
    **{(module, "set"): set for module in ("builtins", "__builtin__")},
    ("_codecs", "encode"): PickledBytes,
    ("numpy", "dtype"): PickledType,
    ("numpy", "ndarray"): PickledArray,
    **{(f"numpy.{core}.multiarray", "scalar"): PickledNumber for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "_reconstruct"): PickledArray for core in ("core", "_core")},
}


class PlainUnpickler(pickle.Unpickler):
    """An unpickler that knows the names of `ALLOWED` alone."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"the name {module}.{name}, which this reader does not run")
        return ALLOWED[module, name]
