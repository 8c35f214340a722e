"""The evaluations of a run as columns, taken from whatever holds the run.

evaluations_of("run.db")              # a path, a Journal, or what Journal.read returns
evaluations_of(result)                # a Result or its history
evaluations_of(optimizer)
evaluations_of(values, {"cost": "min", "range": "max"})
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lamcts.journal import Journal
from lamcts.journal.recorded import Recorded
from lamcts.models.forest import Forest
from lamcts.optimizer import Optimizer
from lamcts.outcomes.constrained_rank import (
    CHECKED,
    FAILED,
    OK,
    PARTIAL,
    PRUNED,
    constrained_rank,
    feasible,
    total_violation,
)
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.front import knee
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.hypervolume import default_reference, hypervolume_so_far
from lamcts.spaces.named_parameters import NamedParameters
from lamcts.study.history import History
from lamcts.study.load import journal_in, with_reference
from lamcts.study.result import Result
from lamcts.types import Floats, Mask, Rows

ENDS = {FAILED: "failed", PRUNED: "pruned", PARTIAL: "below full fidelity", CHECKED: "only constraints checked"}
SOURCES = "a Result, the path of a journal, a Journal or an Optimizer"


@dataclass(frozen=True, eq=False)
class Evaluations:
    """Evaluations in order of arrival: values [n, m] in the user's units, constraints g [n, c], kinds [n], x [n, d].

    signature: of the space. reference: of the hypervolume, [m], in the user's units. trial: numbers of trials [n], -1
    for known results; None: all are the run's own.
    """

    goals: Goals
    values: Floats
    g: Floats
    kind: Rows
    x: Floats
    signature: object = None
    reference: Floats | None = None
    trial: Rows | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def maximize(self) -> bool:
        return self.goals.objectives[0].maximize

    @cached_property
    def own(self) -> Mask:
        """Which evaluations the run has made, [n]: not the known ones, unless there are no others."""
        everything = np.ones(len(self), bool)
        return everything if self.trial is None or (self.trial < 0).all() else np.asarray(self.trial >= 0)

    @property
    def numbers(self) -> Rows:
        """The number of each evaluation, from 1, [n]; a known one has that of the evaluation before it, or 0."""
        return np.cumsum(self.own)

    @cached_property
    def known(self) -> Mask:
        """Which evaluations have a number for each objective, [n]."""
        return np.asarray(np.isfinite(self.values).all(1))

    @cached_property
    def feasible(self) -> Mask:
        """Which evaluations succeeded and satisfy all constraints, [n]."""
        return feasible(self.g, self.kind) & self.known

    @cached_property
    def without_value(self) -> dict[str, Mask]:
        """Which evaluations have no feasible value, [n] each, by what became of them; those that there are."""
        broken = (self.kind == OK) & self.known & ~self.feasible
        masks = {name: self.kind == kind for kind, name in ENDS.items()} | {"infeasible": broken}
        masks["failed"] = masks["failed"] | ((self.kind == OK) & ~self.known)
        return {name: mask for name, mask in masks.items() if mask.any()}

    @property
    def violation(self) -> Floats:
        """The sum of all constraint violations, [n]; nan where it is unknown."""
        amount = total_violation(self.g)
        return np.where(self.known | (amount > 0), amount, np.nan)

    @cached_property
    def loss(self) -> Floats:
        """The numbers by which evaluations are ranked, [n], lower is better; nan for failures."""
        return constrained_rank(self.goals.signs * self.values, self.g, self.kind)

    @cached_property
    def losses(self) -> Floats:
        """The losses of feasible evaluations, [n, m]; nan for all others."""
        return np.where(self.feasible[:, None], self.goals.signs * self.values, np.nan)

    @cached_property
    def column(self) -> Floats:
        """The feasible values of the only objective, [n], nan for others; ValueError for several objectives."""
        if self.values.shape[1] > 1:
            raise ValueError("expected one objective, got several: draw `front` or `hypervolume` instead")
        return np.where(self.feasible, self.values[:, 0], np.nan)

    @cached_property
    def best(self) -> Floats:
        """The best feasible value so far, [n]; nan before the first."""
        return np.asarray((np.fmax if self.maximize else np.fmin).accumulate(self.column), float)

    @cached_property
    def front(self) -> Mask:
        """Which evaluations are on the front, [n]."""
        return non_dominated(self.losses)

    @cached_property
    def knee(self) -> int | None:
        """The row of the front's knee; None without a front."""
        return knee(self.losses) if self.front.any() else None

    def hypervolumes(self, reference: Floats) -> Floats:
        """Return the hypervolume of the first evaluation, the first two, ..., [n]; reference [m] in user's units."""
        return hypervolume_so_far(self.losses, self.goals.signs * reference)

    @cached_property
    def space(self) -> NamedParameters:
        """The parameters by name."""
        return NamedParameters(self.signature, self.x.shape[1])

    @cached_property
    def forest(self) -> Forest:
        """The random forest of what evaluations are ranked by."""
        return Forest(self.x, self.loss, [one.part for one in self.space.parameters], self._active)

    def _active(self, x: Floats) -> Mask:
        """Return which parameters are active in rows `x` [n, d], [n, p]."""
        return np.array([[value is not None for value in column] for column in self.space.values(x)]).T


