"""What evaluations cost: one each, or with a `Fidelity` as much as their fidelity."""

from lamcts.observations import Observations
from lamcts.outcomes.constrained_rank import FAILED
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.types import Floats


class Costs:
    """The costs of evaluations in order, in units: the fidelity's, or 1 each without one."""

    def __init__(self, space: SearchSpace) -> None:
        self.axis = FidelityAxis.of(space)
        self.full = 1 if self.axis is None else self.axis.fidelity.high
        self._reached: dict[bytes, int] = {}  # configuration -> its highest fidelity with a value

    def of(self, x: Floats) -> int:
        """Return the cost of an evaluation at `x` [d] that starts now."""
        if self.axis is None:
            return 1
        fidelity = int(self.axis.of_rows(x[None])[0])
        before = self._reached.get(self._key(x), 0) if self.axis.fidelity.resumes else 0
        return fidelity - before if fidelity > before else fidelity

    def tell(self, x: Floats, failed: bool) -> None:
        """Take note of an evaluation that has ended."""
        if self.axis is not None and not failed:
            key, fidelity = self._key(x), int(self.axis.of_rows(x[None])[0])
            self._reached[key] = max(self._reached.get(key, 0), fidelity)

    def _key(self, x: Floats) -> bytes:
        assert self.axis is not None
        return (self.axis.without(x[None]) + 0.0).tobytes()


def full_evaluations(space: SearchSpace, seen: Observations) -> float | None:
    """Return the cost of all trials of a run in full evaluations; None if the space has no fidelity."""
    costs = Costs(space)
    return None if costs.axis is None else told_cost(costs, seen) / costs.full


def told_cost(costs: Costs, seen: Observations) -> int:
    """Tell the rows of a run to its costs, and return what its trials cost."""
    total = 0
    for x, trial, kind in zip(seen.x, seen.trial.tolist(), seen.kind.tolist(), strict=True):
        total += costs.of(x) if trial >= 0 else 0  # known results cost nothing
        costs.tell(x, kind == FAILED)
    return total
