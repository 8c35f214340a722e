"""The figures of a run by kind, from a journal or from a result."""

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lamcts.outcomes.goals import Goals
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.journal.recorded import Recorded
    from lamcts.study.result import History

PANELS = 4  # most objectives whose front is drawn in pairs; with more, by parallel axes (by eye)


EFFECTS = {"importance": "importance", "slice": "slices", "contour": "contours", "parallel": "parameters"}
# effects of the parameters on one objective: kind -> function of lamcts.plot


class RunValues(NamedTuple):
    """Values of a run, [n] or [n, m] in the user's sign, whether they are feasible [n], and violations [n]."""

    about: dict[str, Any]
    goals: Goals
    values: Floats
    feasible: Any
    violation: Floats
    reference: Any = None
    target: float | None = None

    @classmethod
    def of(
        cls, about: dict[str, Any], run: "Recorded | History", reference: Any, target: float | None = None
    ) -> "RunValues":
        """Return the values of a run."""
        known = np.isfinite(run.values) if run.values.ndim == 1 else np.isfinite(run.values).all(1)
        violation = np.where(known | (run.violation > 0), run.violation, np.nan)  # failed, or its check found nothing
        return cls(about, run.goals, run.values, run.feasible, violation, reference, target)

    @property
    def title(self) -> str:
        return str(self.about.get("objective", ""))


def kinds(run: RunValues) -> list[str]:
    """Return the kinds of figures that fit a run, the most informative first."""
    m, bounded = len(run.goals.objectives), ["violation"] if run.goals.constraints else []
    if m == 1:
        return [*bounded, *(["best"] if not bounded or run.feasible.any() else [])]
    fronts = ["front", "parallel"] if m > 2 else ["front"]
    return [*(fronts if m <= PANELS else fronts[1:]), "hypervolume", *bounded]


def figure_of(run: RunValues, kind: str | None = None) -> "Figure":
    """Return the figure of a kind (None: the most informative); ValueError if the run has no such figure."""
    kind, goals = kind or kinds(run)[0], run.goals
    if kind not in kinds(run) and not (kind == "parallel" and len(goals.objectives) > 1):
        what = f"{len(goals.objectives)} objectives and {len(goals.constraints)} constraints"
        known = [*kinds(run), *(EFFECTS if len(goals.objectives) == 1 else [])]
        raise ValueError(f"--kind: expected one of {', '.join(known)} for {what}, got {kind!r}")
    if kind == "best":
        return _best(run)
    return _violation(run) if kind == "violation" else _columns(run, kind)


def effects_of(record: "Recorded", kind: str) -> "Figure":
    """Return the figure of a kind of EFFECTS; ValueError where there are too few evaluations."""
    from lamcts import plot

    figure: Figure = getattr(plot, EFFECTS[kind])(record)
    return figure


def _columns(run: RunValues, kind: str) -> "Figure":
    """Return the figure of several objectives."""
    from lamcts import plot

    senses = {goal.name: "max" if goal.maximize else "min" for goal in run.goals.objectives}
    given: dict[str, Any] = {"feasible": run.feasible}
    if kind == "hypervolume":
        name = f"{run.title}: hypervolume".lstrip(": ")
        return plot.hypervolume(run.values, senses, reference=run.reference, title=name, **given)
    draw = plot.front if kind == "front" else plot.parallel
    return draw(run.values, senses, title=f"{run.title}: the front".lstrip(": "), **given)


def _violation(run: RunValues) -> "Figure":
    from lamcts import plot

    goals, name = run.goals, f"{run.title}: feasibility".lstrip(": ")
    if len(goals.objectives) > 1:
        return plot.violation(run.violation, title=name)
    (goal,) = goals.objectives
    return plot.violation(run.violation, run.values, maximize=goal.maximize, y=goal.name, title=name)


def _best(run: RunValues) -> "Figure":
    """Return reward against episodes for policies, else the best value so far."""
    from lamcts import plot

    episodes, maximize = episodes_of(run.about), run.goals.objectives[0].maximize
    values = np.where(run.feasible, run.values, np.nan)
    if episodes is not None and maximize:
        return plot.reward(values, episodes=episodes, threshold=_threshold(run.about), name=run.title)
    kept = " that is feasible" if run.goals.constraints else ""
    title = f"{run.title}: best value{kept} so far".lstrip(": ")
    lost = "infeasible or failed" if run.goals.constraints else "failed"
    return plot.best_so_far(values, maximize=maximize, target=run.target, title=title, lost=lost)


# `about` is written by users: its entries may be of any type.


def reference_of(about: dict[str, Any], goals: Goals) -> dict[str, float] | None:
    """Return the reference point that a run records, by name; None if it records none that fits."""
    given: Any = about.get("reference")
    if not isinstance(given, list) or len(given) != len(goals.names):
        return None
    known = all(type(number) in (int, float) and abs(number) <= sys.float_info.max for number in given)
    return dict(zip(goals.names, map(float, given), strict=True)) if known else None


def episodes_of(about: dict[str, Any]) -> int | None:
    """Return the number of episodes of an evaluation, or None."""
    value: Any = about.get("episodes")
    return value if type(value) is int and 0 < value <= sys.maxsize else None


def _threshold(about: dict[str, Any]) -> float | None:
    value: Any = about.get("threshold")
    return float(value) if type(value) in (int, float) and abs(value) <= sys.float_info.max else None