_Run = Result | History | Recorded | Journal | Optimizer | str | os.PathLike[str]
Source = Evaluations | _Run | ArrayLike | Mapping[str, Any]  # a mapping has runs or values by name


def opened(run: Source) -> Source:
    """Return what a path or a Journal holds; any other run as it is."""
    if isinstance(run, (str, os.PathLike)):
        return Journal.read(journal_in(run))
    return run.recorded() if isinstance(run, Journal) else run


def evaluations_of(
    source: Source,
    senses: Mapping[str, str] | None = None,
    *,
    feasible: ArrayLike | None = None,
    maximize: bool = False,
) -> Evaluations:
    """Return the evaluations of a run, or of plain values [n] or [n, m] with their senses; ValueError for others."""
    if isinstance(source, Evaluations):
        return source
    source = opened(source)
    if isinstance(source, Optimizer):
        seen, signature = source.seen, source.space.signature()
        return _of(source.goals, seen.f, seen.g, seen.kind, seen.x, signature, seen.trial)
    if isinstance(source, Recorded):
        goals, columns = with_reference(source.goals, source.about.get("reference")), source.columns
        held = source.fingerprint.get("space")
        return _of(goals, columns.f, columns.g, columns.kind, columns.x, held, columns.trial)
    history = source["history"] if isinstance(source, Result) else source
    if isinstance(history, History):
        goals = _with_sense(history.goals, history.maximize)
        f = goals.signs * history.values.reshape(len(history), -1)
        signature = history.points.space.signature()
        return _of(goals, f, history.constraints, history.kind, history.x, signature, history.trial)
    return _of_values(source, senses, feasible, maximize)


def _of(goals: Goals, f: Floats, g: Floats, kind: Rows, x: Floats, signature: object, trial: Rows) -> Evaluations:
    reference = None if goals.reference is None else np.array(goals.reference)
    return Evaluations(goals, goals.signs * f, g, kind, x, signature, reference, trial)


def _with_sense(goals: Goals, maximize: bool) -> Goals:
    """Return goals whose only objective is maximised, or not."""
    if len(goals.objectives) > 1:
        return goals
    return replace(goals, objectives=(replace(goals.objectives[0], maximize=maximize),))


def _of_values(
    values: Source, senses: Mapping[str, str] | None, feasible: ArrayLike | None, maximize: bool
) -> Evaluations:
    """Return the evaluations of plain values; a mapping has them under "values"."""
    given = values["values"] if isinstance(values, Mapping) and "values" in values else values
    try:
        table = np.asarray(given, float)
    except (TypeError, ValueError):
        table = np.empty((0, 0, 0))
    if senses is not None:
        goals = Goals.of(objectives=senses)
        if table.ndim != 2 or table.shape[1] != len(senses):
            raise ValueError(f"values: expected rows of {', '.join(senses)}, got the shape {table.shape}")
    elif table.ndim != 1:
        raise ValueError(f"expected {SOURCES}, or a sequence of values, got {type(values).__name__}")
    else:
        goals = Goals.of(maximize)
    table = table.reshape(len(table), len(goals.objectives))
    known = np.isfinite(table).all(1)
    kept = np.ones(len(table), bool) if feasible is None else np.asarray(feasible, bool)
    return Evaluations(goals, table, np.where(kept, 0.0, 1.0)[:, None], np.where(known, OK, FAILED), table[:, :0])


def common_reference(runs: Sequence[Evaluations]) -> Floats | None:
    """Return one reference [m] for all runs: the first that is given, else made of all; None with nothing feasible."""
    given = next((run.reference for run in runs if run.reference is not None), None)
    if given is not None:
        return given
    signs, losses = runs[0].goals.signs, np.vstack([run.losses[run.feasible] for run in runs])
    return signs * default_reference(losses) if len(losses) else None
