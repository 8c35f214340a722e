"""Two objectives from one: the value of a point against what it costs (parameters, operations, latency)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from lamcts.nas.objective import DIGITS, TableObjective
from lamcts.spaces.base import SearchSpace
from lamcts.types import Floats

ACCURACY = "accuracy_percent"  # the name of the value among the objectives


class Costed(Protocol):
    """An objective whose points have costs: `TableObjective`, `TrainObjective`, `SupernetObjective`, or your own."""

    @property
    def name(self) -> str:
        """The name of the objective."""

    @property
    def space(self) -> SearchSpace:
        """The points that it evaluates."""

    @property
    def maximize(self) -> bool:
        """Whether higher values are better."""

    def __call__(self, point: Any, *, seed: int | None = None) -> float:
        """Return the value of a point."""

    def costs(self, point: Any) -> Mapping[str, float]:
        """Return the costs of a point by name, units in the names; nan where a cost is unknown."""

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to continue the other, as JSON values."""


@dataclass(frozen=True, eq=False)
class TradeOff:
    """The value of an objective against one of its costs, lower is better.

    objective: the objective, with `costs(point)`.
    cost: the name of the cost among those that `objective.costs` returns.
    name: the name of the pair (""; then "OBJECTIVE against COST").
    value: the name of the value among the objectives ("accuracy_percent").

    A call evaluates the objective and then its costs. It raises RuntimeError, a failed evaluation, where the cost is
    unknown.
    """

    objective: Costed
    cost: str
    name: str = ""
    value: str = ACCURACY

    maximize = False
    x0 = None
    optimum = None
    constraints = ()

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", f"{self.objective.name} against {self.cost}")

    @property
    def space(self) -> SearchSpace:
        return self.objective.space

    @property
    def architectures(self) -> Any:
        """The space of networks of the objective; AttributeError where it has none."""
        return self.objective.architectures  # type: ignore[attr-defined]

    @property
    def objectives(self) -> dict[str, str]:
        return {self.value: "max" if self.objective.maximize else "min", self.cost: "min"}

    @property
    def reference(self) -> dict[str, float] | None:
        """The point that hypervolumes are measured from; None: unknown."""
        return None

    @property
    def hypervolume(self) -> float | None:
        """The largest hypervolume; None: unknown."""
        return None

    def __call__(self, point: Any, *, seed: int | None = None) -> dict[str, float]:
        """Return value and cost by name."""
        value, costs = self.objective(point, seed=seed), self.objective.costs(point)
        if self.cost not in costs:
            known = ", ".join(costs) or "none"
            raise RuntimeError(f"{self.name}: expected a cost that the objective has ({known}), got {self.cost!r}")
        if np.isnan(costs[self.cost]):
            raise RuntimeError(f"{self.name}: the {self.cost} of this point is unknown")
        return {self.value: float(value), self.cost: float(costs[self.cost])}

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to continue the other, as JSON values."""
        return {**self.objective.fingerprint(), "against": self.cost}


@dataclass(frozen=True, eq=False)
class TableTradeOff(TradeOff):
    """The searched value of a table against one of its costs; the whole front is known.

    objective: the table.
    cost: the name of the cost among those that `objective.costs` returns.
    name: the name of the pair (""; then "OBJECTIVE against COST").
    value: the name of the value among the objectives ("accuracy_percent").

    Hypervolumes are measured from the least accuracy and the highest cost that a network of the table has.
    """

    objective: TableObjective

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cost not in self.objective.others:
            known = ", ".join(self.objective.others) or "none"
            raise ValueError(f"against: expected a cost that {self.objective.name} has ({known}), got {self.cost!r}")
        if not self._known.any():
            raise ValueError(f"against: expected networks with {self.cost} and a value in the table, got none")

    @property
    def reference(self) -> dict[str, float]:
        return {self.value: float(self._accuracies.min()), self.cost: float(self._costs[self._known].max())}

    @cached_property
    def hypervolume(self) -> float:
        """The hypervolume of the whole table."""
        costs, least = self._costs[self._known], self.reference
        cheapest = np.lexsort((-self._accuracies, costs))
        best = np.maximum.accumulate(self._accuracies[cheapest])  # up to each cost
        widths = np.diff(costs[cheapest], append=least[self.cost])
        return float(widths @ (best - least[self.value]))

    def fingerprint(self) -> dict[str, Any]:
        content = hashlib.sha256(np.ascontiguousarray(self._costs).tobytes()).hexdigest()[:DIGITS]
        return {**super().fingerprint(), "costs": content}

    @cached_property
    def _costs(self) -> Floats:
        return np.asarray(self.objective.others[self.cost], float)  # [N]

    @cached_property
    def _known(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.isfinite(self._costs) & np.isfinite(self.objective.searched)  # [N]

    @property
    def _accuracies(self) -> Floats:
        result: Floats = self.objective.searched[self._known]  # [K]
        return result
