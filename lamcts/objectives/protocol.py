"""The protocols of objectives: a function of points of a space, with one value or with several quantities."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from lamcts.spaces.base import SearchSpace
from lamcts.spaces.values import own_copy
from lamcts.types import Point

DIGITS = 16  # hexadecimal: 64 bits, which no two objectives share by chance


class Objective(Protocol):
    """A function of points of a space, and what is known about it.

    A journal resumes only with an objective of the same `fingerprint()`, if it has this method. `sampler="auto"` is its
    attribute `recommended_sampler`, the name of a sampler, if it has one. With an attribute `noisy` that is True, runs
    behave as with `noisy=True` unless they are told otherwise.
    """

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def space(self) -> SearchSpace:
        """The space of its points."""

    @property
    def maximize(self) -> bool:
        """Whether higher values are better."""

    @property
    def x0(self) -> Point:
        """A point to start from, or None."""

    @property
    def optimum(self) -> float | None:
        """The best possible value, or None if it is unknown."""

    def __call__(self, point: Point, *, seed: int | None = None) -> float | dict[str, float]:
        """Return the value at `point`, or quantities by name; the same seed gives the same noise, None fresh noise."""


@runtime_checkable
class Costed(Objective, Protocol):
    """An objective of one value whose points have costs, such as parameters, operations or seconds."""

    def __call__(self, point: Any, *, seed: int | None = None) -> float:
        """Return the value at `point`."""

    def cost(self, point: Any) -> dict[str, float]:
        """Return the costs of a point by name, units in the names; nan if a cost is unknown."""

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to continue the other, as JSON values."""


class DictObjective(Objective, Protocol):
    """An objective whose calls return a dict of quantities: objectives, and quantities with constraints.

    `maximize` is False and not used. `optimum` is the best feasible value, or None with several objectives.
    """

    @property
    def objectives(self) -> Mapping[str, str]:
        """The direction of each objective by name: "min" or "max"."""

    @property
    def constraints(self) -> tuple[str, ...]:
        """The constraints as texts: "NAME <= NUMBER", "NAME >= NUMBER" or "NAME == NUMBER +- TOLERANCE"."""

    @property
    def reference(self) -> Mapping[str, float] | None:
        """The reference point of hypervolumes by name of an objective, or None."""

    @property
    def hypervolume(self) -> float | None:
        """The largest known hypervolume, or None."""


@dataclass(frozen=True, eq=False)
class TradeOff:
    """The value of an objective and one of its costs, lower is better, as two objectives.

    Parameters
    ----------
    objective : Costed
        The objective, with a method `cost(point)`. It is evaluated first, since a cost may come from the evaluation.
    cost : str
        The name of the cost in the dict that `objective.cost` returns. A call fails where the cost is unknown.
    name : str, default ""
        The name of the pair; empty: "OBJECTIVE against COST".
    value : str, default "value"
        The name of the value among the objectives.

    Examples
    --------
    >>> from lamcts import objectives
    >>> table = objectives.make("digits4096")
    >>> f = objectives.TradeOff(table, "params", value="accuracy_percent")
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
        if (columns := getattr(self.objective, "objectives", None)) is not None:
            own = ", ".join(columns)
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
        value, costs = self.objective(own_copy(point), seed=seed), self.objective.cost(point)
        if self.cost not in costs:
            known = ", ".join(costs) or "none"
            raise RuntimeError(f"{self.name}: expected a cost that the objective has ({known}), got {self.cost!r}")
        if math.isnan(costs[self.cost]):
            raise RuntimeError(f"{self.name}: the {self.cost} of this point is unknown")
        return {self.value: float(value), self.cost: float(costs[self.cost])}

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to continue the other, as JSON values."""
        return {**self.objective.fingerprint(), "against": self.cost}


def digest(*arrays: ArrayLike | None) -> str:
    """Return a short text that differs where some number of the arrays does; None is an array of its own."""
    found = hashlib.sha256()
    for array in arrays:
        numbers = None if array is None else np.asarray(array, float)
        shape = "none" if numbers is None else str(numbers.shape)
        found.update(shape.encode() + (b"" if numbers is None else numbers.tobytes()))
    return found.hexdigest()[:DIGITS]
