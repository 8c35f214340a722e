"""Pruning in a run: who hears reports, who judges them, and what a trial that was stopped is told as."""

import math
import threading
from pathlib import Path

from lamcts.errors import Pruned
from lamcts.journal.intermediate_values import Report
from lamcts.observations import Observations
from lamcts.outcomes.constrained_rank import OK, PRUNED
from lamcts.pruners import Curves, Pruner, make
from lamcts.study.evaluation import Outcome, takes
from lamcts.study.problem import RunProblem
from lamcts.study.report_channel import LOOPBACK, ReportServer, address_towards
from lamcts.study.reporting import Reporter
from lamcts.study.workers import client_of
from lamcts.text import safe_repr, safe_text
from lamcts.trial import Trial

SEVERAL = "trial.report: expected one objective, there are {}: no trial can be compared on its way; leave it out"


class Pruning:
    """The curves of all trials, and a rule over them (None: no trial is stopped)."""

    def __init__(self, problem: RunProblem, pruner: str | Pruner | None, executor: object = None) -> None:
        goals, reports = problem.goals, problem.declared.reports
        self.curves = Curves(problem.space)
        self._pruner, self._sign = make(pruner), float(goals.signs[0])
        self._refuse = SEVERAL.format(", ".join(goals.names)) if len(goals.objectives) > 1 else None
        self._wanted = takes(problem.f, "trial")  # by the function
        self._broken: dict[int, tuple[int, Exception]] = {}  # by trial: the step at which the rule raised, and what
        self._judge = None if self._pruner is None else ReportServer(self.judge, _listening(executor))
        self._lock = threading.Lock()  # reports come from threads
        if self._pruner is not None and not (self._wanted if reports is None else reports):
            raise ValueError(
                "pruner: expected a function that reports on its way, def f(point, trial): ... "
                "trial.report(step, value), or a program with --report; got one without; leave out the pruner"
            )

    def close(self) -> None:
        if self._judge is not None:
            self._judge.end()

    def reporter(self, trial: Trial, folder: Path) -> Reporter | None:
        """Return what the evaluation of a trial gets, None where the function does not ask for it."""
        if not self._wanted:
            return None
        with self._lock:
            self.curves.x[trial.id] = trial.x
        return Reporter(trial.id, self._judge, self._refuse, folder)

    def aside(self, folder: Path) -> Reporter | None:
        """Return the same for an evaluation that is no trial, and is not compared."""
        return Reporter(-1, None, self._refuse, folder) if self._wanted else None

    def judge(self, number: int, step: int, value: float, first: bool) -> bool:
        """Take a report, and return whether the trial should stop."""
        with self._lock:
            if first:
                self.curves.drop(number)
            self.curves.add(number, step, self._loss(value))
            try:
                return self._pruner is not None and bool(self._pruner.prune(number, self.curves))
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

    def ended(self, number: int, outcome: Outcome) -> Pruned | None:
        """Take what an evaluation has reported, and return what to tell where it was stopped."""
        with self._lock:
            if outcome.reports:  # else it was ended from outside: what was heard of it stays
                self.curves.drop(number)
                for step, value in outcome.reports:
                    self.curves.add(number, step, self._loss(value))
            if not outcome.pruned or self._refuse is not None:
                return None
            predicted = self._predicted(number)
            return Pruned() if predicted is None else Pruned(value=self._sign * predicted[0], sem=predicted[1])

    def told(self, number: int, seen: Observations) -> list[Report]:
        """Take note of the last row of `seen`, of this trial; return its reports for the journal."""
        with self._lock:
            self._end(number, int(seen.kind[-1]), float(seen.f[-1, 0]))
            return [(number, step, loss) for step, loss in self.curves.losses.get(number, {}).items()]

    def restore(self, recorded: dict[int, dict[int, float]], seen: Observations) -> None:
        """Go on from what a journal holds: reports by trial, and rows in order of arrival."""
        for number, curve in recorded.items():
            for step, loss in curve.items():
                self.curves.add(number, step, loss)
        for number, x, kind, loss in zip(
            seen.trial.tolist(), seen.x, seen.kind.tolist(), seen.f[:, 0].tolist(), strict=True
        ):
            if number >= 0:
                self.curves.x[number] = x
                self._end(number, kind, loss)

    def refresh(self, seen: Observations) -> None:
        """Bring the predicted losses of pruned rows up to date with all trials that have ended."""
        if not seen.predicted or (found := self.curves.forecast()) is None:  # no pruned rows: no model is needed
            return
        row_of = {number: row for row, number in enumerate(seen.trial.tolist())}
        for number, end in found.ends(self.curves).items():
            if row_of[number] in seen.predicted:  # else it ended before all others: models do not have its row
                seen.predicted[row_of[number]] = (end,)

    def _end(self, number: int, kind: int, loss: float) -> None:
        """Record how a trial has ended."""
        if kind == OK:
            self.curves.finish(number, loss)
        elif kind == PRUNED:
            self.curves.stop(number)

    def _predicted(self, number: int) -> tuple[float, float] | None:
        """Return the predicted final loss of a trial with its standard deviation, None before one has finished."""
        found = self.curves.forecast()
        return None if found is None else found.predict(number, self.curves)

    def _loss(self, value: float) -> float:
        return math.inf if math.isnan(value) else self._sign * value


def _listening(executor: object) -> str:
    """Return the address at which the workers of an executor are heard."""
    client = None if executor is None else client_of(executor)
    return LOOPBACK if client is None else address_towards(str(getattr(client.scheduler, "address", "")))
