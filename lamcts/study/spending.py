"""The budget of a run: what is spent, what runs, and what it affords."""

from lamcts.observations import Observations
from lamcts.optimizer.optimizer import Optimizer
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.study.costs import Costs, told_cost
from lamcts.study.options import RunSettings
from lamcts.trial import Trial


class Spending:
    """The budget of a run: what is spent, what runs, and which trials it affords.

    The last full evaluation that it affords confirms the best prediction.
    """

    def __init__(self, space: SearchSpace, settings: RunSettings) -> None:
        self.costs = Costs(space)
        axis, unit = self.costs.axis, settings.budget_unit
        if unit is not None and (axis is None or unit != axis.name):
            known = "there is no Fidelity" if axis is None else f"or the name of the Fidelity, {axis.name!r}"
            raise ValueError(f"budget_unit: expected None, {known}; got {unit!r}")
        for option, given in (("pruner", settings.pruner is not None), ("noisy", settings.checks > 0)):
            if axis is not None and given:
                raise ValueError(
                    f"{option}: expected none with a Fidelity, which says how long trials are; leave it out"
                )
        self._scale = 1 if unit is not None else self.costs.full  # of one of the budget, in units
        self.budget = settings.searches * self._scale
        if axis is not None and self.budget < 2 * self.costs.full:
            least = 2 * self.costs.full // self._scale
            raise ValueError(
                f"budget: expected the cost of at least two full evaluations, {least}, got {settings.budget}; raise it"
            )
        self.over = False  # whether nothing more is affordable
        self._spent = 0
        self._running: dict[int, int] = {}  # trial -> its cost

    def load(self, seen: Observations) -> None:
        """Take the rows of an earlier session."""
        self._spent = told_cost(self.costs, seen)
        self.over = self._spent >= self.budget

    @property
    def words(self) -> str:
        """The budget in words."""
        axis, budget = self.costs.axis, self.budget // self._scale
        if axis is not None and self._scale == 1:
            return f"{budget} {axis.name}"
        return f"{budget} {'' if axis is None else 'full '}evaluation{'s' * (budget != 1)}"

    @property
    def spent(self) -> float | None:
        """What has ended, in the unit of the budget; None without a fidelity."""
        return None if self.costs.axis is None else self._spent / self._scale

    @property
    def room(self) -> int:
        """What is neither spent nor running, in units."""
        return self.budget - self._spent - sum(self._running.values())

    def affords(self, trial: Trial) -> bool:
        return self.costs.of(trial.x) <= self.room

    def start(self, trial: Trial) -> Trial:
        self._running[trial.id] = self.costs.of(trial.x)
        return trial

    def told(self, trial: Trial, failed: bool) -> None:
        """Take note of a trial that has ended."""
        self._spent += self._running.pop(trial.id)
        self.costs.tell(trial.x, failed)
        self.over = self.over or self._spent >= self.budget

    def ask(self, optimizer: Optimizer, n: int) -> list[Trial]:
        """Return at most `n` new trials that leave room for a full evaluation, and then that evaluation."""
        trials = optimizer.ask(n)
        if self.costs.axis is None:
            return trials
        room, kept = self.room, list[Trial]()
        for trial in trials:
            cost = self.costs.of(trial.x)
            if cost + self.costs.full <= room:
                kept, room = [*kept, trial], room - cost
            else:
                optimizer.forget(trial)
        if not kept and (last := optimizer.ask_full()) is not None:
            kept = [last] if self.costs.of(last.x) <= room else []
            if not kept:
                optimizer.forget(last)
        self.over = self.over or not (kept or self._running)
        return kept


def evaluations_of(space: SearchSpace, settings: RunSettings) -> int:
    """Return how many of the cheapest evaluations the budget affords."""
    axis = FidelityAxis.of(space)
    if axis is None:
        return settings.budget
    scale = 1 if settings.budget_unit is not None else axis.fidelity.high
    return settings.budget * scale // axis.fidelity.low
