"""Record of a study's trials: parameters, constraints and outcomes."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from lamcts.integrations.optuna.parameters import together

CONSTRAINTS = "constraints"  # where Optuna keeps constraints in the attributes of a trial
PROPOSED = (
    "lamcts:proposed"  # where we keep what was proposed: a trial has its parameters only once it was asked for them
)
LONGEST = 2045  # characters of an attribute that every database of Optuna's takes
INFORMATIVE = (TrialState.COMPLETE, TrialState.PRUNED)  # a failed trial may have stopped before its last parameter


class TrialOutcome(NamedTuple):
    """The outcome of a finished trial: its values (None: failed), and its constraints by name."""

    values: Sequence[float] | None
    constraints: dict[str, float]


class Record:
    """The finished trials of a study, each read once.

    distributions: of each parameter what holds all values so far; None where nothing does.
    constraints: the names of all quantities that have to be at most 0, in the order in which they came.
    outcomes: by trial number.
    """

    def __init__(self, maximize: bool) -> None:
        self._maximize = maximize
        self.distributions: dict[str, BaseDistribution | None] = {}
        self.constraints: dict[str, None] = {}
        self.outcomes: dict[int, TrialOutcome] = {}
        self._steps: dict[int, list[tuple[float, float]]] = {}  # step -> value there and at the end, as losses

    def read(self, trials: Iterable[FrozenTrial]) -> None:
        """Read the new finished trials."""
        new = [trial for trial in trials if trial.state.is_finished() and trial.number not in self.outcomes]
        for trial in new:
            if trial.state in INFORMATIVE:
                self._read_parameters(trial)
            if trial.state == TrialState.COMPLETE:
                self._read_steps(trial)
        for trial in new:
            self.outcomes[trial.number] = TrialOutcome(self._values(trial), constraints := constraints_of(trial))
            self.constraints |= dict.fromkeys(constraints)

    def _read_parameters(self, trial: FrozenTrial) -> None:
        for name, distribution in trial.distributions.items():
            known = self.distributions.get(name, distribution)
            self.distributions[name] = None if known is None else together(known, distribution)

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
        """Return the best possible end of a pruned trial: the worst end of the trials ahead of it.

        Its own last value tells a rank at that step and no more: a curve that rises would make it the best of all.
        None are ahead where no trial reported at that step; the own value has to do then.
        """
        if trial.last_step is None:
            return None
        here = self._loss(trial.intermediate_values[trial.last_step])
        ends = [end for value, end in self._steps.get(trial.last_step, ()) if value < here]
        return (self._loss(max(ends, default=here)),)

    def _loss(self, value: float) -> float:
        return -value if self._maximize else value


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
