"""A table's accuracy against what it costs: parameters, operations, latency. The whole front is known."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lamcts.nas.base import Point
from lamcts.nas.objective import DIGITS, TableObjective
from lamcts.nas.tabled import TabledSpace
from lamcts.spaces.base import Space
from lamcts.types import Floats

ACCURACY = "accuracy_percent"  # what the searched values are called among the objectives


@dataclass(frozen=True, eq=False)
class TradeOff:
    """The searched value of a table, higher is better, against one of its costs, lower is better.

    name: what it is called.
    table: the objective that has the values.
    cost: the name of the cost among those that `table.also` gives.

    A call raises RuntimeError, a failed evaluation, where the table has no value or no cost. Hypervolumes are measured
    from the least accuracy and the highest cost that a network of the table has.
    """

    name: str
    table: TableObjective
    cost: str

    maximize = False
    x0 = None
    optimum = None
    constraints = ()

    def __post_init__(self) -> None:
        if self.cost not in self.table.others:
            known = ", ".join(self.table.others) or "none"
            raise ValueError(f"against: expected a cost that {self.table.name} has ({known}), got {self.cost!r}")
        if not self._known.any():
            raise ValueError(f"against: expected networks with {self.cost} and a value in the table, got none")

    @property
    def space(self) -> Space:
        return self.table.space

    @property
    def architectures(self) -> TabledSpace:
        return self.table.architectures

    @property
    def objectives(self) -> dict[str, str]:
        return {ACCURACY: "max", self.cost: "min"}

    def __call__(self, point: Point, *, seed: int | None = None) -> dict[str, float]:
        """Return accuracy and cost. The table has no noise: `seed` has no say."""
        row = self.table.row(point)
        if not self._known[row]:
            raise RuntimeError(f"{self.name}: row {row} of the table has no {self.cost}")
        return {ACCURACY: float(self.table.searched[row]), self.cost: float(self._costs[row])}

    @property
    def reference(self) -> dict[str, float]:
        return {ACCURACY: float(self._accuracies.min()), self.cost: float(self._costs[self._known].max())}

    @cached_property
    def hypervolume(self) -> float:
        """That of the whole table."""
        costs, least = self._costs[self._known], self.reference
        cheapest = np.lexsort((-self._accuracies, costs))
        best = np.maximum.accumulate(self._accuracies[cheapest])  # that can be had for so much
        widths = np.diff(costs[cheapest], append=least[self.cost])
        return float(widths @ (best - least[ACCURACY]))

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        content = hashlib.sha256(np.ascontiguousarray(self._costs).tobytes()).hexdigest()[:DIGITS]
        return {**self.table.fingerprint(), "against": self.cost, "costs": content}

    @cached_property
    def _costs(self) -> Floats:
        return np.asarray(self.table.others[self.cost], float)  # [N]

    @cached_property
    def _known(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.isfinite(self._costs) & np.isfinite(self.table.searched)  # [N]

    @property
    def _accuracies(self) -> Floats:
        result: Floats = self.table.searched[self._known]  # [K]
        return result
