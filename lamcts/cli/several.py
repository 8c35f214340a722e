"""`lamcts plot A B C`: several runs in one figure, and short names for them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamcts.outcomes.goals import Goals
from lamcts.plot.evaluations import common_reference
from lamcts.report.runs import LabelledRun, by_search

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.journal.recorded import Recorded


KINDS = {1: ("best",), 2: ("hypervolume", "front")}  # by number of objectives, 2 for more; the first is the default
Groups = dict[str, list[LabelledRun]]


def compared(paths: Sequence[str], records: Sequence["Recorded"], kind: str | None = None) -> "Figure":
    """Return runs of one objective in one figure; those that differ in their seed alone stand together."""
    goals = records[0].goals
    if any(record.goals != goals for record in records):
        raise ValueError("expected runs of one and the same objective, got others: `lamcts report` takes them all")
    known = KINDS[min(len(goals.objectives), 2)]
    if kind not in (None, *known):
        raise ValueError(f"--kind: expected {' or '.join(known)} for several journals, got {kind!r}: draw one alone")
    named = zip(labels(paths), records, strict=True)
    draw = {"best": _best, "hypervolume": _hypervolume, "front": _fronts}[kind or known[0]]
    return draw(by_search([LabelledRun(*one) for one in named]), goals)


def _best(groups: Groups, goals: Goals) -> "Figure":
    """Return the best values so far; seeds of one search are their median and quartiles."""
    from lamcts import plot

    curves = {name: [run.shown for run in group] for name, group in groups.items()}
    return plot.best_so_far(curves, title=f"Best {'feasible ' if goals.constraints else ''}objective value so far")


def _hypervolume(groups: Groups, goals: Goals) -> "Figure":
    """Return the hypervolumes so far, all from one reference; seeds of one search are their median and quartiles."""
    from lamcts import plot

    reference = common_reference([run.shown for group in groups.values() for run in group])
    if reference is None:
        raise ValueError("expected a feasible evaluation in one of the journals, got none: run on, then plot")
    curves = {
        name: [run.shown.hypervolumes(reference)[run.shown.own].tolist() for run in group]
        for name, group in groups.items()
    }
    start = ", ".join(f"{name} {number:.4g}" for name, number in zip(goals.names, reference, strict=True))
    title = "Hypervolume of the front so far"
    return plot.best_so_far(curves, maximize=True, title=title, y=f"hypervolume (reference point: {start})")


def _fronts(groups: Groups, goals: Goals) -> "Figure":
    """Return the fronts over one another; that of several seeds is the front of them all."""
    from lamcts import plot

    values = {name: np.vstack([run.shown.values for run in group]) for name, group in groups.items()}
    feasible = {name: np.concatenate([run.shown.feasible for run in group]) for name, group in groups.items()}
    senses = {goal.name: "max" if goal.maximize else "min" for goal in goals.objectives}
    return plot.fronts(values, senses, feasible=feasible)


def labels(paths: Sequence[str]) -> list[str]:
    """Return a short name for each path: what of it tells it from the others."""
    parts = [Path(os.path.abspath(path)).parts for path in paths]
    found: list[str] = []
    for mine in parts:
        others = [other for other in parts if other != mine]
        shared = 0
        while others and all(len(o) > shared and shared < len(mine) - 1 and o[shared] == mine[shared] for o in others):
            shared += 1
        name = os.path.join(*mine[shared:]) if others else mine[-2 if mine[-1] == "journal.db" else -1]
        name = name.removesuffix(f"{os.sep}journal.db").removesuffix(".db")
        found.append(name if name not in found else f"{name} ({len(found) + 1})")
    return found
