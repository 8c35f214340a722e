"""Boxes around drawn shapes, and the average precision of detections (Everingham et al. 2010), without torch.

A box is left, top, right, bottom in pixels, right and bottom exclusive. A truth is rows [m, 5] of class and box, a
detection rows [m, 6] of class, score and box. Letters: n images, m boxes.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.neural.applications.models.shapes import scene
from lamcts.rng import stream
from lamcts.types import Floats

VISIBLE = 0.3  # share of a shape that later shapes leave uncovered, from which on it counts


class Scenes(NamedTuple):
    """Images x [n, 3, s, s], and the truth of each: class from 0 and box, [m, 5]."""

    x: NDArray[np.float32]
    truths: list[Floats]


@lru_cache(maxsize=4)
def scenes(first: int, last: int, side: int, seed: int = 0) -> Scenes:
    """Return the images `first` to `last - 1` of `shapes` with the boxes of their shapes."""
    drawn = [scene(side, stream(seed, number)) for number in range(first, last)]
    return Scenes(np.stack([x for x, _ in drawn]).astype(np.float32), [truth(shapes) for _, shapes in drawn])


def truth(drawn: Sequence[tuple[int, NDArray[np.bool_]]]) -> Floats:
    """Return class and box [m, 5] of the shapes that are visible; a box goes round hidden pixels too."""
    rows = []
    for i, (number, inside) in enumerate(drawn):
        covered = np.any([later for _, later in drawn[i + 1 :]], axis=0) if i + 1 < len(drawn) else False
        if inside.any() and (inside & ~np.asarray(covered)).sum() >= VISIBLE * inside.sum():
            down, across = np.nonzero(inside)
            rows.append([number - 1, across.min(), down.min(), across.max() + 1, down.max() + 1])
    return np.array(rows, float).reshape(-1, 5)


def overlaps(one: ArrayLike, other: ArrayLike) -> Floats:
    """Return the intersections over unions of boxes [m, 4] and [k, 4]: [m, k]."""
    a, b = np.asarray(one, float).reshape(-1, 1, 4), np.asarray(other, float).reshape(1, -1, 4)
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])  # [m, k, 2]
    shared = sides.clip(0).prod(-1)
    union = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - shared
    result: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return result


def mean_average_precision(truths: Sequence[Floats], found: Sequence[Floats], at: float = 0.5) -> float:
    """Return the mean over classes, of those that occur in the truth, of the average precision."""
    classes = np.unique(np.concatenate([each[:, 0] for each in truths]))
    return float(np.mean([average_precision(*_of(truths, found, c), at) for c in classes]))


def _of(truths: Sequence[Floats], found: Sequence[Floats], number: float) -> tuple[list[Floats], list[Floats]]:
    """Return boxes [m, 4], and scores with boxes [m, 5], of one class in each image."""
    return [t[t[:, 0] == number, 1:] for t in truths], [f[f[:, 0] == number, 1:] for f in found]


def average_precision(truths: Sequence[Floats], found: Sequence[Floats], at: float = 0.5) -> float:
    """Return the area under the precision of detections as a function of recall, interpolated at all points.

    truths: boxes [m, 4] of each image. found: scores and boxes [m, 5] of each image. In the order of their scores,
    detections take the box with the largest overlap of at least `at`; a box that is taken makes later ones false.
    """
    ranked = sorted((-row[0], i, tuple(row[1:])) for i, rows in enumerate(found) for row in rows.tolist())
    taken: list[set[int]] = [set() for _ in truths]
    hits = np.array([_hit(truths[i], taken[i], box, at) for _, i, box in ranked], bool)
    count = sum(len(each) for each in truths)
    if not count:
        raise ValueError("average_precision: expected at least one box in the truth, got none")
    recall = np.cumsum(hits) / count
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    highest = np.maximum.accumulate(precision[::-1])[::-1]  # of this recall and above
    return float((np.diff(recall, prepend=0.0) * highest).sum())


def _hit(boxes: Floats, taken: set[int], box: tuple[float, ...], at: float) -> bool:
    """Return whether a detection finds a box that is not taken, which it takes."""
    if not len(boxes):
        return False
    shares = overlaps(boxes, [box])[:, 0]
    best = int(shares.argmax())
    if shares[best] < at or best in taken:
        return False
    taken.add(best)
    return True
