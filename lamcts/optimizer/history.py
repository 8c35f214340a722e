"""The history of a run: its points, and all evaluations as columns."""

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from lamcts.journal.intermediate_values import Reported, curve_number, reports_of
from lamcts.optimizer.again import re_evaluations
from lamcts.optimizer.export import rows_of
from lamcts.optimizer.records import front
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK, PARTIAL, PRUNED, feasible, total_violation
from lamcts.outcomes.failures import by_kind
from lamcts.outcomes.front import Front, parts_of
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.measured import Sems
from lamcts.outcomes.metrics import Metrics
from lamcts.outcomes.observations import Observations
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.values import scalar
from lamcts.types import Floats, Json, Mask, Point, Rows

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer

NO_POINTS: Mapping[int, Point] = MappingProxyType({})
NO_CURVES: Sequence[Reported] = ({},)
PLAIN = Goals()  # one objective, no constraint


class Points(Sequence[Point]):
    """The points of a history, decoded on access; `exact` has the points by row that decoding would round."""

    def __init__(self, space: SearchSpace, x: Floats, exact: Mapping[int, Point] = NO_POINTS) -> None:
        self.space = space
        self._x = x
        self._exact = exact

    def __len__(self) -> int:
        return len(self._x)

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> "Points": ...
    def __getitem__(self, index: int | slice) -> Point:
        rows = range(len(self))[index]
        if isinstance(rows, int):
            return deepcopy(self._exact[rows]) if rows in self._exact else self.space.decode(self._x[rows])
        exact = {i: self._exact[row] for i, row in enumerate(rows) if row in self._exact}
        return Points(self.space, self._x[index], exact)

    def __iter__(self) -> Iterator[Point]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} points>"


