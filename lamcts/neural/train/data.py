"""Examples in memory, in three parts: learnt from, chosen by, and judged by at the end. No torch here."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PARTS = ("train", "valid", "test")
SHARES = (0.6, 0.2, 0.2)  # of the digits: a fixed split, so that values of all runs may be compared
SPLIT_SEED = 0  # of which images of a class come to which part
GREYS = 16.0  # of the digits: the highest value of a pixel
DIGITS_CLASSES = 10  # of the digits
CODE = 16  # hexadecimal digits of a fingerprint: 64 bits, which no two data sets share by chance

Array = NDArray[Any]


class Part(NamedTuple):
    """Examples: `x` [n, ...], and of each its class, `y` [n], or its classes, [n, t]."""

    x: Array
    y: Array


@dataclass(frozen=True, eq=False)
class Data:
    """A data set in memory.

    name: what it is called. train, valid, test: its parts; images [n, channels, height, width] as float32, texts
    [n, t] as int64; classes as int64. classes: how many there are.
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
        """The shape of one example."""
        return tuple(self.train.x.shape[1:])

    @cached_property
    def fingerprint(self) -> str:
        """A short text that differs where some example does."""
        found = hashlib.sha256()
        for array in (array for part in self.parts.values() for array in part):
            found.update(f"{array.shape}{array.dtype}".encode() + np.ascontiguousarray(array).tobytes())
        return found.hexdigest()[:CODE]


@lru_cache(maxsize=1)
def digits() -> Data:
    """Return scikit-learn's digits: 1,797 images [1, 8, 8] from 0 to 1, split class by class, the same for all runs."""
    from sklearn.datasets import load_digits

    found = load_digits()
    x = (found.images / GREYS).astype(np.float32)[:, None]  # [n, 1, 8, 8]
    rows = stratified(found.target, SHARES, SPLIT_SEED)
    train, valid, test = (part_of(x, found.target, kept) for kept in rows)
    return Data("digits", train, valid, test, DIGITS_CLASSES)


def part_of(x: Array, y: Array, rows: Any) -> Part:
    """Return some rows as a part, in types that the loop takes, read-only since all runs share them."""
    kind = np.float32 if x.dtype.kind == "f" else np.int64
    part = Part(np.ascontiguousarray(x[rows], kind), np.ascontiguousarray(y[rows], np.int64))
    for array in part:
        array.flags.writeable = False
    return part


def stratified(classes: Array, shares: tuple[float, ...], seed: int) -> list[Array]:
    """Return the rows of each part, ascending, each with its share of every class (to a row)."""
    rng, parts = np.random.default_rng(seed), list[list[Array]]([] for _ in shares)
    ends = np.cumsum(shares)[:-1]
    for each in np.unique(classes):
        rows = rng.permutation(np.flatnonzero(classes == each))
        for part, kept in zip(parts, np.split(rows, np.round(ends * len(rows)).astype(int)), strict=True):
            part.append(kept)
    return [np.sort(np.concatenate(part)) for part in parts]
