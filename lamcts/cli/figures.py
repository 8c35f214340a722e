"""The figures of a run by kind, from a journal or from a result."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lamcts import plot
from lamcts.cli.show import episodes_of, number_of
from lamcts.text import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.journal.recorded import Recorded
    from lamcts.plot.evaluations import Evaluations

PANELS = 4  # most objectives whose front is drawn in pairs; with more, by parallel axes (by eye)
EFFECTS = {
    "importance": plot.importance,
    "slice": plot.slices,
    "contour": plot.contours,
    "parallel": plot.parameters,
}  # figures of the effects of the parameters on one objective


def kinds(run: "Evaluations") -> list[str]:
    """Return the kinds of figures that fit a run, the most informative first."""
    m, bounded = len(run.goals.objectives), ["violation"] if run.goals.constraints else []
    if m == 1:
        return [*bounded, *(["best"] if not bounded or run.feasible.any() else [])]
    fronts = ["front", "parallel"] if m > 2 else ["front"]
    return [*(fronts if m <= PANELS else fronts[1:]), "hypervolume", *bounded]


def figure_of(
    run: "Evaluations", about: Mapping[str, object], kind: str | None = None, target: float | None = None
) -> "Figure":
    """Return the figure of a kind (None: the most informative); ValueError if the run has no such figure."""
    kind, goals, name = kind or kinds(run)[0], run.goals, str(about.get("objective", ""))
    if kind not in kinds(run) and not (kind == "parallel" and len(goals.objectives) > 1):
        what = f"{len(goals.objectives)} objectives and {len(goals.constraints)} constraints"
        known = [*kinds(run), *(EFFECTS if len(goals.objectives) == 1 else [])]
        raise ValueError(f"--kind: expected one of {', '.join(known)} for {what}, got {kind!r}")
    if kind == "best":
        return _best(run, about, name, target)
    if kind == "violation":
        return plot.violation(run, title=_title(name, "feasibility"))
    if kind == "hypervolume":
        return plot.hypervolume(run, title=_title(name, "hypervolume"))
    draw = plot.front if kind == "front" else plot.parallel
    return draw(run, title=_title(name, "the front"))


def effects_of(record: "Recorded", kind: str) -> "Figure":
    """Return the figure of a kind of EFFECTS; ValueError where there are too few evaluations."""
    return EFFECTS[kind](record)


def _best(run: "Evaluations", about: Mapping[str, object], name: str, target: float | None) -> "Figure":
    """Return reward against episodes for policies, else the best value so far."""
    episodes = episodes_of(about)
    if episodes is not None and run.maximize:
        return plot.reward(run, episodes=episodes, threshold=number_of(about.get("threshold")), name=shortened(name))
    kept = " that is feasible" if run.goals.constraints else ""
    return plot.best_so_far(run, target=target, title=_title(name, f"best value{kept} so far"))


def _title(name: str, what: str) -> str:
    return f"{shortened(name)}: {what}" if name else what