class RunState(NamedTuple):
    """The state of a run for its history and its result, from an optimizer or from a journal."""

    space: SearchSpace
    goals: Goals
    seen: Observations
    failures: Mapping[int, str]
    metrics: Mapping[int, Metrics]
    seed: int

    @classmethod
    def of(cls, opt: "Optimizer") -> "RunState":
        return cls(opt.space, opt.goals, opt.seen, opt.failures, opt.metrics, opt.seed)

    @property
    def front(self) -> Front:
        return front(self.space, self.seen, self.goals)


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """Finished evaluations in order of arrival, as columns.

    Attributes
    ----------
    points : sequence of points
        The evaluated points.
    x : array of shape (n, d)
        The points, encoded in the unit cube.
    values : array of shape (n,) or (n, m)
        Values in the user's sign, nan for failures; with several objectives, in the order of `goals.names`.
    seconds : array of shape (n,)
        Durations.
    trial : array of shape (n,)
        Numbers of the trials, -1 for known results.
    messages : dict of int to str
        Why evaluations failed, by row.
    metrics : mapping of int to dict
        What was stored next to the value by name, by row: other names of a returned dict, and `trial.note`.
    sems : mapping of int to tuple of float
        Standard errors of the values by row, nan where unknown; rows without one are missing.
    again : array of shape (n,)
        Which are re-evaluations (noisy=True).
    """

    points: Points
    x: Floats
    values: Floats
    seconds: Floats
    trial: Rows
    messages: dict[int, str]
    maximize: bool
    goals: Goals = PLAIN
    excesses: Floats | None = None  # [n, columns] of `Goals.violations`, None without constraints
    kinds: Rows | None = None  # [n] (outcomes/constrained_rank.py), None where values tell failures from successes
    curves: Sequence[Reported] = ({},)  # of each objective: losses by trial and step, inf for nan
    metrics: Mapping[int, Metrics] = field(default_factory=dict)
    sems: Mapping[int, Sems] = field(default_factory=dict)
    confirmed: Mask | None = None  # [n], None without re-evaluations

    @property
    def again(self) -> Mask:
        return np.zeros(len(self), bool) if self.confirmed is None else self.confirmed

    @property
    def constraints(self) -> Floats:
        """How far beyond its bound each constraint is, [n, c]."""
        return np.empty((len(self), 0)) if self.excesses is None else self.goals.per_constraint(self.excesses)

    @property
    def kind(self) -> Rows:
        if self.kinds is None:
            return np.where(np.isnan(self.values), FAILED, OK)
        return self.kinds

    @property
    def failed(self) -> Mask:
        return np.asarray(self.kind == FAILED)

    @property
    def failures(self) -> dict[str, list[int]]:
        """The rows that failed by kind, the most frequent first.

        "timed out", "died" (the process), "invalid point" (`InvalidPoint`), "no number", or "raised" anything else.
        """
        return by_kind(self.messages)

    @property
    def checked(self) -> Mask:
        """Which evaluations were checked and not run, [n]: only their constraints are known."""
        return np.asarray(self.kind == CHECKED)

    @property
    def pruned(self) -> Mask:
        """Which evaluations were pruned, [n]."""
        return np.asarray(self.kind == PRUNED)

    @property
    def partial(self) -> Mask:
        """Which evaluations were below full fidelity, [n]: they are no candidates for the best."""
        return np.asarray(self.kind == PARTIAL)

    @property
    def reports(self) -> dict[int, dict[int, Any]]:
        """Intermediate values by row and step, in the user's sign.

        With several objectives a value is a dict of numbers by name.
        """
        rows = [row for row, trial in enumerate(self.trial.tolist()) if curve_number(trial, row) in self.curves[0]]
        return {row: self.reports_of(row) for row in rows}

    def reports_of(self, row: int) -> dict[int, Any]:
        """Return the intermediate values of one row by step, in the user's sign; empty without reports."""
        named = self.named_reports(row)
        several = len(self.goals.objectives) > 1
        return {step: values if several else next(iter(values.values())) for step, values in named.items()}

    def named_reports(self, row: int) -> dict[int, dict[str, float]]:
        """Return the intermediate values of one row by step and name of the objective, in the user's sign."""
        return {
            step: {
                goal.name: math.nan if math.isinf(loss) else 0.0 - loss if goal.maximize else loss
                for goal, loss in zip(self.goals.objectives, losses, strict=True)
            }
            for _, step, losses in reports_of(self.curves, curve_number(int(self.trial[row]), row))
        }

    def message(self, row: int) -> str | None:
        """Return the error of a failed row, or the last step of a pruned row; None for other rows."""
        if self.kind[row] != PRUNED:
            return self.messages.get(row)
        curve = self.curves[0].get(curve_number(int(self.trial[row]), row))
        return f"pruned at step {next(reversed(curve))}" if curve else "pruned"

    def parameters(self, row: int) -> Json:
        """Return the parameters of a row by name; those of an array are x1, x2, ..."""
        return {name: scalar(value) for name, value in parts_of(self.points[row])}

    @property
    def feasible(self) -> Mask:
        """Which evaluations are not failed, pruned or partial, and satisfy all constraints, [n]."""
        return feasible(self.constraints, self.kind)

    @property
    def violation(self) -> Floats:
        """Sum of the violations, [n]; nan where no constraint was measured."""
        return total_violation(self.constraints)

    def rows(self) -> list[Json]:
        """Return a dict for each evaluation: trial, values, sem, constraints, parameters, metrics, seconds, message."""
        return rows_of(self)

    @property
    def best(self) -> Floats:
        """The best feasible value so far, [n]; nan before the first."""
        if self.values.ndim > 1:
            raise RuntimeError("best: there are several objectives; the result's `front` has what none is better than")
        feasible_values = np.where(self.feasible, self.values, np.nan)
        best = (np.fmax if self.maximize else np.fmin).accumulate(feasible_values)
        return np.asarray(best, float)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        feasible = "" if self.goals.plain else f"{int(self.feasible.sum())} feasible, "
        failures = ", ".join(f"{len(rows)} {kind}" for kind, rows in self.failures.items())
        kinds = f" ({failures})" if len(self.failures) > 1 else ""
        pruned = f", {int(self.pruned.sum())} pruned" if self.pruned.any() else ""
        return f"<history of {len(self)} evaluations, {feasible}{int(self.failed.sum())} failed{kinds}{pruned}>"


def history_of(run: RunState, curves: Sequence[Reported] = NO_CURVES) -> History:
    """Return the evaluations of a run as columns."""
    seen = run.seen
    goals = run.goals
    values = goals.signs * seen.f  # [n, m]
    return History(
        points=Points(run.space, seen.x, seen.exact),
        x=seen.x,
        values=values if len(goals.objectives) > 1 else values[:, 0],
        seconds=seen.seconds,
        trial=seen.trial,
        messages=dict(run.failures),
        maximize=goals.objectives[0].maximize,
        goals=goals,
        excesses=None if goals.plain else seen.g,
        kinds=None if goals.plain and not np.isin(seen.kind, (PARTIAL, PRUNED)).any() else seen.kind,
        curves=curves,
        metrics=dict(run.metrics),
        sems=dict(seen.sems),
        confirmed=repeats if (repeats := re_evaluations(run.space, seen)).any() else None,
    )
