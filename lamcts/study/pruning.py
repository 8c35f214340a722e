"""Pruning in a run: who hears reports, who judges them, and what a trial that was stopped is told as."""

import math
import threading
from collections.abc import Sequence
from pathlib import Path

from lamcts.errors import Pruned
from lamcts.journal.intermediate_values import Report, Reported, curve_number, reports_of
from lamcts.outcomes.constrained_rank import OK, PRUNED
from lamcts.outcomes.measured import Predicted
from lamcts.outcomes.observations import CONFIRMING, Observations
from lamcts.outcomes.trial import Trial
from lamcts.pruners import Curves, Model, Pruner, make
from lamcts.pruners.registry import is_multi_objective
from lamcts.study.evaluation import Outcome, takes
from lamcts.study.known.rows import PriorObservation
from lamcts.study.problem import RunProblem
from lamcts.study.report_channel import LOOPBACK, ReportServer, address_towards
from lamcts.study.reporting import Reporter, Value
from lamcts.study.workers import client_of
from lamcts.text import safe_repr, safe_text
from lamcts.utils.numerics import own_numerics


class Pruning:
    """The curves of all trials, and a rule over them (None: no trial is stopped)."""

    def __init__(self, problem: RunProblem, pruner: str | Pruner | None, executor: object = None) -> None:
        goals = problem.goals
        self.curves = Curves(len(goals.objectives), problem.space)
        self._pruner, self._names, self._signs = make(pruner), goals.names, tuple(goals.signs.tolist())
        if isinstance(self._pruner, Model) and len(self._names) == 1:
            raise ValueError("pruner: expected 'model' for several objectives alone, got one: use 'hyperband'")
        self._judged = (self.curves,) if is_multi_objective(self._pruner) else self.curves.objectives
        self._told: dict[int, Predicted | None] = {}  # by pruned trial: its losses as predicted when it was told
        self._wanted = takes(problem.f, "trial")  # by the function
        self._broken: dict[int, tuple[int, Exception]] = {}  # by trial: the step at which the rule raised, and what
        self._judge = None if self._pruner is None else ReportServer(self.judge, _listening(executor))
        self._lock = threading.Lock()  # reports come from threads

    def close(self) -> None:
        if self._judge is not None:
            self._judge.end()

    def reporter(self, trial: Trial, folder: Path) -> Reporter | None:
        """Return what the evaluation of a trial gets, None where the function does not ask for it."""
        if not self._wanted:
            return None
        with self._lock:
            self.curves.x[trial.id] = trial.x
        judge = None if trial.session == CONFIRMING else self._judge  # what may be best is not stopped
        return Reporter(trial.id, judge, self._names, folder)

    @property
    def losses(self) -> tuple[Reported, ...]:
        """What trials have reported of each objective: losses by trial and step."""
        return tuple(own.losses for own in self.curves.objectives)

    def judge(self, number: int, step: int, value: Value, first: bool) -> bool:
        """Take a report, and return whether the trial should stop."""
        with self._lock:
            if first:
                self._drop(number)
            self._add(number, step, value)
            try:
                rule = self._pruner
                return rule is not None and all(bool(rule.prune(number, own)) for own in self._judged)
            except Exception as error:  # the evaluation fails, wherever it runs, and `check` then ends the run
                self._broken.setdefault(number, (step, error))
                raise

    def check(self, *numbers: int) -> None:
        """Raise RuntimeError where the rule has failed over one of these trials, or over any."""
        found = [number for number in numbers or tuple(self._broken) if number in self._broken]
        if found:
            step, error = self._broken[found[0]]
            raise RuntimeError(
                f"pruner: expected {safe_repr(self._pruner):.60} to return whether a trial should stop, got "
                f"{type(error).__name__}: {safe_text(error)} for trial {found[0]} at step {step}; mend it, or leave it "
                "out: the same call goes on from the journal, where there is one"
            ) from error

    @own_numerics()
    def ended(self, number: int, outcome: Outcome) -> Pruned | None:
        """Take what an evaluation has reported, and return what to tell where it was stopped."""
        with self._lock:
            if outcome.reports:  # else it was ended from outside: what was heard of it stays
                self._drop(number)
                for step, value in outcome.reports:
                    self._add(number, step, value)
            if not outcome.pruned:
                return None
            predicted = self._predicted(number)
            if predicted is None:
                return Pruned()
            values = [sign * loss for sign, (loss, _) in zip(self._signs, predicted, strict=True)]
            return Pruned(value=values, sem=[sd for _, sd in predicted])

    def told(self, number: int, seen: Observations) -> list[Report]:
        """Take note of the last row of `seen`, of this trial; return its reports for the journal."""
        with self._lock:
            self._end(number, len(seen) - 1, seen)
            return reports_of(self.losses, number)

    def restore(self, recorded: Sequence[Reported], seen: Observations) -> None:
        """Go on from what a journal holds: reports of each objective by trial, and rows in order of arrival."""
        for own, curves in zip(self.curves.objectives, recorded, strict=False):  # a fresh run has none
            for number, curve in curves.items():
                for step, loss in curve.items():
                    own.add(number, step, loss)
        self._end_rows(0, seen)

    def known(self, results: Sequence[PriorObservation], seen: Observations) -> list[Report]:
        """Take the curves of known results, the last rows of `seen`; return their reports for the journal."""
        first = len(seen) - len(results)
        curves = {curve_number(-1, row): one.curve for row, one in enumerate(results, first) if one.curve}
        for number, curve in curves.items():
            for step, value in curve.items():
                self._add(number, step, value)
        self._end_rows(first, seen)
        return [report for number in curves for report in reports_of(self.losses, number)]

    def _end_rows(self, first: int, seen: Observations) -> None:
        """Record how the trials of rows from `first` on have ended, and known rows with curves."""
        for row, trial in enumerate(seen.trial[first:].tolist(), first):
            number = curve_number(trial, row)
            if trial >= 0 or number in self.curves.losses:
                self.curves.x[number] = seen.x[row]
                self._end(number, row, seen)

    @own_numerics()
    def refresh(self, seen: Observations) -> None:
        """Bring the predicted losses of pruned rows up to date with all trials that have ended."""
        if not self._told or None in (found := [own.forecast() for own in self.curves.objectives]):
            return  # no pruned rows: no model is needed
        pairs = zip(found, self.curves.objectives, strict=True)
        ends = [model.ends(own) for model, own in pairs if model is not None]
        row_of = {curve_number(trial, row): row for row, trial in enumerate(seen.trial.tolist())}
        for number, told in self._told.items():
            held = all(number in each for each in ends)
            predicted = tuple(each[number] for each in ends) if held else told
            if predicted is not None:
                seen.predicted[row_of[number]] = predicted

    def _add(self, number: int, step: int, value: Value) -> None:
        """Add a report in the user's sign to the curves of each objective."""
        values = value if isinstance(value, tuple) else (value,)
        for own, each, sign in zip(self.curves.objectives, values, self._signs, strict=True):
            own.add(number, step, math.inf if math.isnan(each) else sign * each + 0.0)  # -0.0 is not kept

    def _drop(self, number: int) -> None:
        for own in self.curves.objectives:
            own.drop(number)

    def _end(self, number: int, row: int, seen: Observations) -> None:
        """Record how a trial has ended, of this row."""
        for own, loss in zip(self.curves.objectives, seen.f[row].tolist(), strict=True):
            if seen.kind[row] == OK:
                own.finish(number, loss)
            elif seen.kind[row] == PRUNED:
                own.stop(number)
        if row in seen.predicted or (number < 0 and seen.kind[row] == PRUNED):
            self._told[number] = seen.predicted.get(row)

    def _predicted(self, number: int) -> Predicted | None:
        """Return the predicted final losses of a trial with their deviations, None before one has finished."""
        found = [(own.forecast(), own) for own in self.curves.objectives]
        ends = [end for model, own in found if model is not None and (end := model.predict(number, own)) is not None]
        return tuple(ends) if len(ends) == len(found) else None


def _listening(executor: object) -> str:
    """Return the address at which the workers of an executor are heard."""
    client = None if executor is None else client_of(executor)
    return LOOPBACK if client is None else address_towards(str(getattr(client.scheduler, "address", "")))
