"""Evaluations as they end, and the result of a run with its history."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lamcts.models.predictor import BestPredicted, Evaluated, Prediction, RunModel
from lamcts.models.remaining_gain import RemainingGain, remaining_gain
from lamcts.optimizer.export import dataframe_of, html_of, json_values, rows_of
from lamcts.optimizer.history import History
from lamcts.optimizer.prediction import best_of, predicted, predictor, refuse_several
from lamcts.outcomes.measured import StandardErrors
from lamcts.outcomes.metrics import Metric
from lamcts.types import Json, Point

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN = (  # entries of a result in its repr
    "x",
    "fun",
    "fun_note",  # under noise
    "feasible",
    "violation",
    "constraints",
    "nfev",
    "failed",  # numbers by kind
    "cost",
    "nit",
    "pruned",
    "success",
    "status",
    "message",
    "front",
)
IF_ANY = ("fun_note", "constraints", "failed", "pruned")


@dataclass(frozen=True)
class Evaluation:
    """One finished evaluation, in the user's units and sign.

    Attributes
    ----------
    trial : int
        Number of the trial.
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
        The constrained quantities by name, nan if not measured.
    pruned : bool
        Whether the trial was stopped early, which is no failure.
    metrics : mapping of str to number, str or None
        Other names of a returned dict, and `trial.note`; the history stores them.
    partial : bool
        Whether the evaluation was below full fidelity: it is no candidate for the best.
    cost : float or None
        With a `Fidelity`, the cost of all evaluations so far, in the unit of the budget.
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
    pruned: bool = False
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    partial: bool = False
    cost: float | None = None

    @property
    def spent(self) -> float:
        """The used part of the budget: the cost so far, or the number of evaluations."""
        return self.count if self.cost is None else self.cost

    @property
    def failed(self) -> bool:
        return self.message is not None

    @property
    def checked(self) -> bool:
        """Whether only the constraints are known: the point was checked and not run."""
        values = self.value.values() if isinstance(self.value, dict) else [self.value]
        return not (self.failed or self.pruned) and all(value != value for value in values)


@dataclass(frozen=True)
class Candidate:
    """A re-evaluated point, or the point that the model prefers (noisy=True).

    Attributes
    ----------
    point : point of the space
    mean, error : float
        The mean over `repeats` new evaluations, and its standard error; without any, those of the model.
    repeats : int
    first : float
        The value that made it a candidate. It was selected for being good, so it is biased and not in the mean.
    """

    point: Point
    mean: float
    error: float
    repeats: int
    first: float


