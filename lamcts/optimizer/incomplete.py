"""Incomplete results: some columns of a pending trial are known, the others are measured later."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from lamcts.optimizer.losses import Taken, numbers_of, taken
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.measured import Measured, apart
from lamcts.outcomes.metrics import Metrics, metrics_of
from lamcts.outcomes.observations import IncompleteRow
from lamcts.types import Json

Values = Mapping[str, float | Measured | None]


class Incomplete(NamedTuple):
    """What is known of a pending trial.

    Attributes
    ----------
    values : mapping of str to number, None or Measured
        Values of objectives and constrained quantities by name, in the user's sign; None will never be known.
    metrics : dict
        What was told next to them.
    seconds : float
        Duration of the evaluation, nan if unknown.
    """

    values: Values
    metrics: Metrics
    seconds: float

    @classmethod
    def told(cls, value: object, held: object, seconds: float, goals: Goals) -> "Incomplete":
        """Return what was told as a dict of some values, and of constraints."""
        names, (numbers, sems) = goals.names, apart(value, goals)
        errors = {name: sem for name, sem in zip(names, sems or (), strict=False) if not math.isnan(sem)}
        values = {
            name: Measured(number, errors[name]) if name in errors else None if number != number else number
            for name, number in numbers_of(numbers, held, goals).items()
        }
        return cls(values, {}, float(seconds))

    @classmethod
    def of(cls, entry: Json) -> "Incomplete":
        """Return what `to_json` wrote."""
        values = {name: Measured(*each) if isinstance(each, list) else each for name, each in entry["values"].items()}
        seconds = entry["seconds"]
        return cls(values, metrics_of(entry["metrics"]), math.nan if seconds is None else float(seconds))

    def to_json(self) -> Json:
        """Return JSON values."""
        values = {
            name: [each.value, each.sem] if isinstance(each, Measured) else each for name, each in self.values.items()
        }
        seconds = None if math.isnan(self.seconds) else self.seconds
        return {"values": values, "metrics": dict(self.metrics), "seconds": seconds}

    def outcome(self, goals: Goals) -> Taken:
        """Return it as one row, nan where pending; ValueError for a name or a value that there cannot be."""
        pending = dict.fromkeys((*goals.names, *goals.quantities))
        return taken([{**pending, **self.values}], [None], goals)

    def row(self, goals: Goals) -> IncompleteRow:
        """Return the columns that are known."""
        told = self.outcome(goals)
        return IncompleteRow(told.f[0], told.g[0], told.sems.get(0))
