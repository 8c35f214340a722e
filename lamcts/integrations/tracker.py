"""Callbacks of experiment trackers: each evaluation is logged once, and no error of a tracker ends the run."""

import math
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.optimizer.history import History
    from lamcts.study.result import Result

TAG = "intermediate"  # of intermediate values
MOST_ERRORS = 3  # calls in a row that fail before the tracker is left alone: each may wait for a time-out (untuned)


@dataclass(frozen=True)
class TrackedTrial:
    """One finished evaluation as trackers show it."""

    number: int  # of the trial
    count: int  # of the evaluation, from 1
    state: str  # "complete", "failed", "pruned", "checked" or "partial"
    parameters: Json
    numbers: dict[str, float]  # objectives, excesses of constraints and metrics by name, without nan
    notes: dict[str, str]  # metrics that are texts
    best: float | None  # the best feasible value so far
    seconds: float
    message: str | None
    reports: Mapping[int, Mapping[str, float]]  # by step and "intermediate", or "intermediate.NAME" of several

    def row(self) -> Json:
        """Return everything but the intermediate values by name; a parameter that clashes is `point.NAME`."""
        found: Json = {"evaluation": self.count, "trial": self.number, "state": self.state}
        found |= {**self.numbers, **self.notes}
        found |= {name: value for name, value in (("best", self.best), ("message", self.message)) if value is not None}
        found |= {} if math.isnan(self.seconds) else {"seconds": self.seconds}
        own = {name if name not in found else f"point.{name}": value for name, value in self.parameters.items()}
        return found | own


class Tracker:
    """A `callback` of `minimize` that logs each evaluation once."""

    def __init__(self) -> None:
        self._errors = 0  # calls in a row that failed
        self._warned = False
        self._reset()

    def _reset(self) -> None:
        self._seed: int | None = None  # of the run that is logged; None: none is
        self._rows = 0  # of the history that were read
        self._count = 0  # evaluations among them
        self._logged: set[int] = set()  # numbers of trials
        self._lead: TrackedTrial | None = None  # the best feasible evaluation of a run with one objective

    def __call__(self, result: "Result") -> None:
        """Log the evaluations that are new in a result, which may also come from `lamcts.load`."""
        if self._errors >= MOST_ERRORS:
            return
        try:
            self._follow(result)
            self._errors = 0
        except Exception as error:
            self._errors += 1
            self._warn(error)

    def close(self, failed: bool = False) -> None:
        """End the run in the tracker; the next call begins another."""
        if self._seed is None:
            return
        try:
            self._end(failed)
        except Exception as error:
            self._warn(error)
        self._reset()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close(failed=kind is not None)

    def _follow(self, result: "Result") -> None:
        history = result.history
        if self._seed is not None and (self._seed != result.seed or len(history) < self._rows):
            self.close()  # a new run with the same callback
        if self._seed is None:
            self._logged = {*self._begin(result)}
            self._seed = result.seed
        for trial in self._new(history):
            if trial.best is not None and (self._lead is None or trial.best != self._lead.best):
                self._lead = trial
            if trial.number not in self._logged:
                self._log(trial)
                self._logged.add(trial.number)
        self._update(result)

    def _new(self, history: "History") -> Iterator[TrackedTrial]:
        """Yield the evaluations that were not read yet; each counts as read once the next is asked for."""
        if self._rows == len(history):
            return
        masks = {name: getattr(history, name) for name in ("failed", "pruned", "checked", "partial")}
        best = None if len(history.goals.objectives) > 1 else history.best
        for row in range(self._rows, len(history)):
            if history.trial[row] >= 0:  # else it is a known result
                state = next((name for name, mask in masks.items() if mask[row]), "complete")
                yield _trial(history, row, self._count + 1, state, None if best is None else float(best[row]))
                self._count += 1
            self._rows = row + 1

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            text = f"{type(self).__name__}: not all is logged, and the run goes on: {type(error).__name__}: {error}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)

    def _begin(self, result: "Result") -> Collection[int]:
        """Open or reopen the run in the tracker, and return the numbers of the trials that it has."""
        raise NotImplementedError

    def _log(self, trial: TrackedTrial) -> None:
        """Log one evaluation."""
        raise NotImplementedError

    def _update(self, result: "Result") -> None:
        """Log what concerns the whole run."""

    def _end(self, failed: bool) -> None:
        """Close the run in the tracker."""


def _trial(history: "History", row: int, count: int, state: str, best: float | None) -> TrackedTrial:
    """Return one row of a history; `best` is nan before the first feasible value."""
    goals, number = history.goals, int(history.trial[row])
    names = (*goals.names, *map(str, goals.constraints))
    values = (*history.values[row : row + 1].ravel().tolist(), *history.constraints[row].tolist())
    metrics = history.metrics.get(row, {})
    numbers = {name: float(value) for name, value in metrics.items() if isinstance(value, (int, float))}
    numbers |= zip(names, values, strict=True)
    reports = history.named_reports(row)
    tags = [f"{TAG}.{name}" for name in goals.names] if len(goals.names) > 1 else [TAG]
    return TrackedTrial(
        number=number,
        count=count,
        state=state,
        parameters=history.parameters(row),
        numbers={name: value for name, value in numbers.items() if not math.isnan(value)},
        notes={name: value for name, value in metrics.items() if isinstance(value, str)},
        best=None if best is None or math.isnan(best) else best,
        seconds=float(history.seconds[row]),
        message=history.message(row),
        reports={step: dict(zip(tags, each.values(), strict=True)) for step, each in reports.items()},
    )
