"""What a run gives back: each evaluation as it ends, and the result with its history."""

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK, PRUNED, excess, feasible
from lamcts.outcomes.failures import by_kind
from lamcts.outcomes.goals import Goals
from lamcts.spaces.base import SearchSpace
from lamcts.study.export import dataframe_of, dict_of, html_of, rows_of
from lamcts.types import Floats, Json, Mask, Point, Rows

if TYPE_CHECKING:
    from pandas import DataFrame

NO_POINTS: Mapping[int, Point] = MappingProxyType({})
PLAIN = Goals()  # one objective, no constraint
# of a result, where it is shown
SHOWN = ("x", "fun", "feasible", "violation", "nfev", "nit", "pruned", "success", "status", "message", "tree", "front")


@dataclass(frozen=True)
class Evaluation:
    """One finished evaluation, in the user's units and sign.

    Attributes
    ----------
    trial : int
        Number of the trial; a re-evaluation has that of the first.
    point : point of the space
        The evaluated point.
    value : float or dict
        Its value, nan if it failed; with several objectives, a dict by name.
    seconds : float
        Duration.
    message : str or None
        Why it failed; None if it did not.
    best : float
        The best feasible value so far, nan before the first; with several objectives, the size of the front.
    count : int
        Number of evaluations so far.
    repeat : int
        0 for a new point, j for the j-th re-evaluation of one (noisy=True).
    feasible : bool
        Whether all constraints are satisfied.
    violation, lead_violation : float
        Sum of the violated excesses, of this point and of the best so far.
    constraints : mapping of str to float
        Excess of each constraint over its bound: at most 0 if satisfied, nan if not measured.
    pruned : bool
        Whether the trial was stopped early, which is no failure.
    """

    trial: int
    point: Point
    value: float | dict[str, float]
    seconds: float
    message: str | None
    best: float
    count: int
    repeat: int = 0
    feasible: bool = True
    violation: float = 0.0
    constraints: Mapping[str, float] = field(default_factory=dict)
    lead_violation: float = 0.0
    pruned: bool = False  # stopped on its way: no failure

    @property
    def failed(self) -> bool:
        return self.message is not None

    @property
    def checked(self) -> bool:
        """Whether only the constraints are known: the point was checked and not run."""
        values = self.value.values() if isinstance(self.value, dict) else [self.value]
        return not (self.failed or self.pruned) and all(value != value for value in values)


class Points(Sequence[Point]):
    """The points of a history, decoded on access; `exact` has by row those that decoding would round."""

    def __init__(self, space: SearchSpace, x: Floats, exact: Mapping[int, Point] = NO_POINTS) -> None:
        self.space, self._x, self._exact = space, x, exact

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


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """Finished evaluations in order of arrival, as columns; values in the user's sign, nan for failures.

    With several objectives `values` is [n, m], in the order of `goals.names`. `constraints` says how far beyond its
    bound each of `goals.constraints` is, in order: at most 0 where it is kept, nan where it was not measured.
    """

    points: Points
    x: Floats  # [n, d], encoded in the unit cube
    values: Floats  # [n] or [n, m]
    seconds: Floats  # [n]
    trial: Rows  # [n], -1 for points nobody asked for
    messages: dict[int, str]  # row -> what went wrong
    maximize: bool
    goals: Goals = PLAIN
    excesses: Floats | None = None  # [n, c], None where there are no constraints
    kinds: Rows | None = None  # [n] (outcomes/constrained_rank.py), None where a value is all there is to an evaluation
    curves: Mapping[int, Mapping[int, float]] = field(default_factory=dict)  # losses by trial and step, inf for nan

    @property
    def constraints(self) -> Floats:
        """How far beyond its bound each constraint is, [n, c]."""
        return np.empty((len(self), 0)) if self.excesses is None else self.excesses

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
        """Which were checked and not run, [n]: only their constraints are known."""
        return np.asarray(self.kind == CHECKED)

    @property
    def pruned(self) -> Mask:
        """Which were stopped on their way, since others were ahead, [n]."""
        return np.asarray(self.kind == PRUNED)

    @property
    def reports(self) -> dict[int, dict[int, float]]:
        """What evaluations reported on their way: by row, the values by step, in the user's sign."""
        sign = -1.0 if self.maximize else 1.0
        told = {row: self.curves[trial] for row, trial in enumerate(self.trial.tolist()) if trial in self.curves}
        return {
            row: {step: math.nan if math.isinf(loss) else sign * loss for step, loss in curve.items()}
            for row, curve in told.items()
        }

    def message(self, row: int) -> str | None:
        """Return what there is to say of a row: what went wrong, or where it was pruned; None of most."""
        if self.kind[row] != PRUNED:
            return self.messages.get(row)
        curve = self.curves.get(int(self.trial[row]))
        return f"pruned at step {next(reversed(curve))}" if curve else "pruned"

    @property
    def feasible(self) -> Mask:
        """Which were evaluated and keep all constraints, [n]."""
        return feasible(self.constraints, self.kind)

    @property
    def violation(self) -> Floats:
        """By how much constraints are broken in sum, [n]; nan where none was measured."""
        return excess(self.constraints)

    def rows(self) -> list[Json]:
        """Return a dict for each evaluation: trial, values, constraints, parameters, seconds, message (export.py)."""
        return rows_of(self)

    @property
    def best(self) -> Floats:
        """The best value so far that keeps all constraints, [n]; nan before the first."""
        if self.values.ndim > 1:
            raise RuntimeError("best: there are several objectives; the result's `front` has what none is better than")
        kept = np.where(self.feasible, self.values, np.nan)
        best = (np.fmax if self.maximize else np.fmin).accumulate(kept)
        return np.asarray(best, float)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        kept = "" if self.goals.plain else f"{int(self.feasible.sum())} feasible, "
        failures = ", ".join(f"{len(rows)} {kind}" for kind, rows in self.failures.items())
        why = f" ({failures})" if len(self.failures) > 1 else ""
        pruned = f", {int(self.pruned.sum())} pruned" if self.pruned.any() else ""
        return f"<history of {len(self)} evaluations, {kept}{int(self.failed.sum())} failed{why}{pruned}>"


