"""Data sets by name or from a file. Nothing is downloaded; the error for a missing file names its place."""

import gzip
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lamcts.neural.train.data import Array, Data, Part, part_of, stratified
from lamcts.rng import imported
from lamcts.types import whole_number

Loader = Callable[[], Data]
DATASETS: dict[str, Loader] = {}  # by name, filled by `dataset`
FOLDER = "LAMCTS_DATA"  # environment variable with the folder of the files
SHARES = (0.6, 0.2, 0.2)  # of the digits: a fixed split, so that all runs are comparable
GREYS = 16.0  # largest pixel value of the digits
NEEDED = ("x_train", "y_train", "x_test", "y_test")  # required arrays of a file; x_valid and y_valid are optional
VALID = 0.2  # share of validation images if a file has none
SPLIT_SEED = 0  # of the splits
LEVELS = 255.0  # largest pixel value
LENGTH = 35  # tokens a row: ENAS, after Zaremba 2014
LEARNT = 0.9  # training share of the tokens of the first file; validation has the rest
END, UNKNOWN = "<eos>", "<unk>"  # end of a line; a word that the training part lacks


def dataset(name: str) -> Callable[[Loader], Loader]:
    """Register a function without arguments as the loader of a data set."""

    def registered(loader: Loader) -> Loader:
        DATASETS[name] = loader
        return loader

    return registered


def load(name: str, side: int | None = None) -> Data:
    """Load a data set into memory.

    Parameters
    ----------
    name : str
        "digits", "mnist", "cifar10", "wikitext2", "tinyshakespeare", or a file .npz with arrays x_train [n, h, w] or
        [n, h, w, channels], y_train [n], x_test, y_test and optionally x_valid, y_valid. Files of named data sets are
        in the folder LAMCTS_DATA.
    side : int, default None
        Resize images to this height and width in pixels by area averaging; None keeps the size.

    Raises
    ------
    FileNotFoundError
        If a file is missing; the message names its place.
    ValueError
        For an unknown name or a malformed file.
    """
    whole_number(side, "side", optional=True)
    if name not in DATASETS and not str(name).endswith(".npz"):
        near = get_close_matches(str(name), DATASETS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"data: expected one of {', '.join(DATASETS)}, or a file .npz, got {name!r}{hint}")
    whole = DATASETS[name]() if name in DATASETS else of_file(Path(name).stem, Path(name))
    if side is None:
        return whole
    if len(whole.shape) == 1:
        raise ValueError(f"{name}: expected no side for texts, got {side}; leave it out")
    down, across = (shares(length, side) for length in whole.shape[1:])  # area averaging
    parts = [
        part_of(np.einsum("nchw,ih,jw->ncij", part.x, down, across, optimize=True), part.y, slice(None))
        for part in whole.parts.values()
    ]
    return Data(f"{whole.name}, {side} x {side}", parts[0], parts[1], parts[2], whole.classes)


@dataset("digits")
@lru_cache(maxsize=1)
def digits() -> Data:
    """Return scikit-learn's digits: 1,797 images [1, 8, 8] from 0 to 1, with a fixed stratified split."""
    found = imported("sklearn.datasets").load_digits()
    x = (found.images / GREYS).astype(np.float32)[:, None]  # [n, 1, 8, 8]
    rows = stratified(found.target, SHARES, SPLIT_SEED)
    train, valid, test = (part_of(x, found.target, kept) for kept in rows)
    return Data("digits", train, valid, test, 10)


@dataset("mnist")
def _mnist() -> Data:
    """Return MNIST: images [1, 28, 28] of handwritten digits, or a subset of 10,000 where only that file exists."""
    return of_file("mnist", found("mnist.npz", "mnist_10k.npz"))


@dataset("cifar10")
def _cifar10() -> Data:
    """Return CIFAR-10: colour images [3, 32, 32] of ten classes, or a subset where only that file exists."""
    return of_file("cifar10", found("cifar10.npz", "cifar10_subset.npz"))


@dataset("wikitext2")
def _wikitext2() -> Data:
    """Return WikiText-2 as words; the training file has ten megabytes, so the validation file is for training."""
    file = found("wikitext2_valid.txt.gz")
    learnt, judged = (_words(each) for each in (file, file.with_name("wikitext2_test.txt.gz")))
    end = int(LEARNT * len(learnt))
    return _text("wikitext2", learnt[:end], learnt[end:], judged)


