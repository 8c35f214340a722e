"""Pruning in a run: the reports of trials, their judgement by a pruner, and the results of pruned trials."""

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
    """The curves of all trials, and a pruner, None without pruning."""

    def __init__(self, problem: RunProblem, pruner: str | Pruner | None, executor: object = None) -> None:
        goals = problem.goals
        self.curves = Curves(len(goals.objectives), problem.space)
        self._pruner = make(pruner)
        self._names = goals.names
        self._signs = tuple(goals.signs.tolist())
        if isinstance(self._pruner, Model) and len(self._names) == 1:
            raise ValueError("pruner: expected 'model' for several objectives alone, got one: use 'hyperband'")
        self._judged = (self.curves,) if is_multi_objective(self._pruner) else self.curves.objectives
        self._predictions: dict[int, Predicted | None] = {}  # pruned trial -> final losses, as predicted when told
        self._has_trial = takes(problem.f, "trial")
        self._failures: dict[int, tuple[int, Exception]] = {}  # trial -> step and exception of the pruner
        self._judge = None if self._pruner is None else ReportServer(self.judge, _listening(executor))
        self._lock = threading.Lock()  # reports come from threads

    def close(self) -> None:
        if self._judge is not None:
            self._judge.end()

    def reporter(self, trial: Trial, folder: Path) -> Reporter | None:
        """Return the argument `trial` of an evaluation, None for a function without this parameter."""
        if not self._has_trial:
            return None
        with self._lock:
            self.curves.x[trial.id] = trial.x
        judge = None if trial.session == CONFIRMING else self._judge  # a re-evaluation is not pruned
        return Reporter(trial.id, judge, self._names, folder)

    @property
    def losses(self) -> tuple[Reported, ...]:
        """Reported losses of each objective, by trial and step."""
        return tuple(curves.losses for curves in self.curves.objectives)

    def judge(self, number: int, step: int, value: Value, first: bool) -> bool:
        """Add a report, and return whether the trial should stop."""
        with self._lock:
            if first:
                self._drop(number)
            self._add(number, step, value)
            try:
                rule = self._pruner
                return rule is not None and all(bool(rule.prune(number, curves)) for curves in self._judged)
            except Exception as error:  # the evaluation fails, and `check` then ends the run
                self._failures.setdefault(number, (step, error))
                raise

    def check(self, *numbers: int) -> None:
        """Raise RuntimeError if the pruner has failed for one of these trials, or without numbers, for any trial."""
        failed = [number for number in numbers or tuple(self._failures) if number in self._failures]
        if failed:
            step, error = self._failures[failed[0]]
            raise RuntimeError(
                f"pruner: expected {safe_repr(self._pruner):.60} to return whether a trial should stop, got "
                f"{type(error).__name__}: {safe_text(error)} for trial {failed[0]} at step {step}; mend it, or leave "
                "it out: the same call goes on from the journal, where there is one"
            ) from error

    @own_numerics()
    def ended(self, number: int, outcome: Outcome) -> Pruned | None:
        """Add the reports of an evaluation, and return the result to tell if it was pruned."""
        with self._lock:
            if outcome.reports:  # an evaluation that was terminated keeps the reports received before
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

    def tell(self, number: int, seen: Observations) -> list[Report]:
        """Record the end of a trial, the last row of `seen`; return its reports for the journal."""
        with self._lock:
            self._end(number, len(seen) - 1, seen)
            return reports_of(self.losses, number)

    def restore(self, recorded: Sequence[Reported], seen: Observations) -> None:
        """Restore the reports of each objective by trial, and the ends of trials from the rows."""
        for curves, reported in zip(self.curves.objectives, recorded, strict=False):  # a fresh run has none
            for number, curve in reported.items():
                for step, loss in curve.items():
                    curves.add(number, step, loss)
        self._end_rows(0, seen)

    def known(self, results: Sequence[PriorObservation], seen: Observations) -> list[Report]:
        """Add the curves of known results, the last rows of `seen`; return their reports for the journal."""
        first = len(seen) - len(results)
        curves = {curve_number(-1, row): result.curve for row, result in enumerate(results, first) if result.curve}
        for number, curve in curves.items():
            for step, value in curve.items():
                self._add(number, step, value)
        self._end_rows(first, seen)
        return [report for number in curves for report in reports_of(self.losses, number)]

    def _end_rows(self, first: int, seen: Observations) -> None:
        """Record the ends of trials in rows from `first` on, and of known rows with curves."""
        for row, trial in enumerate(seen.trial[first:].tolist(), first):
            number = curve_number(trial, row)
            if trial >= 0 or number in self.curves.losses:
                self.curves.x[number] = seen.x[row]
                self._end(number, row, seen)

    @own_numerics()
    def refresh(self, seen: Observations) -> None:
        """Update the predicted losses of pruned rows with all ended trials."""
        if not self._predictions:
            return  # without pruned rows, no model is needed
        models = [curves.forecast() for curves in self.curves.objectives]
        if None in models:
            return
        pairs = zip(models, self.curves.objectives, strict=True)
        predictions = [model.ends(curves) for model, curves in pairs if model is not None]
        row_of = {curve_number(trial, row): row for row, trial in enumerate(seen.trial.tolist())}
        for number, earlier in self._predictions.items():
            is_predicted = all(number in by_trial for by_trial in predictions)
            predicted = tuple(by_trial[number] for by_trial in predictions) if is_predicted else earlier
            if predicted is not None:
                seen.predicted[row_of[number]] = predicted

    def _add(self, trial: int, step: int, value: Value) -> None:
        """Add a report in the user's sign to the curves of each objective."""
        values = value if isinstance(value, tuple) else (value,)
        for curves, number, sign in zip(self.curves.objectives, values, self._signs, strict=True):
            curves.add(trial, step, math.inf if math.isnan(number) else sign * number + 0.0)  # -0.0 is not kept

    def _drop(self, number: int) -> None:
        for curves in self.curves.objectives:
            curves.drop(number)

    def _end(self, number: int, row: int, seen: Observations) -> None:
        """Record the end of a trial in a row."""
        for curves, loss in zip(self.curves.objectives, seen.f[row].tolist(), strict=True):
            if seen.kind[row] == OK:
                curves.finish(number, loss)
            elif seen.kind[row] == PRUNED:
                curves.stop(number)
        if row in seen.predicted or (number < 0 and seen.kind[row] == PRUNED):
            self._predictions[number] = seen.predicted.get(row)

    def _predicted(self, number: int) -> Predicted | None:
        """Return the predicted final losses of a trial with their deviations, None before one has finished."""
        pairs = [(curves.forecast(), curves) for curves in self.curves.objectives]
        ends = [None if model is None else model.predict(number, curves) for model, curves in pairs]
        known = tuple(end for end in ends if end is not None)
        return known if len(known) == len(ends) else None


def _listening(executor: object) -> str:
    """Return the address for reports from the workers of an executor."""
    client = None if executor is None else client_of(executor)
    return LOOPBACK if client is None else address_towards(str(getattr(client.scheduler, "address", "")))
