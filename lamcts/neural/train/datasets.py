"""Data sets by name or from a file. Nothing is downloaded; the error for a missing file names its place."""

import os
import zipfile
import zlib
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from lamcts.neural.train.data import Array, Data, Part, digits, part_of, stratified
from lamcts.neural.train.texts import TEXTS, text
from lamcts.types import whole_number

FOLDER = "LAMCTS_DATA"  # environment variable with the folder of the files
FILES = {
    "mnist": ("mnist.npz", "mnist_10k.npz"),
    "cifar10": ("cifar10.npz", "cifar10_subset.npz"),
}
NEEDED = ("x_train", "y_train", "x_test", "y_test")  # required arrays of a file; x_valid and y_valid are optional
VALID = 0.2  # share of validation images if a file has none
SPLIT_SEED = 0  # of this split
LEVELS = 255.0  # largest pixel value


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
    if name in TEXTS:
        if side is not None:
            raise ValueError(f"{name}: expected no side for texts, got {side}; leave it out")
        return text(name, found(TEXTS[name][0]))
    if name == "digits":
        whole = digits()
    elif name in FILES or str(name).endswith(".npz"):
        file = found(*FILES[name]) if name in FILES else Path(name)
        whole = of_file(name if name in FILES else file.stem, file)
    else:
        known = ["digits", *FILES, *TEXTS]
        near = get_close_matches(str(name), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"data: expected one of {', '.join(known)}, or a file .npz, got {name!r}{hint}")
    return whole if side is None else resized(whole, side)


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


def resized(data: Data, side: int) -> Data:
    """Resize images by area averaging."""
    down, across = (shares(length, side) for length in data.shape[1:])
    parts = [
        part_of(np.einsum("nchw,ih,jw->ncij", part.x, down, across, optimize=True), part.y, slice(None))
        for part in data.parts.values()
    ]
    return Data(f"{data.name}, {side} x {side}", parts[0], parts[1], parts[2], data.classes)


def shares(before: int, after: int) -> Array:
    """Return the weights of area averaging from `before` to `after` pixels: [after, before]."""
    edges = np.linspace(0, before, after + 1)
    old = np.arange(before)
    covered = np.minimum(edges[1:, None], old + 1) - np.maximum(edges[:-1, None], old)  # [after, before]
    return np.asarray(np.clip(covered, 0, None) * after / before, np.float32)
