"""An optimizer that follows a study: it takes new results, and proposes one point a trial."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

import lamcts
from lamcts.integrations.optuna.parameters import OptunaParameters, Point, together

CONSTRAINTS = "constraints"  # where Optuna keeps constraints in the attributes of a trial
PROPOSED = (
    "lamcts:proposed"  # where we keep what was proposed: a trial has its parameters only once it was asked for them
)
LONGEST = 2045  # characters of an attribute that every database of Optuna's takes
INFORMATIVE = (TrialState.COMPLETE, TrialState.PRUNED)  # a failed trial may have stopped before its last parameter
MOST_STAND_INS = 32  # a run that crashed often leaves many trials that never end, and each costs an ask (untuned)
# Points in a row whose outcome is known: a branch may be finite, and all of it known. Of 7 points beside 41, on three
# seeds, up to 3 of 30 trials were repeats with 16, and none with 64.
MOST_KNOWN = 64


class TrialOutcome(NamedTuple):
    """The outcome of a finished trial: its values (None: failed), its constraints by name, and when it ended."""

    values: Sequence[float] | None
    constraints: dict[str, float]
    ended: datetime | None = None


class Record:
    """The finished trials of a study, each read once; a distribution is None where nothing holds all values so far."""

    def __init__(self, maximize: bool) -> None:
        self._maximize = maximize
        self.distributions: dict[str, BaseDistribution | None] = {}
        self.constraints: dict[str, None] = {}
        self.outcomes: dict[int, TrialOutcome] = {}
        self._steps: dict[int, list[tuple[float, float]]] = {}  # step -> value there and at the end, as losses

    def is_of(self, trials: Iterable[FrozenTrial]) -> bool:
        """Return whether trials that were read ended when these did; another study may have the same name."""
        read = ((self.outcomes[each.number], each) for each in trials if each.number in self.outcomes)
        return all(outcome.ended == each.datetime_complete for outcome, each in read)

    def read(self, trials: Iterable[FrozenTrial]) -> None:
        """Read the new finished trials."""
        new = [trial for trial in trials if trial.state.is_finished() and trial.number not in self.outcomes]
        for trial in new:
            if trial.state in INFORMATIVE:
                for name, distribution in trial.distributions.items():
                    known = self.distributions.get(name, distribution)
                    self.distributions[name] = None if known is None else together(known, distribution)
            if trial.state == TrialState.COMPLETE:
                self._read_steps(trial)
        for trial in new:
            values, constraints = self._values(trial), constraints_of(trial)
            self.outcomes[trial.number] = TrialOutcome(values, constraints, trial.datetime_complete)
            self.constraints |= dict.fromkeys(constraints)

    def _read_steps(self, trial: FrozenTrial) -> None:
        if len(trial.values) == 1:
            end = self._loss(trial.values[0])
            for step, value in trial.intermediate_values.items():
                self._steps.setdefault(step, []).append((self._loss(value), end))

    def _values(self, trial: FrozenTrial) -> Sequence[float] | None:
        if trial.state == TrialState.COMPLETE:
            return tuple(trial.values)
        return self._pruned(trial) if trial.state == TrialState.PRUNED else None

    def _pruned(self, trial: FrozenTrial) -> Sequence[float] | None:
        """Return the best possible end of a pruned trial: the worst end of those ahead of it, else its own value."""
        if trial.last_step is None:
            return None
        here = self._loss(trial.intermediate_values[trial.last_step])
        ends = [end for value, end in self._steps.get(trial.last_step, ()) if value < here]
        return (self._loss(max(ends, default=here)),)

    def _loss(self, value: float) -> float:
        return -value if self._maximize else value


class Proposer:
    """An `lamcts.Optimizer` over some parameters of a study."""

    def __init__(
        self,
        parameters: OptunaParameters,
        maximize: Sequence[bool],
        constraints: Sequence[str],
        settings: Mapping[str, Any],
    ) -> None:
        self.parameters, self._constraints, self._single = parameters, tuple(constraints), len(maximize) == 1
        goals: dict[str, Any] = {"maximize": maximize[0]}
        if not self._single:
            goals = {"objectives": {f"value {i}": "max" if up else "min" for i, up in enumerate(maximize)}}
        self._optimizer = lamcts.Optimizer(
            parameters.space, constraints=len(self._constraints) or None, **goals, **settings
        )
        self._branches = Branches()
        self._told: set[int] = set()  # numbers of trials of the study
        self._known: dict[Point, TrialOutcome] = {}  # a row of ours may differ in the last bit from that of its point
        self._out: dict[int, lamcts.Trial] = {}  # number of a trial of the study -> ours

    def tell(self, trials: Iterable[FrozenTrial], outcomes: Mapping[int, TrialOutcome]) -> None:
        """Take new trials with an outcome; those without any of the parameters are skipped."""
        new = [trial for trial in trials if trial.number not in self._told and trial.number in outcomes]
        points, known = [], []
        for trial in new:
            self._told.add(trial.number)
            internal, outcome = internal_of(trial), outcomes[trial.number]
            point = self.parameters.point(internal)
            own = self._out.pop(trial.number, None)
            if own is not None and own.point != point:
                self._optimizer.forget(own)  # its parameters were fixed by another process
            if point is not None:
                points.append(point)
                known.append(outcome)
                self._known[point] = outcome
                had = [name for name, distribution in trial.distributions.items() if not distribution.single()]
                if len(had) < len(self.parameters.distributions) and trial.state == TrialState.COMPLETE:
                    self._branches.add(had, self.parameters.numbers(internal), outcome)
        self._take(points, known)

    def _take(self, points: Sequence[Point], outcomes: Sequence[TrialOutcome]) -> None:
        """Tell the optimizer; a point closes an equal pending one, whatever trial it was for."""
        if points:
            held = [self._held(outcome) for outcome in outcomes] if self._constraints else None
            self._optimizer.tell_points(points, [self._value(outcome) for outcome in outcomes], held)
            pending = {trial.id for trial in self._optimizer.pending}
            self._out = {number: trial for number, trial in self._out.items() if trial.id in pending}

    def ask(self, number: int, trials: Iterable[FrozenTrial]) -> Point:
        """Return a point for a trial that no other trial has; any point if all are taken."""
        others = self._others(number, trials)
        taken = {point: other for other, point in others.items() if point is not None}
        while (trial := self._out.pop(number, None) or self._unknown(number, others)) is not None:
            owner = taken.pop(trial.point, number)
            self._keep(owner, trial)
            if owner == number:
                return tuple(trial.point)
        space, rng = self.parameters.space, np.random.default_rng([self._optimizer.seed, number])
        return tuple(space.decode(space.sample(1, rng)[0]))

    def taken(self, number: int, trials: Iterable[FrozenTrial]) -> bool:
        """Return whether another unfinished trial has the point of a trial."""
        own = self._out.get(number)
        return own is not None and own.point in self._others(number, trials).values()

    def _others(self, number: int, trials: Iterable[FrozenTrial]) -> dict[int, Point | None]:
        """Return the points of the other unfinished trials by number."""
        return {
            trial.number: self.parameters.point(internal_of(trial))
            for trial in trials
            if trial.number not in self._told and trial.number != number and trial.state != TrialState.WAITING
        }

    def _unknown(self, number: int, others: Mapping[int, Point | None]) -> lamcts.Trial | None:
        """Return a new trial with an unknown outcome; known outcomes are told to the optimizer."""
        for _ in range(MOST_KNOWN):
            trial = self._next(number, others)
            known = None if trial is None else self._outcome(trial.point)
            if trial is None or known is None:
                return trial
            self._take([trial.point], [known])
        return self._next(number, others)

    def _outcome(self, point: Point) -> TrialOutcome | None:
        at = self._branches.find(dict(zip(self.parameters.distributions, point, strict=True)))
        return self._known.get(tuple(point), at)

    def _next(self, number: int, others: Mapping[int, Point | None]) -> lamcts.Trial | None:
        """Return a new trial of the optimizer; None if no point is left.

        Our searches keep away from trials that they have out, and know nothing of those of other processes: for each of
        these that began earlier they are asked for a trial too, which is out as long. So processes that know the same
        propose different points. The initial design needs none: each process has its own.
        """
        missing = sorted(other for other in others if other < number and other not in self._out)[-MOST_STAND_INS:]
        try:
            trials = self._optimizer.ask()
        except lamcts.Exhausted:
            return self._spare(others)
        if missing and trials[0].session >= 0:
            with suppress(lamcts.Exhausted):
                trials += self._optimizer.ask(len(missing))
        for other, trial in zip(missing, trials[:-1], strict=False):
            self._keep(other, trial)
        return trials[-1]

    def _spare(self, others: Mapping[int, Point | None]) -> lamcts.Trial | None:
        """Return a pending trial whose study trial, of another process, has another point; or None."""
        found = (other for other, trial in self._out.items() if others.get(other, trial.point) != trial.point)
        other = next(found, None)
        return None if other is None else self._out.pop(other)

    def _keep(self, number: int, trial: lamcts.Trial) -> None:
        """Assign a trial of the optimizer to one of the study."""
        if number in self._out:
            self._optimizer.forget(self._out[number])
        self._out[number] = trial

    def _value(self, outcome: TrialOutcome) -> float | list[float] | None:
        if outcome.values is None:
            return None
        return outcome.values[0] if self._single else list(outcome.values)

    def _held(self, outcome: TrialOutcome) -> list[float | None]:
        return [outcome.constraints.get(name) for name in self._constraints]


Names = tuple[str, ...]
Numbers = Mapping[str, float | int]


class Branches:
    """Finished trials with only some of the parameters, by their names and values."""

    def __init__(self) -> None:
        self._found: dict[Names, dict[tuple[float | int, ...], TrialOutcome]] = {}

    def add(self, had: Collection[str], numbers: Numbers, outcome: TrialOutcome) -> None:
        """Take a trial: the names of all its parameters, and the numbers of the searched ones."""
        if had and all(name in numbers for name in had):  # of the others the values are not ours to compare
            names = tuple(sorted(had))
            self._found.setdefault(names, {})[tuple(numbers[name] for name in names)] = outcome

    def find(self, numbers: Numbers) -> TrialOutcome | None:
        """Return the outcome of a trial that a point would repeat, or None."""
        for names, found in self._found.items():
            outcome = found.get(tuple(numbers[name] for name in names))
            if outcome is not None:
                return outcome
        return None


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """Return the constraints of a trial by name, which Optuna 4 keeps as a list."""
    if hasattr(trial, "constraints"):
        return dict(trial.constraints)
    return {str(i): value for i, value in enumerate(trial.system_attrs.get(CONSTRAINTS) or ())}


def internal_of(trial: FrozenTrial) -> dict[str, float]:
    """Return the parameters of a trial in Optuna's internal form: its own, else the proposed ones."""
    proposed = "".join(_texts(trial.system_attrs))
    given = {name: trial.distributions[name].to_internal_repr(value) for name, value in trial.params.items()}
    return (json.loads(proposed) if proposed else {}) | given


def attributes(internal: dict[str, float]) -> dict[str, str]:
    """Return the attributes of a trial that hold a proposal."""
    text = json.dumps(internal)
    return {f"{PROPOSED}:{i // LONGEST}": text[i : i + LONGEST] for i in range(0, len(text), LONGEST)}


def _texts(attributes: dict[str, Any]) -> Iterable[str]:
    part = 0
    while text := attributes.get(f"{PROPOSED}:{part}"):
        yield text
        part += 1
