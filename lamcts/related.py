"""Evaluations of related tasks, such as the same model on another data set.

They are none of this task: only their order counts. Letters: n rows, k points, d coordinates.
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lamcts.types import Floats, Json

FIRST = 4  # points of related tasks in the initial design (untuned)
GOOD = 4  # of so many rows of a task one is good enough for the design (untuned)


class RelatedTask(NamedTuple):
    """Evaluations of one related task: x [n, d] in the cube, and losses y [n], comparable within the task alone."""

    x: Floats
    y: Floats


class RelatedTasks(tuple[RelatedTask, ...]):
    """Evaluations of related tasks."""

    __slots__ = ()

    @classmethod
    def from_json(cls, tasks: Iterable[Json]) -> "RelatedTasks":
        """Return what `to_json` wrote."""
        return cls(RelatedTask(np.array(task["x"], float), np.array(task["y"], float)) for task in tasks)

    def to_json(self) -> list[Json]:
        """Return JSON values with all digits."""
        return [{"x": task.x.tolist(), "y": task.y.tolist()} for task in self]

    def digest(self) -> str:
        """Return a text that tells these evaluations from others."""
        return hashlib.sha256(b"".join((column + 0.0).tobytes() for task in self for column in task)).hexdigest()[:16]

    def first_points(self, n: int = FIRST) -> list[Floats]:
        """Return at most `n` good points that are far apart, each [d], from each task in turn, its best first."""
        found: list[Floats] = []
        good = [task.x[np.argsort(task.y, kind="stable")[: -(-len(task.y) // GOOD)]] for task in self if len(task.y)]
        for i in range(n if good else 0):
            x = good[i % len(good)]
            far = np.min([np.square(x - other).sum(1) for other in found], axis=0) if found else np.ones(len(x))
            best = 0 if i < len(good) else int(np.argmax(far))
            found += [x[best]] if far[best] > 0 else []
        return found


NO_TASKS = RelatedTasks()