@dataclass(frozen=True)
class Candidate:
    """A point that was re-evaluated (noisy=True): its mean over `repeats` fresh evaluations, and the standard error.

    `first` is the value that made it a candidate; chosen for being good, it is lucky on average and not in the mean.
    """

    point: Point
    mean: float
    error: float
    repeats: int
    first: float


class Result(dict[str, Any]):
    """What a run has found; `result.x` and `result["x"]` are the same.

    Attributes
    ----------
    x : point of the space or None
        The best point, None if every evaluation failed. With constraints, the best feasible point, or the least
        infeasible one if none is feasible; with several objectives, the knee of the front.
    fun : float or dict
        The value of `x` in the user's sign, nan if there is none; with several objectives, a dict by name. With
        noisy=True, the mean of its re-evaluations.
    nfev : int
        Number of evaluations, including those of earlier sessions on the same journal.
    nit : int
        Number of times that new points were asked for.
    success : bool
        Whether a feasible evaluation has succeeded. To use up the budget is the normal end of a run.
    status, message : str
        Why the run stopped, in one word and in a sentence.
    history : History
        All evaluations as columns.
    seed : int
        The seed of the run.
    pruned : int
        Number of pruned trials.
    tree : str or None
        How often the tree chose where to search, "chose 3 of 120 batches"; None without a tree.
    front : Front
        With several objectives, the evaluations that no other one dominates.
    row : int or None
        With constraints or several objectives, the row of `x` in the history.
    feasible, violation, constraints
        With constraints or several objectives: whether `x` satisfies all constraints, the sum of the violated
        excesses, and the excess of each by name.
    candidates : list of Candidate
        With noisy=True, the re-evaluated points, best first.
    memory : JSON value
        With a `StatefulObjective`, the state that the evaluation of `x` was given.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a result has no {name!r}; it has {', '.join(self)}") from None

    def rows(self) -> list[Json]:
        """Return a dict for each evaluation: the rows of the history."""
        return rows_of(self["history"])

    def to_dict(self) -> Json:
        """Return JSON values of all that was found; the history as its rows, None in place of nan."""
        return dict_of(self)

    def to_dataframe(self) -> "DataFrame":
        """Return all evaluations as a pandas DataFrame, a row each; MissingExtra where pandas is not installed."""
        return dataframe_of(self["history"])

    def _repr_html_(self) -> str:
        return html_of({name: self[name] for name in self._shown})

    @property
    def _shown(self) -> list[str]:
        return [name for name in SHOWN if name in self and (name != "pruned" or self[name])]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})

    def __repr__(self) -> str:
        shown = self._shown
        width = max(8, *map(len, shown)) if shown else 8
        return "\n".join(f"{name:>{width}}: {self[name]!r}" for name in shown)
