"""Two objectives from one: the value of a point against one of its costs."""

import math
from dataclasses import dataclass
from typing import Any

from lamcts.objectives.protocol import Costed
from lamcts.spaces.base import SearchSpace


@dataclass(frozen=True, eq=False)
class TradeOff:
    """The value of an objective and one of its costs, lower is better, as two objectives.

    Parameters
    ----------
    objective : Costed
        The objective, with a method `cost(point)`.
    cost : str
        The name of the cost in the dict that `objective.cost` returns.
    name : str, default ""
        The name of the pair; empty: "OBJECTIVE against COST".
    value : str, default "value"
        The name of the value among the objectives.

    Raises
    ------
    ValueError
        If a call of the objective returns several quantities.
    RuntimeError
        By a call, a failed evaluation, if the cost of the point is unknown.

    Notes
    -----
    A call evaluates the objective first: a cost may come from the evaluation, such as the seconds of a training.

    Examples
    --------
    >>> from lamcts import objectives
    >>> table = objectives.make("digits4096")
    >>> f = objectives.TradeOff(table, "params", value="accuracy_percent")
    >>> f.objectives
    {'accuracy_percent': 'max', 'params': 'min'}
    >>> f(table.best())
    {'accuracy_percent': 99.07407407407409, 'params': 2562.0}
    """

    objective: Costed
    cost: str
    name: str = ""
    value: str = "value"

    maximize = False
    x0 = None
    optimum = None
    constraints = ()

    def __post_init__(self) -> None:
        if hasattr(self.objective, "objectives"):
            own = ", ".join(self.objective.objectives)
            raise ValueError(
                f"objective: expected one of one value, got {self.objective.name} with {own}: search these"
            )
        if not self.name:
            object.__setattr__(self, "name", f"{self.objective.name} against {self.cost}")

    @property
    def space(self) -> SearchSpace:
        return self.objective.space

    @property
    def objectives(self) -> dict[str, str]:
        return {self.value: "max" if self.objective.maximize else "min", self.cost: "min"}

    @property
    def reference(self) -> dict[str, float] | None:
        """The reference point of hypervolumes; None: unknown."""
        return None

    @property
    def hypervolume(self) -> float | None:
        """The largest hypervolume; None: unknown."""
        return None

    def __call__(self, point: Any, *, seed: int | None = None) -> dict[str, float]:
        """Return value and cost by name."""
        value, costs = self.objective(point, seed=seed), self.objective.cost(point)
        if self.cost not in costs:
            known = ", ".join(costs) or "none"
            raise RuntimeError(f"{self.name}: expected a cost that the objective has ({known}), got {self.cost!r}")
        if math.isnan(costs[self.cost]):
            raise RuntimeError(f"{self.name}: the {self.cost} of this point is unknown")
        return {self.value: float(value), self.cost: float(costs[self.cost])}

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to continue the other, as JSON values."""
        return {**self.objective.fingerprint(), "against": self.cost}
