"""Data sets in memory or in files, in three parts: training, validation and test. No torch."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PARTS = ("train", "valid", "test")
HASHED = 4096  # rows that are read at once for a fingerprint
CODE = 16  # hexadecimal digits of a fingerprint: 64 bits

Array = NDArray[Any]


class Part(NamedTuple):
    """Examples `x` [n, ...] with a class each, `y` [n], one class for each token, [n, t], or targets [n, ...]."""

    x: Array
    y: Array


@dataclass(frozen=True, eq=False)
class Data:
    """A data set: arrays in memory, or memory maps of files, whose rows are read batch by batch.

    Parameters
    ----------
    name : str
        Name of the data set.
    train, valid, test : Part
        Its parts: images [n, channels, height, width] as float32 or texts [n, t] as int64, and classes as int64 or
        other targets.
    classes : int
        Number of classes; 0 for other targets, with a `Task`.
    """

    name: str
    train: Part
    valid: Part
    test: Part
    classes: int

    def __post_init__(self) -> None:
        for name, part in self.parts.items():
            x, y = part.x, part.y
            if len(x) != len(y) or not len(y) or x.shape[1:] != self.shape:
                raise ValueError(f"{self.name}, {name}: expected examples and their classes, got {x.shape}, {y.shape}")
            if self.classes and (y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= self.classes):
                raise ValueError(f"{self.name}, {name}: expected classes from 0 to {self.classes - 1}, got others")

    @property
    def parts(self) -> Mapping[str, Part]:
        return dict(zip(PARTS, (self.train, self.valid, self.test), strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one example."""
        return tuple(self.train.x.shape[1:])

    @property
    def of_integers(self) -> bool:
        """Whether examples are integers, such as tokens of a text."""
        return self.train.x.dtype.kind in "iu"

    @property
    def of_texts(self) -> bool:
        """Whether examples are texts: integers with a class for each token."""
        return self.of_integers and self.train.y.ndim > 1

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all examples."""
        found = hashlib.sha256()
        for array in (array for part in self.parts.values() for array in part):
            found.update(f"{array.shape}{array.dtype}".encode())
            for first in range(0, len(array), HASHED):
                found.update(np.ascontiguousarray(array[first : first + HASHED]).tobytes())
        return found.hexdigest()[:CODE]


def stored(folder: Path | str, classes: int = 0, name: str = "own") -> Data:
    """Return data in the files train_x.npy, train_y.npy, valid_x.npy and so on of a folder, which stay on disk.

    Parameters
    ----------
    folder : path
        Folder of the files, as `numpy.save` writes them: examples as float32 or int64, classes as int64 or targets.
    classes : int, default 0
        Number of classes; 0 for other targets, with a `Task`.
    name : str, default "own"
        Name of the data.

    Raises
    ------
    ValueError
        For a missing file, or arrays that do not belong together.
    """
    paths = {part: [Path(folder) / f"{part}_{what}.npy" for what in "xy"] for part in PARTS}
    if missing := [str(path) for pair in paths.values() for path in pair if not path.is_file()]:
        raise ValueError(f"{name}: expected six files of numpy.save, got none at {missing[0]}")
    parts = [Part(*(np.load(path, mmap_mode="r") for path in pair)) for pair in paths.values()]
    return Data(name, parts[0], parts[1], parts[2], classes)


def part_of(x: Array, y: Array, rows: Array | slice) -> Part:
    """Return rows as a part with the loop's dtypes, read-only since runs share them."""
    kinds = [np.float32 if array.dtype.kind == "f" else np.int64 for array in (x, y)]
    part = Part(*(np.ascontiguousarray(array[rows], kind) for array, kind in zip((x, y), kinds, strict=True)))
    for array in part:
        array.flags.writeable = False
    return part


def stratified(classes: Array, shares: tuple[float, ...], seed: int) -> list[Array]:
    """Return the sorted rows of each part, stratified by class."""
    rng, parts = np.random.default_rng(seed), list[list[Array]]([] for _ in shares)
    ends = np.cumsum(shares)[:-1]
    for each in np.unique(classes):
        rows = rng.permutation(np.flatnonzero(classes == each))
        for part, kept in zip(parts, np.split(rows, np.round(ends * len(rows)).astype(int)), strict=True):
            part.append(kept)
    return [np.sort(np.concatenate(part)) for part in parts]
