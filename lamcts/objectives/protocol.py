"""The protocols of objectives: a function of points of a space, with one value or with several quantities."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from lamcts.spaces.base import SearchSpace
from lamcts.types import Point


class Objective(Protocol):
    """A function of points of a space, and what is known about it.

    An objective may have a method `fingerprint()` that returns JSON values. A journal resumes only with an objective
    of the same fingerprint.
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
        """Return the value at `point`; a `DictObjective` objective returns its quantities by name.

        The same seed gives the same noise; None draws fresh noise.
        """


@runtime_checkable
class Costed(Objective, Protocol):
    """An objective of one value whose points have costs, such as parameters, operations or seconds.

    Tables of networks, trained networks and supernets are costed. `TradeOff` searches the value against one cost.

    Examples
    --------
    >>> from lamcts import objectives
    >>> f = objectives.make("digits4096")
    >>> isinstance(f, objectives.Costed)
    True
    >>> f.cost(f.best())
    {'params': 2562.0, 'flops': 304288.0}
    """

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
