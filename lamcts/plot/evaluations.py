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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lamcts.journal import Journal
from lamcts.journal.recorded import Recorded
from lamcts.models.predictor import Evaluated
from lamcts.optimizer import Optimizer
from lamcts.optimizer.history import History
from lamcts.optimizer.prediction import predictor
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
from lamcts.outcomes.measured import StandardErrors
from lamcts.plot.importance import Effects
from lamcts.spaces.box import Box
from lamcts.spaces.named_parameters import NamedParameter, NamedParameters
from lamcts.study.load import journal_in
from lamcts.study.result import Result
from lamcts.types import Floats, Mask, Point, Rows

ENDS = {FAILED: "failed", PRUNED: "pruned", PARTIAL: "below full fidelity", CHECKED: "only constraints checked"}
SOURCES = "a Result, the path of a journal, a Journal or an Optimizer"
RANK = "rank (0: worst, 1: best)"
FARTHEST = 1e307  # from 0, of values in figures: ranges and margins of larger ones overflow
IMPORTANCE = "total Sobol index: share of the variance of the model"  # what the bars are


@dataclass(frozen=True, eq=False)
class Evaluations:
    """Evaluations in order of arrival: values [n, m] in the user's units, constraints g [n, c], kinds [n], x [n, d]."""

    goals: Goals
    values: Floats
    g: Floats
    kind: Rows
    x: Floats
    signature: object = None  # of the space
    reference: Floats | None = None  # of the hypervolume, [m], in the user's units
    trial: Rows | None = None  # numbers of trials [n], -1 for known results; None: all are the run's own
    sems: Floats | None = None  # standard errors of the losses, [n, m]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def maximize(self) -> bool:
        return self.goals.objectives[0].maximize

    def alone(self, objective: int) -> "Evaluations":
        """Return the evaluations with one of the objectives."""
        goals = replace(self.goals, objectives=self.goals.objectives[objective : objective + 1], reference=None)
        sems = None if self.sems is None else self.sems[:, [objective]]
        return replace(self, goals=goals, values=self.values[:, [objective]], reference=None, sems=sems)

    @cached_property
    def own(self) -> Mask:
        """Which evaluations the run has made, [n]: not the known ones, unless there are no others."""
        everything = np.ones(len(self), bool)
        return everything if self.trial is None or (self.trial < 0).all() else np.asarray(self.trial >= 0)

    @property
    def numbers(self) -> Rows:
        """The number of each evaluation, from 1, [n]; a known one has that of the evaluation before it, or 0."""
        return np.cumsum(self.own)

    @property
    def called(self) -> list[str]:
        """The name of each evaluation: that of its trial; of plain values their place, from 1."""
        if self.trial is None:
            return [f"evaluation {i + 1}" for i in range(len(self))]
        return [f"trial {trial}" if trial >= 0 else "a known one" for trial in self.trial.tolist()]

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
    def effects(self) -> Effects:
        """Effects of the parameters under the model of the run; ValueError with fewer than 5 values, or equal ones."""
        space = self.space.space or Box(0, 1, dim=self.x.shape[1])
        f, g = self.goals.signs * self.values, self.g
        g = g if g.shape[1] == len(self.goals.constraints) else self.goals.per_constraint(g)
        again = len(np.unique(self.x, axis=0)) < len(self.x)
        model = predictor(space, self.goals, Evaluated(self.x, f, g, self.sems), robust=again)
        rows = np.flatnonzero(np.isfinite(self.loss))
        best = rows[np.argsort(self.loss[rows], kind="stable")]
        return Effects(model, [one.part for one in self.space.parameters], self.x[best], self._active, self.space.known)

    @property
    def order(self) -> list[int]:
        """The parameters' numbers by importance; in their own order where no model can be fitted."""
        return self.effects.order if has_model(self) else list(range(len(self.space.parameters)))

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
    if isinstance(source, (Result, Optimizer)):
        source = source.history
    if isinstance(source, Recorded):
        goals, columns = source.goals, source.columns
        held = source.fingerprint.get("space")
        sems = StandardErrors(source.sems)
        return _of(goals, columns.f, columns.g, columns.kind, columns.x, held, columns.trial, sems)
    if isinstance(source, History):
        goals = source.goals
        f = goals.signs * source.values.reshape(len(source), len(goals.objectives))
        signature = source.points.space.signature()
        sems = StandardErrors(source.sems)
        return _of(goals, f, source.constraints, source.kind, source.x, signature, source.trial, sems)
    return _of_values(source, senses, feasible, maximize)


