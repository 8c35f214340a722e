"""`lamcts plot A B C`: several runs in one figure, and short names for them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamcts.report.runs import Run, by_search

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.journal.recorded import Recorded


def compared(paths: Sequence[str], records: Sequence["Recorded"], kind: str | None = None) -> "Figure":
    """Return the best values so far of runs of one objective; seeds of one search are their median and quartiles."""
    from lamcts import plot

    goals = records[0].goals
    if kind not in (None, "best"):
        raise ValueError(f"--kind: expected best for several journals, got {kind!r}: draw one, or write a report")
    if any(record.goals != goals for record in records) or len(goals.objectives) > 1:
        raise ValueError("expected runs of one and the same objective, got others: `lamcts report` takes them all")
    groups = by_search([Run(label, record) for label, record in zip(labels(paths), records, strict=True)])
    curves = {
        name: [np.where(run.feasible, run.values[:, 0], np.nan).tolist() for run in group]
        for name, group in groups.items()
    }
    kept = " that is feasible" if goals.constraints else ""
    return plot.best_so_far(curves, maximize=goals.objectives[0].maximize, title=f"Best value{kept} so far")


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
