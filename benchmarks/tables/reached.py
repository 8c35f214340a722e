"""Who gets to the problem's target, and when: as the search sees it, and on episodes that it has not seen."""

import math
from collections.abc import Sequence

import numpy as np

from benchmarks import problems
from benchmarks.harness.task import MARKS
from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown, spread
from benchmarks.tables.registry import table
from benchmarks.tables.runs import Recorded


@table("targets", "Evaluations to target")
def targets(recorded: Recorded) -> str:
    """One line for each problem and method: evaluations to the problem's target, and how many runs got there."""
    lines = []
    for place, methods in recorded.runs.items():
        problem = problems.find(place.problem)
        for method, cell in methods.items():
            counts = [stats.reached(run.n, run.scores, problem.solved(run.optimum)) for run in cell.values()]
            got = f"{sum(map(math.isfinite, counts))} of {len(counts)}"
            lines.append((str(place), method, f"{problem.target:g}", spread(counts), got))
    return markdown(("problem", "method", "target", "evaluations", "reached"), lines)


@table("rescored", "Re-scored incumbents")
def rescored(recorded: Recorded) -> str:
    """One line for each problem, method and mark: the incumbents on episodes that the search has not seen."""
    lines = []
    for place, methods in recorded.runs.items():
        target = problems.find(place.problem).target
        for method, cell in methods.items():
            for mark in MARKS:
                values = [run.rescored[mark] for run in cell.values() if mark in run.rescored]
                if values:
                    lines.append((str(place), method, str(mark), *_mean(values, target)))
    return markdown(("problem", "method", "evaluations", "mean", "two standard errors", "at the target"), lines)


def _mean(values: Sequence[float], target: float) -> tuple[str, ...]:
    n = len(values)
    error = 2 * float(np.std(values, ddof=1)) / n**0.5 if n > 1 else math.nan
    return f"{np.mean(values):.4g}", f"{error:.2g}", f"{sum(value >= target for value in values)} of {n}"
