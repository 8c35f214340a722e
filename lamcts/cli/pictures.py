"""The figures of a run, by kind: of what a journal holds, or of a result."""

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lamcts.outcomes.goals import Goals
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.journal.recorded import Recorded
    from lamcts.study.result import History

PANELS = 4  # objectives whose front is drawn by pairs; that of more by parallel axes


EFFECTS = {"importance": "importance", "slice": "slices", "contour": "contours", "parallel": "parameters"}
# of the parameters of one objective: kind -> the function of lamcts.plot that draws it


class Course(NamedTuple):
    """What happened: values [n] or [n, m] in the user's sign, which are feasible [n], and violations [n]."""

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
    ) -> "Course":
        """Return the course of a run."""
        known = np.isfinite(run.values) if run.values.ndim == 1 else np.isfinite(run.values).all(1)
        violation = np.where(known | (run.violation > 0), run.violation, np.nan)  # failed, or its check found nothing
        return cls(about, run.goals, run.values, run.feasible, violation, reference, target)

    @property
    def title(self) -> str:
        return str(self.about.get("objective", ""))


def kinds(course: Course) -> list[str]:
    """Return the kinds of figures that say something of a run, the first above all."""
    m, bounded = len(course.goals.objectives), ["violation"] if course.goals.constraints else []
    if m == 1:
        return [*bounded, *(["best"] if not bounded or course.feasible.any() else [])]
    fronts = ["front", "parallel"] if m > 2 else ["front"]
    return [*(fronts if m <= PANELS else fronts[1:]), "hypervolume", *bounded]


def figure_of(course: Course, kind: str | None = None) -> "Figure":
    """Return the figure of a kind (None: what says most); ValueError where the run has nothing of it."""
    kind, goals = kind or kinds(course)[0], course.goals
    if kind not in kinds(course) and not (kind == "parallel" and len(goals.objectives) > 1):
        what = f"{len(goals.objectives)} objectives and {len(goals.constraints)} constraints"
        known = [*kinds(course), *(EFFECTS if len(goals.objectives) == 1 else [])]
        raise ValueError(f"--kind: expected one of {', '.join(known)} for {what}, got {kind!r}")
    if kind == "best":
        return _best(course)
    return _violation(course) if kind == "violation" else _columns(course, kind)


def effects_of(record: "Recorded", kind: str) -> "Figure":
    """Return the figure of a kind of EFFECTS; ValueError where there are too few evaluations."""
    from lamcts import plot

    figure: Figure = getattr(plot, EFFECTS[kind])(record)
    return figure


def _columns(course: Course, kind: str) -> "Figure":
    """Return the figure of several objectives."""
    from lamcts import plot

    senses = {goal.name: "max" if goal.maximize else "min" for goal in course.goals.objectives}
    given: dict[str, Any] = {"feasible": course.feasible}
    if kind == "hypervolume":
        name = f"{course.title}: hypervolume".lstrip(": ")
        return plot.hypervolume(course.values, senses, reference=course.reference, title=name, **given)
    draw = plot.front if kind == "front" else plot.parallel
    return draw(course.values, senses, title=f"{course.title}: the front".lstrip(": "), **given)


def _violation(course: Course) -> "Figure":
    from lamcts import plot

    goals, name = course.goals, f"{course.title}: feasibility".lstrip(": ")
    if len(goals.objectives) > 1:
        return plot.violation(course.violation, title=name)
    (goal,) = goals.objectives
    return plot.violation(course.violation, course.values, maximize=goal.maximize, y=goal.name, title=name)


def _best(course: Course) -> "Figure":
    """Return reward against episodes for policies, else the best value so far."""
    from lamcts import plot

    episodes, maximize = episodes_of(course.about), course.goals.objectives[0].maximize
    values = np.where(course.feasible, course.values, np.nan)
    if episodes is not None and maximize:
        return plot.reward(values, episodes=episodes, threshold=_threshold(course.about), name=course.title)
    kept = " that is feasible" if course.goals.constraints else ""
    title = f"{course.title}: best value{kept} so far".lstrip(": ")
    lost = "infeasible or failed" if course.goals.constraints else "failed"
    return plot.best_so_far(values, maximize=maximize, target=course.target, title=title, lost=lost)


# A run says of itself what it likes: none of it need be of the kind that is looked for.


def reference_of(about: dict[str, Any], goals: Goals) -> dict[str, float] | None:
    """Return the reference that a run says it was given, by name, None where it says none that fits."""
    given: Any = about.get("reference")
    if not isinstance(given, list) or len(given) != len(goals.names):
        return None
    known = all(type(number) in (int, float) and abs(number) <= sys.float_info.max for number in given)
    return dict(zip(goals.names, map(float, given), strict=True)) if known else None


def episodes_of(about: dict[str, Any]) -> int | None:
    """Return how many episodes an evaluation is, or None where that is not said."""
    value: Any = about.get("episodes")
    return value if type(value) is int and 0 < value <= sys.maxsize else None


def _threshold(about: dict[str, Any]) -> float | None:
    value: Any = about.get("threshold")
    return float(value) if type(value) in (int, float) and abs(value) <= sys.float_info.max else None
