"""What evaluations cost: one each, or with a `Fidelity` as much as their fidelity."""

from collections.abc import Hashable

from lamcts.outcomes.constrained_rank import FAILED
from lamcts.outcomes.observations import Observations
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fidelity import FidelityAxis, configuration
from lamcts.types import Floats


class Costs:
    """The costs of evaluations in order, in units: those of the fidelity, or 1 each without one."""

    def __init__(self, space: SearchSpace) -> None:
        self.axis = FidelityAxis.of(space)
        self.full = 1 if self.axis is None else self.axis.fidelity.high
        self.least = 1 if self.axis is None else self.axis.fidelity.low
        self._reached: dict[Hashable, int] = {}  # configuration -> its highest fidelity with a value

    def of(self, x: Floats) -> int:
        """Return the cost of an evaluation at `x` [d] that starts now."""
        if self.axis is None:
            return 1
        fidelity = int(self.axis.of_rows(x[None])[0])
        before = self._reached.get(configuration(self.axis, x), 0) if self.axis.fidelity.resumes else 0
        return fidelity - before if fidelity > before else fidelity

    def tell(self, x: Floats, failed: bool) -> None:
        """Take note of an evaluation that has ended."""
        if self.axis is not None and not failed:
            key = configuration(self.axis, x)
            self._reached[key] = max(self._reached.get(key, 0), int(self.axis.of_rows(x[None])[0]))

    def take(self, seen: Observations) -> list[int]:
        """Take all rows of a run, and return what each costs; known results cost nothing."""
        costs = []
        for x, trial, kind in zip(seen.x, seen.trial.tolist(), seen.kind.tolist(), strict=True):
            costs.append(self.of(x) if trial >= 0 else 0)
            self.tell(x, kind == FAILED)
        return costs
