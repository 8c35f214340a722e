"""Evaluations of related tasks, such as the same model on another data set.

Only the order of their values counts. A Gaussian process is fitted to each task. Once its forecasts rank the
evaluations of this task better than chance, the best point of the related task is evaluated. For one objective without
constraints, `MixedGp` then takes the forecasts as its prior mean. With related tasks, `MixedGp` is also the default
sampler of real parameters.

Letters: n rows, d coordinates.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lamcts.types import Floats, Json


class RelatedTask(NamedTuple):
    """Evaluations of one related task: x [n, d] in the cube, and losses y [n], comparable within the task alone."""

    x: Floats
    y: Floats


class RelatedTasks(tuple[RelatedTask, ...]):
    """Evaluations of related tasks."""

    __slots__ = ()

    @classmethod
    def from_json(cls, tasks: Iterable[Json]) -> "RelatedTasks":
        """Return the tasks of JSON values."""
        return cls(RelatedTask(np.array(task["x"], float), np.array(task["y"], float)) for task in tasks)

    def to_json(self) -> list[Json]:
        """Return JSON values with all digits."""
        return [{"x": task.x.tolist(), "y": task.y.tolist()} for task in self]

    def digest(self) -> str:
        """Return a checksum of the evaluations."""
        return hashlib.sha256(json.dumps(self.to_json()).encode()).hexdigest()[:16]


NO_TASKS = RelatedTasks()