@dataset("tinyshakespeare")
def _tinyshakespeare() -> Data:
    """Return plays of Shakespeare as characters; the end of the file is for validation and test."""
    tokens = list(_lines(found("tinyshakespeare.txt.gz")))
    end = int(LEARNT * len(tokens))
    middle = (end + len(tokens)) // 2
    return _text("tinyshakespeare", tokens[:end], tokens[end:middle], tokens[middle:])


def _text(name: str, learnt: list[str], chosen: list[str], judged: list[str]) -> Data:
    """Return three parts of a text as rows of tokens with their next tokens; training has all known words."""
    words = {word: number for number, word in enumerate(sorted({*learnt, UNKNOWN}))}
    numbered = ([words.get(word, words[UNKNOWN]) for word in part] for part in (learnt, chosen, judged))
    train, valid, test = (_rows(numbers) for numbers in numbered)
    return Data(name, train, valid, test, len(words))


def _lines(file: Path) -> str:
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        return opened.read()


def _words(file: Path) -> list[str]:
    return [word for line in _lines(file).splitlines() for word in (*line.split(), END)]


def _rows(numbers: list[int]) -> Part:
    """Return rows [n, LENGTH] of tokens, and the next token of each; drop the remainder."""
    n = (len(numbers) - 1) // LENGTH
    whole: Array = np.array(numbers[: n * LENGTH + 1], np.int64)
    return part_of(whole[:-1].reshape(n, LENGTH), whole[1:].reshape(n, LENGTH), slice(None))


def found(*names: str) -> Path:
    """Return the first of some files that exists in the folder LAMCTS_DATA."""
    folder = os.environ.get(FOLDER)
    if not folder:
        raise FileNotFoundError(f"expected {names[0]}, got no place: put it in a folder, and set {FOLDER} to that")
    for name in names:
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    raise FileNotFoundError(f"expected {' or '.join(names)} in {FOLDER}={folder}, got none; put one there")


def of_file(name: str, file: Path) -> Data:
    """Return the images of a file, standardised by channel over the training part."""
    held = _arrays(file)
    missing = [each for each in NEEDED if each not in held]
    if missing:
        raise ValueError(f"{file}: expected arrays {', '.join(NEEDED)}, got none called {', '.join(missing)}")
    classes = [held[f"y_{part}"].astype(np.int64).ravel() for part in ("train", "test")]
    images = [_channels_first(held[f"x_{part}"], file) for part in ("train", "test")]
    train, test = (Part(x, y) for x, y in zip(images, classes, strict=True))
    if "x_valid" in held:
        valid = Part(_channels_first(held["x_valid"], file), held["y_valid"].astype(np.int64).ravel())
    else:
        kept, aside = stratified(train.y, (1 - VALID, VALID), SPLIT_SEED)
        train, valid = Part(train.x[kept], train.y[kept]), Part(train.x[aside], train.y[aside])
    mean, deviation = (f(train.x, axis=(0, 2, 3), keepdims=True) for f in (np.mean, np.std))  # [1, c, 1, 1]
    deviation[deviation == 0] = 1
    parts = [part_of((part.x - mean) / deviation, part.y, slice(None)) for part in (train, valid, test)]
    return Data(name, parts[0], parts[1], parts[2], 1 + max(int(part.y.max()) for part in parts))


def _arrays(file: Path) -> dict[str, Array]:
    if not file.is_file():
        raise FileNotFoundError(f"expected a data set, got no file at {file}")
    try:
        with open(file, "rb") as opened, np.load(opened, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except (ValueError, EOFError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{file}: expected arrays as numpy writes them (.npz), got a damaged file: {error}") from None


def _channels_first(x: Array, file: Path) -> Array:
    """Return images as float32 [n, c, h, w]; integers are divided by 255."""
    if x.ndim not in (3, 4):
        raise ValueError(f"{file}: expected images [n, h, w] or [n, h, w, channels], got shape {x.shape}")
    floats = x.astype(np.float32) / np.float32(LEVELS if x.dtype.kind in "iu" else 1)
    return floats[:, None] if x.ndim == 3 else floats.transpose(0, 3, 1, 2)


def shares(before: int, after: int) -> Array:
    """Return the weights of area averaging from `before` to `after` pixels: [after, before]."""
    edges = np.linspace(0, before, after + 1)
    old = np.arange(before)
    covered = np.minimum(edges[1:, None], old + 1) - np.maximum(edges[:-1, None], old)  # [after, before]
    return np.asarray(np.clip(covered, 0, None) * after / before, np.float32)


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
