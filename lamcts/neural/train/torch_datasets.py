"""Data sets of torch, read into memory."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from lamcts.neural.train.data import Array, Data, Part, part_of

TEXT = 2  # axes of texts: examples and tokens


class Dataset(Protocol):
    """The methods of a map-style `torch.utils.data.Dataset`: each example is a pair of an input and its class."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


def from_datasets(train: Dataset, valid: Dataset, test: Dataset, name: str = "own") -> Data:
    """Read three data sets of torch into memory.

    Parameters
    ----------
    train, valid, test : torch.utils.data.Dataset
        Map-style data sets whose examples are pairs (x, y): tensors or arrays of one shape, and a class from 0, or a
        target of floating-point numbers, with a `Task`.
    name : str, default "own"
        Name of the data.
    """
    named = {"train": train, "valid": valid, "test": test}
    parts = [_part(f"{name}, {part}", each) for part, each in named.items()]
    kinds = {part.y.dtype.kind for part in parts}
    if len(kinds) > 1:
        got = ", ".join(str(part.y.dtype) for part in parts)
        raise ValueError(f"{name}: expected whole numbers as classes in all parts, or targets in all, got {got}")
    classes = 1 + max(int(part.y.max()) for part in parts) if parts[0].y.dtype.kind in "iu" else 0
    return Data(name, parts[0], parts[1], parts[2], classes)


def _part(name: str, examples: Dataset) -> Part:
    if not hasattr(examples, "__len__") or not hasattr(examples, "__getitem__"):
        got = type(examples).__name__
        raise ValueError(f"{name}: expected a map-style data set with a length, got {got}; list its examples")
    pairs = list(_pairs(name, examples))
    if not pairs:
        raise ValueError(f"{name}: expected examples, got none")
    shapes = {x.shape for x, _ in pairs}
    if len(shapes) > 1:
        raise ValueError(f"{name}: expected examples of one shape, got {sorted(shapes)[:3]}; resize or pad them")
    x, y = (np.stack([pair[i] for pair in pairs]) for i in (0, 1))
    if x.dtype.kind != "f" and not (x.dtype.kind in "iu" and x.ndim == TEXT):
        raise ValueError(f"{name}: expected floating-point examples, or rows of tokens, got {x.dtype}; convert images")
    if y.dtype.kind not in "iuf":
        raise ValueError(f"{name}: expected whole numbers as classes, or floating-point targets, got {y.dtype}")
    return part_of(x, y, slice(None))


def _pairs(name: str, examples: Dataset) -> Iterator[tuple[Array, Array]]:
    for i in range(len(examples)):
        example = examples[i]
        if not isinstance(example, (tuple, list)) or len(example) != 2:
            raise ValueError(f"{name}: expected pairs of an input and its class, got {type(example).__name__}")
        yield np.asarray(example[0]), np.asarray(example[1])