def _of(
    goals: Goals,
    f: Floats,
    g: Floats,
    kind: Rows,
    x: Floats,
    signature: object,
    trial: Rows,
    sems: StandardErrors,
) -> Evaluations:
    reference = None if goals.reference is None else np.array(goals.reference)
    errors = sems.of(range(len(x)), f.shape[1])
    return Evaluations(goals, _drawable(goals.signs * f), g, kind, x, signature, reference, trial, errors)


def _drawable(values: Floats) -> Floats:
    """Return values with those at the ends of the floats moved inwards."""
    return np.where(np.isfinite(values), np.clip(values, -FARTHEST, FARTHEST), values)


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
    table = _drawable(table.reshape(len(table), len(goals.objectives)))
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


class Quartiles(NamedTuple):
    """Median and quartiles [k] of several curves after so many evaluations [k]."""

    after: Rows
    low: Floats
    middle: Floats
    high: Floats


def quartiles(curves: Sequence[Floats]) -> Quartiles:
    """Return the quartiles of curves [n] each, over the evaluations that all of them have and where all are known."""
    length = min(map(len, curves))
    table = np.array([curve[:length] for curve in curves])  # [runs, n]
    known = np.flatnonzero(~np.isnan(table).any(0))
    low, middle, high = np.quantile(table[:, known], [0.25, 0.5, 0.75], axis=0) if len(known) else np.empty((3, 0))
    return Quartiles(known + 1, low, middle, high)


class Violations(NamedTuple):
    """Violations [n], the least so far [n], the row of the first feasible evaluation, and which are infeasible [n]."""

    amount: Floats
    least: Floats
    first: int | None
    infeasible: Mask

    @classmethod
    def of(cls, amount: Floats) -> "Violations":
        kept = np.flatnonzero(amount <= 0)
        return cls(amount, np.fmin.accumulate(amount), int(kept[0]) if len(kept) else None, amount > 0)


class Importance(NamedTuple):
    """Parameters by importance, and the total effect [k, p] of each on each objective."""

    names: list[str]
    effects: Floats

    @classmethod
    def of(cls, run: Evaluations, most: int) -> "Importance":
        order = run.order[:most]
        return cls([run.space.names[i] for i in order], run.effects.importance[:, order])


def has_model(run: Evaluations) -> bool:
    """Return whether there are enough values that differ for a model."""
    try:
        return bool(run.effects.parts)
    except ValueError:
        return False


def fit_of(run: Evaluations) -> str:
    """Return the quality of the model of a run in words, with a warning where it is low."""
    fits = [
        f"{'' if len(run.goals.objectives) == 1 else f'{goal.name}: '}R² {r2:.2f}, rank correlation {rank:.2f}"
        for goal, (r2, rank) in zip(run.goals.objectives, run.effects.quality, strict=True)
    ]
    text = f"Gaussian process, leave-one-out {'; '.join(fits)}"
    return text if run.effects.trusted else f"{text}: too low to trust"


def importance_of(run: Evaluations) -> str:
    """Return what the bars of importance are in words, and how well the model predicts."""
    where, goals = "the space" if run.space.known else "the evaluations", run.goals.objectives
    pairs = zip(goals, run.effects.expected_r2, strict=True)
    found = ", ".join(f"{'' if len(goals) == 1 else f'{goal.name} '}{r2:.2f}" for goal, r2 in pairs)
    return f"Importance over {where}, where the model expects R² {found}. {fit_of(run)}"


def rank_of(loss: Floats) -> Floats:
    """Return the share of finite losses [n] that each is at least as good as, in (0, 1]; nan stays nan."""
    from scipy.stats import rankdata

    result = np.full(len(loss), np.nan)
    known = np.isfinite(loss)
    result[known] = rankdata(-loss[known]) / max(1, int(np.count_nonzero(known)))
    return result


def best_and_some(run: Evaluations, most: int) -> tuple[Rows, Floats]:
    """Return at most `most` rows, half of them the best and the others evenly many, worst first; and their ranks."""
    known = np.flatnonzero(run.known & np.isfinite(run.loss))
    order = known[np.argsort(run.loss[known], kind="stable")]
    rest = order[most // 2 :]
    rows = np.r_[order[: most // 2], rest[thinned(len(rest), most - most // 2)]][::-1]
    return rows, rank_of(run.loss)[rows]


def numbers_of(column: Sequence[Point], parameter: NamedParameter) -> Floats:
    """Return values as numbers [n], options by their place; nan where a parameter is inactive."""
    if parameter.options is None:
        return np.array([np.nan if value is None else value for value in column], float)
    places = {option: float(place) for place, option in enumerate(parameter.options)}
    return np.array([places.get(value, np.nan) for value in column])


def thinned(n: int, most: int) -> Rows:
    """Return at most `most` of the numbers below `n`, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64)) if n else np.arange(0)
