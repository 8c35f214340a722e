"""Data sets by name, or from a file of one's own. Nothing is downloaded: what is missing says where to put it."""

import os
import zipfile
import zlib
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from lamcts.neural.train.data import Array, Data, Part, digits, part_of, stratified
from lamcts.neural.train.texts import TEXTS, text
from lamcts.types import whole_number

FOLDER = "LAMCTS_DATA"  # the environment variable that names the folder of the files
FILES = {"mnist": ("mnist.npz", "mnist_10k.npz"), "cifar10": ("cifar10.npz", "cifar10_subset.npz")}  # the first found
NEEDED = ("x_train", "y_train", "x_test", "y_test")  # arrays of a file; x_valid and y_valid may be there too
VALID = 0.2  # of the training images, where a file does not say which are for validation
SPLIT_SEED = 0  # of which those are
LEVELS = 255.0  # the highest value of a pixel


def load(name: str, side: int | None = None) -> Data:
    """Return a data set in memory.

    name: "digits", "mnist", "cifar10", "wikitext2", "tinyshakespeare", or a file .npz with arrays x_train [n, h, w] or
        [n, h, w, channels], y_train [n], x_test and y_test, and, if there, x_valid and y_valid. Files of the names are
        looked for in the folder that LAMCTS_DATA names.
    side: images are made so many pixels high and wide, each the mean of what it covers (None: as they are).

    FileNotFoundError says where a missing file should be, ValueError what is wrong with one.
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
    """Return the first of some files that is in the folder of LAMCTS_DATA."""
    folder = os.environ.get(FOLDER)
    if not folder:
        raise FileNotFoundError(f"expected {names[0]}, got no place: put it in a folder, and set {FOLDER} to that")
    for name in names:
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    raise FileNotFoundError(f"expected {' or '.join(names)} in {FOLDER}={folder}, got none; put one there")


def of_file(name: str, file: Path) -> Data:
    """Return the images of a file, each channel with mean 0 and deviation 1 over those learnt from."""
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
    """Return images as [n, c, h, w] in float32; whole numbers are shares of 255."""
    if x.ndim not in (3, 4):
        raise ValueError(f"{file}: expected images [n, h, w] or [n, h, w, channels], got shape {x.shape}")
    floats = x.astype(np.float32) / np.float32(LEVELS if x.dtype.kind in "iu" else 1)
    return floats[:, None] if x.ndim == 3 else floats.transpose(0, 3, 1, 2)


def resized(data: Data, side: int) -> Data:
    """Return the same images of another size, each pixel the mean of what it covers of the old ones."""
    down, across = (shares(length, side) for length in data.shape[1:])
    parts = [
        part_of(np.einsum("nchw,ih,jw->ncij", part.x, down, across, optimize=True), part.y, slice(None))
        for part in data.parts.values()
    ]
    return Data(f"{data.name}, {side} x {side}", parts[0], parts[1], parts[2], data.classes)


def shares(before: int, after: int) -> Array:
    """Return what share each of `before` pixels has in each of `after` that cover the same length, [after, before]."""
    edges = np.linspace(0, before, after + 1)
    old = np.arange(before)
    covered = np.minimum(edges[1:, None], old + 1) - np.maximum(edges[:-1, None], old)  # [after, before]
    return np.asarray(np.clip(covered, 0, None) * after / before, np.float32)
