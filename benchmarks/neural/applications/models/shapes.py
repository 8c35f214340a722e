"""Synthetic images of shapes with the class of every pixel, without torch.

Colours are independent of the class, so a network must learn outlines; later shapes cover earlier ones. Letters: n
images, s their side.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lamcts.neural.train.data import Data, Part, part_of
from lamcts.rng import stream
from lamcts.types import Floats, whole_number

CLASSES = ("background", "disc", "square", "triangle")  # in the order of their numbers
MOST = 3  # shapes of an image, 1 at least
RADII = 0.15, 0.35  # of the circle around a shape, in sides of the image: below, a triangle of 24 pixels has no corners
NOISE = 0.08  # deviation of each number of a pixel, between 0 and 1: outlines stay to be seen
SLOPE = 0.3  # how much darker one side of an image is, at most: no one colour is the background


@lru_cache(maxsize=2)
def shapes(train: int = 1000, judged: int = 300, side: int = 32, seed: int = 0) -> Data:
    """Return images [n, 3, s, s] from 0 to 1 about, and the classes [n, s, s] of their pixels.

    train: images to learn from (1000). judged: images of the validation and of the test part each (300).
    side: pixels (32). seed: of all that is drawn (0); an image depends on it and on its own number alone.
    """
    for value, name in ((train, "train"), (judged, "judged"), (side, "side")):
        whole_number(value, name)
    ends = {"train": (0, train), "valid": (train, train + judged), "test": (train + judged, train + 2 * judged)}
    parts = {name: _part(range(*each), side, seed) for name, each in ends.items()}
    return Data(f"shapes of {side} pixels, seed {seed}", **parts, classes=len(CLASSES))


def _part(numbers: range, side: int, seed: int) -> Part:
    drawn = [image(side, stream(seed, number)) for number in numbers]
    x, y = (np.stack(arrays) for arrays in zip(*drawn, strict=True))
    return part_of(x, y, slice(None))


def image(side: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Return one image [3, s, s], and its classes [s, s]."""
    x, drawn = scene(side, rng)
    y = np.zeros((side, side), np.int64)
    for number, inside in drawn:
        y = np.where(inside, number, y)
    return x, y


def scene(side: int, rng: np.random.Generator) -> tuple[Floats, list[tuple[int, NDArray[np.bool_]]]]:
    """Return one image [3, s, s], and the class and the pixels [s, s] of each shape, in the order of drawing."""
    across, down = np.meshgrid((np.arange(side) + 0.5) / side, (np.arange(side) + 0.5) / side)  # [s, s], of centres
    slope = rng.uniform(-SLOPE, SLOPE, (2, 3, 1, 1))
    x = rng.uniform(0, 1, (3, 1, 1)) + slope[0] * (across - 0.5) + slope[1] * (down - 0.5)  # [3, s, s]
    drawn = list[tuple[int, NDArray[np.bool_]]]()
    for _ in range(rng.integers(1, MOST + 1)):
        number, centre, radius = rng.integers(1, len(CLASSES)), rng.uniform(0.1, 0.9, 2), rng.uniform(*RADII)
        inside = INSIDE[CLASSES[number]](across - centre[0], down - centre[1], radius, rng.uniform(0, 2 * np.pi))
        x = np.where(inside, rng.uniform(0, 1, (3, 1, 1)), x)
        drawn.append((int(number), inside))
    return x + rng.normal(0.0, NOISE, x.shape), drawn


def disc(across: Floats, down: Floats, radius: float, turn: float) -> NDArray[np.bool_]:
    """Return which pixels, by their distances from the centre [s, s], lie in a disc."""
    return across**2 + down**2 <= radius**2


def polygon(across: Floats, down: Floats, radius: float, turn: float, corners: int) -> NDArray[np.bool_]:
    """Return which pixels lie in a regular polygon in a circle, turned by an angle."""
    sides = turn + 2 * np.pi * np.arange(corners)[:, None, None] / corners  # [k, 1, 1], where its sides face
    away = across * np.cos(sides) + down * np.sin(sides)  # [k, s, s]
    found: NDArray[np.bool_] = (away <= radius * np.cos(np.pi / corners)).all(0)
    return found


INSIDE: dict[str, Callable[[Floats, Floats, float, float], NDArray[np.bool_]]] = {  # by the name of a class
    "disc": disc,
    "square": lambda across, down, radius, turn: polygon(across, down, radius, turn, 4),
    "triangle": lambda across, down, radius, turn: polygon(across, down, radius, turn, 3),
}
