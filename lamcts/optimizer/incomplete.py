"""Incomplete results: some columns of a pending trial are known, and the others are measured later."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from lamcts.optimizer.losses import Outcomes, numbers_of, outcomes_of
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.measured import sem_of, separate_sems
from lamcts.outcomes.metrics import Metrics, metrics_of
from lamcts.outcomes.observations import IncompleteRow
from lamcts.types import MAX_SIZE, Json


class Incomplete(NamedTuple):
    """Known values of a pending trial by name (a number, `(number, sem)` or None), its metrics and its seconds."""

    values: Mapping[str, float | tuple[float, float] | None]
    metrics: Metrics
    seconds: float

    @classmethod
    def of_values(cls, value: object, constraints: object, seconds: float, goals: Goals) -> "Incomplete":
        """Return the incomplete result of a dict of values, and of constraints."""
        numbers, sems = separate_sems(value, goals)
        values = dict[str, float | tuple[float, float] | None](numbers_of(numbers, constraints, goals))
        for name, sem in zip(goals.names, sems or (), strict=False):
            if sem == sem and isinstance(number := values[name], float):
                values[name] = number, sem
        return cls(values, {}, float(seconds))

    @classmethod
    def from_json(cls, entry: Json) -> "Incomplete":
        """Return the incomplete result of the JSON values of `_asdict`."""
        values = {
            name: (float(value[0]), sem_of(value[1])) if isinstance(value, (list, tuple)) else value
            for name, value in entry["values"].items()
        }
        return cls(values, metrics_of(entry["metrics"]), float(entry["seconds"]))

    def outcomes(self, goals: Goals) -> Outcomes:
        """Return one row, nan where pending; ValueError for an unknown name or an invalid value."""
        known_names = (*goals.names, *goals.quantities)
        if unknown := [name for name in self.values if name not in known_names]:
            raise ValueError(f"expected values of {', '.join(known_names)}, got {unknown[0]!r}")
        return outcomes_of([{**dict.fromkeys(known_names), **self.values}], [None], goals)

    def row(self, goals: Goals) -> IncompleteRow:
        """Return the known columns for models."""
        outcomes = self.outcomes(goals)
        return IncompleteRow(np.clip(outcomes.f[0], -MAX_SIZE, MAX_SIZE), outcomes.g[0], outcomes.sems.get(0))
