"""The budget of a run, and the costs of evaluations: 1 each, or their fidelity with a `Fidelity`."""

from collections.abc import Hashable
from typing import TYPE_CHECKING

from lamcts.outcomes.constrained_rank import FAILED
from lamcts.outcomes.observations import Observations
from lamcts.outcomes.trial import Trial
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fidelity import FidelityAxis, configuration
from lamcts.study.options import RunSettings
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer


class Costs:
    """The costs of evaluations in order, in the unit of the fidelity; 1 each without one."""

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
        """Add an ended evaluation."""
        if self.axis is not None and not failed:
            key = configuration(self.axis, x)
            self._reached[key] = max(self._reached.get(key, 0), int(self.axis.of_rows(x[None])[0]))

    def take(self, seen: Observations) -> list[int]:
        """Add all rows of a run, and return their costs, 0 for known results."""
        costs = []
        for x, trial, kind in zip(seen.x, seen.trial.tolist(), seen.kind.tolist(), strict=True):
            costs.append(self.of(x) if trial >= 0 else 0)
            self.tell(x, kind == FAILED)
        return costs


class Spending:
    """The budget in units of cost; with a fidelity, the last affordable full evaluation is at the best prediction."""

    def __init__(self, space: SearchSpace, settings: RunSettings) -> None:
        self._costs = costs = Costs(space)
        axis = costs.axis
        unit = settings.budget_unit
        if unit is not None and (axis is None or unit != axis.name):
            known = "there is no Fidelity" if axis is None else f"or the name of the Fidelity, {axis.name!r}"
            raise ValueError(f"budget_unit: expected None, {known}; got {unit!r}")
        self._scale = costs.full if unit is None else 1  # units of cost for 1 of the budget
        self.budget = settings.budget * self._scale
        self._evaluations = settings.budget
        least = 0 if axis is None else 2 * costs.full // self._scale
        if settings.budget < least:
            raise ValueError(
                f"budget: expected the cost of two full evaluations, {least}, or more, got {settings.budget}; raise it"
            )
        self.evaluations = settings.budget * self._scale // costs.least  # of the least fidelity
        self.over = False  # whether no evaluation is affordable
        self._spent = 0
        self._running: dict[int, int] = {}  # trial -> its cost

    def load(self, seen: Observations) -> None:
        """Add the rows of an earlier session."""
        self._spent = sum(self._costs.take(seen))
        self.over = self._spent >= self.budget

    @property
    def words(self) -> str:
        """The budget in words."""
        axis = self._costs.axis
        n = self._evaluations
        full = f"{'' if axis is None else 'full '}evaluation{'s' * (n != 1)}"
        return f"{n} {full if axis is None or self._scale > 1 else axis.name}"

    @property
    def spent(self) -> float | None:
        """The cost of ended evaluations, in the unit of the budget; None without a fidelity."""
        return None if self._costs.axis is None else self._spent / self._scale

    @property
    def room(self) -> int:
        """The budget that is neither spent nor running, in units of cost."""
        return self.budget - self._spent - sum(self._running.values())

    def affords(self, trial: Trial) -> bool:
        return self._costs.of(trial.x) <= self.room

    def start(self, trial: Trial) -> Trial:
        self._running[trial.id] = self._costs.of(trial.x)
        return trial

    def tell(self, trial: Trial, failed: bool) -> None:
        """Add an ended trial."""
        self._spent += self._running.pop(trial.id)
        self._costs.tell(trial.x, failed)
        self.over = self.over or self._spent >= self.budget

    def ask(self, optimizer: "Optimizer", n: int, hurry: bool = False) -> list[Trial]:
        """Return at most `n` new trials that leave room for a full evaluation; at last, return that evaluation."""
        axis = self._costs.axis
        seen = optimizer.seen
        if axis is None:
            return optimizer.ask(n, self.room)
        has_no_full = seen.best is None and axis.partial(seen.pending_x()).all()
        if hurry and has_no_full and (first := optimizer.confirm()):
            return first  # affordable, since earlier trials left room for it
        trials = optimizer.ask(n)
        room = self.room - self._costs.full
        affordable = [trial for trial in trials if (room := room - self._costs.of(trial.x)) >= 0]
        for trial in trials[len(affordable) :]:
            optimizer.forget(trial)
        for last in () if affordable else optimizer.confirm():
            if self.affords(last):
                affordable = [last]
            else:
                optimizer.forget(last)
        self.over = self.over or not (affordable or self._running)
        return affordable
