"""Incomplete results: some columns of a pending trial are known, the others are measured later."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from lamcts.optimizer.losses import Taken, numbers_of, taken
from lamcts.outcomes.goals import MAX_VIOLATION, Goals
from lamcts.outcomes.measured import sem_of, separate_sems
from lamcts.outcomes.metrics import Metrics, metrics_of
from lamcts.outcomes.observations import IncompleteRow
from lamcts.types import Json


class Incomplete(NamedTuple):
    """What is known of a pending trial: values by name (a number, `(number, sem)`, None), metrics, and seconds."""

    values: Mapping[str, float | tuple[float, float] | None]
    metrics: Metrics
    seconds: float

    @classmethod
    def told(cls, value: object, held: object, seconds: float, goals: Goals) -> "Incomplete":
        """Return what was told as a dict of some values, and of constraints."""
        numbers, sems = separate_sems(value, goals)
        values = dict[str, float | tuple[float, float] | None](numbers_of(numbers, held, goals))
        for name, sem in zip(goals.names, sems or (), strict=False):
            if sem == sem and isinstance(number := values[name], float):
                values[name] = number, sem
        return cls(values, {}, float(seconds))

    @classmethod
    def of(cls, entry: Json) -> "Incomplete":
        """Return what became JSON values of `_asdict`."""
        values = {
            name: (float(each[0]), sem_of(each[1])) if isinstance(each, (list, tuple)) else each
            for name, each in entry["values"].items()
        }
        return cls(values, metrics_of(entry["metrics"]), float(entry["seconds"]))

    def outcome(self, goals: Goals) -> Taken:
        """Return it as one row, nan where pending; ValueError for a name or a value that there cannot be."""
        names = (*goals.names, *goals.quantities)
        if unknown := [name for name in self.values if name not in names]:
            raise ValueError(f"expected values of {', '.join(names)}, got {unknown[0]!r}")
        return taken([{**dict.fromkeys(names), **self.values}], [None], goals)

    def row(self, goals: Goals) -> IncompleteRow:
        """Return the columns that are known, for models."""
        told = self.outcome(goals)
        return IncompleteRow(np.clip(told.f[0], -MAX_VIOLATION, MAX_VIOLATION), told.g[0], told.sems.get(0))