class Result(dict[str, Any]):
    """The result of a run; `result.x` and `result["x"]` are the same.

    Attributes
    ----------
    x : point of the space or None
        The best point, None if every evaluation failed. With constraints, the best feasible point, or the least
        infeasible one if none is feasible; with several objectives, the knee of the front.
    fun : float or dict
        The value of `x` in the user's sign, nan if there is none; with several objectives, a dict by name. With
        noisy=True, the mean of its re-evaluations, or what the model expects there. Else it is one evaluation, which is
        lucky under noise; `fun_note` says which of these it is, and what the model expects.
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
    front : Front
        With several objectives, the evaluations that no other one dominates.
    row : int or None
        With constraints or several objectives, the row of `x` in the history.
    feasible, violation, constraints
        With constraints or several objectives: whether `x` satisfies all constraints, the sum of the violated
        excesses, and the constrained quantities by name.
    candidates : list of Candidate
        With noisy=True, the re-evaluated points in the order of their posterior means, the best first; it is `x`.
    cost : float
        With a `Fidelity`, the cost of all evaluations in full evaluations.
    noisy : bool
        True where the run or its objective declares noise; else missing.
    memory : JSON value
        With a `StatefulObjective`, the state that the evaluation of `x` was given; with re-evaluations, the last state.
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
        """Return all entries as JSON values; the history as its rows, with None for nan."""
        return {name: json_values(value) for name, value in self.items()}

    def to_dataframe(self) -> "DataFrame":
        """Return all evaluations as a pandas DataFrame, a row each; MissingExtra where pandas is not installed."""
        return dataframe_of(self["history"])

    def predict(self, points: Iterable[Point]) -> Prediction:
        """Return the prediction of `Optimizer.predict`."""
        return predicted(self._predictor, points)

    @cached_property
    def best_predicted(self) -> BestPredicted:
        """The point of `Optimizer.best_predicted`. Under noise, the best single value is lucky, and this is better."""
        history: History = self["history"]
        refuse_several(history.goals)
        best = best_of(self._predictor, _evaluated(history), history.feasible, history.trial)
        return best._replace(point=history.points[best.point])

    @property
    def fun_note(self) -> str:
        """How `fun` was obtained where values are noisy, such as "mean of 3 re-evaluations"; else empty."""
        if "candidates" in self:
            best: Candidate = self["candidates"][0]
            error = f", standard error {best.error:.6g}" if best.repeats > 1 else ""
            mean = f"mean of {best.repeats} re-evaluation{'s' * (best.repeats > 1)}{error}"
            return mean if best.repeats else "posterior mean of the model"
        if "noisy" not in self or self.get("x") is None:
            return ""
        text = "one noisy evaluation, selected for its value"
        if isinstance(self["fun"], dict):
            return text
        try:
            model = self.predict([self["x"]])
        except ValueError:  # too few values, or equal ones
            return text
        return f"{text}; the model expects {model.mean[0]:.6g} ± {model.std[0]:.2g} at x"

    @cached_property
    def remaining_gain(self) -> RemainingGain | None:
        """The estimate of `Optimizer.remaining_gain`."""
        history: History = self["history"]
        return remaining_gain(history.points.space, history.goals, _evaluated(history), self.get("seed", 0))

    @cached_property
    def _predictor(self) -> RunModel:
        return model_of(self["history"], robust=bool(self["history"].again.any()))

    @property
    def under_noise(self) -> dict[str, BestPredicted]:
        """`best_predicted` by name where values are known to be noisy, for summaries; else empty."""
        history: History | None = self.get("history")
        if history is None or len(history.goals.objectives) > 1:
            return {}
        if not (self.get("noisy") or history.sems or history.again.any()):
            return {}
        try:
            return {"best_predicted": self.best_predicted}
        except ValueError:  # too few values, or equal ones
            return {}

    @property
    def modelled(self) -> dict[str, BestPredicted | RemainingGain]:
        """Estimates of the model for summaries, by name: `under_noise`, and `remaining_gain` if it is not None."""
        gain = self.remaining_gain if "history" in self else None
        return {**self.under_noise, **({} if gain is None else {"remaining_gain": gain})}

    def _repr_html_(self) -> str:
        return html_of(self._shown)

    @property
    def _shown(self) -> Json:
        """The shown entries by name."""
        failures = self["history"].failures if "history" in self else {}
        counts = {kind: len(rows) for kind, rows in failures.items()}
        values = {**self, "failed": counts, "fun_note": self.fun_note}
        shown = {name: values[name] for name in SHOWN if name in values and (name not in IF_ANY or values[name])}
        return shown | self.modelled

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})

    def __repr__(self) -> str:
        shown = self._shown
        width = max(8, *map(len, shown)) if shown else 8
        return "\n".join(f"{name:>{width}}: {value!r}" for name, value in shown.items())


def model_of(history: History, robust: bool) -> RunModel:
    """Return the model of all values, `robust` to outliers or not."""
    return predictor(history.points.space, history.goals, _evaluated(history), robust)


def _evaluated(history: History) -> Evaluated:
    """Return the evaluations of a history for a model."""
    n = len(history)
    m = len(history.goals.objectives)
    f = history.goals.signs * history.values.reshape(n, m)
    return Evaluated(history.x, f, history.constraints, StandardErrors(history.sems).of(range(n), m))
