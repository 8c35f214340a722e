"""The table of `python -m benchmarks.discrete.model_tuning --table`: medians, and pairwise verdicts."""

from collections.abc import Sequence

import numpy as np

from benchmarks.tables.discrete import Cell, Row, Runs, column, common, runs_by_problem, wilcoxon
from benchmarks.tables.markdown import markdown

LEVEL = 0.05  # p above which two methods count as level


def table(rows: Sequence[Row], marks: Sequence[int], against: str = "lamcts") -> str:
    """Return one line a problem and method, and one a method over all problems; a mark counts the runs that reach it.

    A cell: the median best loss; in brackets in how many of the pairs `against` has the lower loss, and Wilcoxon's p.
    Over all problems it is the test of the logarithms of the ratios of all pairs.
    """
    runs = runs_by_problem(rows)
    lines = [_line(runs, problem, method, marks, against) for problem in runs for method in runs[problem]]
    methods = list(dict.fromkeys(m for found in runs.values() for m in found if m != against))
    lines += [_over_all(runs, method, marks, against) for method in methods if len(runs) > 1]
    return markdown(("problem", "method", *(f"at {m}" for m in marks), "verdict", "own s", "seeds"), lines)


def gaps(runs: Runs, problem: str, method: str, mark: int, against: str) -> list[float]:
    """Return the logarithms of the method's loss over that of `against`, one for each seed that both have."""
    methods = runs[problem]
    if method not in methods or against not in methods:
        return []
    seeds = common([_reaching(methods[name], mark) for name in (method, against)])
    theirs, ours = (column(methods[name], f"best_{mark}", seeds) for name in (method, against))
    return np.log(theirs / ours).tolist()


def _line(runs: Runs, problem: str, method: str, marks: Sequence[int], against: str) -> tuple[str, ...]:
    cell = runs[problem][method]
    medians = [_median(_reaching(cell, m), m) for m in marks]
    each = [gaps(runs, problem, method, m, against) for m in marks] if method != against else [[] for _ in marks]
    shown = [f"{median}{_pairs(found)}" for median, found in zip(medians, each, strict=True)]
    own = f"{np.median(column(cell, 'own_seconds')):.2g}"
    return (problem, method, *shown, _verdict(each), own, str(len(cell)))


def _over_all(runs: Runs, method: str, marks: Sequence[int], against: str) -> tuple[str, ...]:
    each = [[gap for p in runs for gap in gaps(runs, p, method, m, against)] for m in marks]
    shown = [f"{np.exp(np.mean(found)):.3f}{_pairs(found)}" if found else "" for found in each]
    return ("all: ratio", method, *shown, _verdict(each), "", "")


def _reaching(cell: Cell, mark: int) -> Cell:
    """Return the runs that have so many trials: dear peers stop sooner."""
    return {seed: row for seed, row in cell.items() if row[f"best_{mark}"]}


def _median(cell: Cell, mark: int) -> str:
    return f"{np.median(column(cell, f'best_{mark}')):.4g}" if cell else ""


def _pairs(found: Sequence[float]) -> str:
    return f" ({sum(gap > 0 for gap in found)}/{len(found)}, p {wilcoxon(found):.2g})" if found else ""


def _verdict(each: Sequence[Sequence[float]]) -> str:
    """Return at each mark whether `against` is "first" against the method, "level" or "behind"."""
    words = []
    for found in each:
        level = not found or wilcoxon(found) > LEVEL
        words.append("" if not found else "level" if level else "first" if np.mean(found) > 0 else "behind")
    return ", ".join(words) if any(words) else ""
