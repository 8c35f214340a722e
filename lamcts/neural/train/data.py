"""Data sets in memory, in three parts: training, validation and test. No torch."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PARTS = ("train", "valid", "test")
CODE = 16  # hexadecimal digits of a fingerprint: 64 bits

Array = NDArray[Any]


class Part(NamedTuple):
    """Examples `x` [n, ...] with a class each, `y` [n], or one class for each token, [n, t]."""

    x: Array
    y: Array


@dataclass(frozen=True, eq=False)
class Data:
    """A data set in memory.

    Parameters
    ----------
    name : str
        Name of the data set.
    train, valid, test : Part
        Its parts: images [n, channels, height, width] as float32 or texts [n, t] as int64, and classes as int64.
    classes : int
        Number of classes.
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
            if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= self.classes:
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
            found.update(f"{array.shape}{array.dtype}".encode() + np.ascontiguousarray(array).tobytes())
        return found.hexdigest()[:CODE]


def part_of(x: Array, y: Array, rows: Array | slice) -> Part:
    """Return rows as a part with the loop's dtypes, read-only since runs share them."""
    kind = np.float32 if x.dtype.kind == "f" else np.int64
    part = Part(np.ascontiguousarray(x[rows], kind), np.ascontiguousarray(y[rows], np.int64))
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
