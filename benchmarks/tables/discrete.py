"""The tables of `python -m benchmarks.discrete.runs --table`: regret, ranks, areas, own time, all paired by seed.

Regret may be compared within a problem only; across problems there are ranks and ratios. Letters: s seeds.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown

Row = dict[str, str]
Cell = dict[str, Row]  # rows by seed
Runs = dict[str, dict[str, Cell]]  # by problem, then by method
Floats = NDArray[np.float64]

OURS = "lamcts"
FIRST = 10  # what is shown of smaller budgets
SHOWN, AREA_AT = (30, 100, 300), (300, 100)  # evaluations: columns, and the area until the first within the budget
LEAST = 1e-3  # of the larger of two areas: below it both are none, so that no ratio is infinite


def tables(rows: Sequence[Row], budget: int, against: str = OURS) -> str:
    """Return all tables of rows of at least `budget` evaluations, "" where there is nothing to tell."""
    kept = [row for row in rows if int(row["budget"]) >= budget]
    runs, marks = runs_by_problem(kept), [m for m in SHOWN if m <= budget] or [FIRST]
    until = next((m for m in AREA_AT if m <= budget), 0)
    parts = [("Regret", regret(runs, marks)), ("Mean rank over problems", ranked(runs, marks))]
    if until:
        parts += [(f"Area, evaluations 11 to {until}, over that of {against}", areas(runs, until, against))]
        parts += [("Own milliseconds an evaluation", own(runs, [m for m in (100, 300) if m <= budget]))]
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts if text)


def runs_by_problem(rows: Sequence[Row]) -> Runs:
    """Return the rows by problem, method and seed; of several budgets the largest counts."""
    found: Runs = defaultdict(lambda: defaultdict(dict))
    for row in sorted(rows, key=lambda row: int(row["budget"])):
        found[row["problem"]][row["method"]][row["seed"]] = row
    return {problem: dict(methods) for problem, methods in found.items()}


def column(cell: Cell, name: str, seeds: Sequence[str] | None = None) -> Floats:
    """Return a column of the rows of these seeds, of all where none are given, [s]."""
    return np.array([float(cell[seed][name]) for seed in (sorted(cell) if seeds is None else seeds)])


def regret(runs: Runs, marks: Sequence[int]) -> str:
    """One line for each problem and method: mean regret, share of runs at the optimum, mean evaluations to it."""
    lines = []
    for problem, methods in runs.items():
        for method, cell in methods.items():
            means = [f"{column(cell, f'regret_{m}').mean():.3g}" for m in marks]
            lines.append((problem, method, *means, *reached(cell, marks[-1]), str(len(cell))))
    header = ("problem", "method", *(f"at {m}" for m in marks), "at the optimum", "evaluations to it", "seeds")
    return markdown(header, lines)


def reached(cell: Cell, budget: int) -> tuple[str, str]:
    """Return the share of runs at the optimum within the budget, and the mean evaluations to it.

    "+": runs that did not reach it count with the whole budget, so the mean is at least this.
    """
    hits = [int(row["hit"]) if row["hit"] and int(row["hit"]) <= budget else None for row in cell.values()]
    found = [hit for hit in hits if hit is not None]
    mean = np.mean([budget if hit is None else hit for hit in hits])
    cut = "+" * (len(found) < len(hits))
    return f"{len(found) / len(hits):.0%}", f"{mean:.0f}{cut}" if found else ""


def ranked(runs: Runs, marks: Sequence[int]) -> str:
    """One line a method: its mean rank by regret, over the seeds and the problems that all methods have rows of."""
    methods = sorted({method for found in runs.values() for method in found})
    ranks: dict[str, list[list[float]]] = {method: [[] for _ in marks] for method in methods}
    for found in runs.values():
        seeds = common(found[m] for m in methods) if set(found) == set(methods) else []
        for place, mark in enumerate(marks if seeds else ()):
            scores = {m: column(found[m], f"regret_{mark}", seeds).tolist() for m in methods}
            for method, rank in stats.ranks(scores).items():
                ranks[method][place].append(rank)
    lines = [(m, *(f"{np.mean(each):.2f}" for each in ranks[m]), str(len(ranks[m][0]))) for m in methods if ranks[m][0]]
    lines.sort(key=lambda line: float(line[-2]))
    return markdown(("method", *(f"at {m}" for m in marks), "problems"), lines)


def common(cells: "Sequence[Cell] | object") -> list[str]:
    """Return the seeds that all cells have."""
    return sorted(set.intersection(*(set(cell) for cell in cells)))  # type: ignore[attr-defined]


class Ratio(NamedTuple):
    """mean: the geometric mean over problems of the ratio of mean areas; won: share of pairs that the other loses."""

    each: dict[str, float]
    mean: float
    won: float
    pairs: int
    p: float


def areas(runs: Runs, until: int, against: str = OURS) -> str:
    """One line a method: above 1 its area is larger than ours, which is ahead in `behind` of the paired runs."""
    lines = []
    methods = sorted({method for found in runs.values() for method in found} - {against})
    for method in methods:
        both = {p: (f[method], f[against]) for p, f in runs.items() if method in f and against in f}
        if (ratio := compared(both, until)) is not None:
            each = [f"{ratio.each[p]:.2f}" if p in ratio.each else "" for p in runs]
            lines.append((method, f"{ratio.mean:.2f}", f"{ratio.won:.0%}", str(ratio.pairs), f"{ratio.p:.2g}", *each))
    return markdown(("method", "ratio", "behind", "pairs", "Wilcoxon", *runs), lines)


def compared(both: Mapping[str, tuple[Cell, Cell]], until: int) -> Ratio | None:
    """Return how the areas of a method compare with ours, by problem (theirs, ours), over the seeds that both have."""
    each, gaps = dict[str, float](), list[float]()
    for problem, (theirs, ours) in both.items():
        if seeds := common([theirs, ours]):
            a, b = (column(cell, f"area_{until}", seeds) for cell in (theirs, ours))
            each[problem] = float(_ratio(a.mean(), b.mean()))
            gaps += np.log(_ratio(a, b)).tolist()
    if not each:
        return None
    won = float(np.mean([(gap > 0) + (gap == 0) / 2 for gap in gaps]))
    return Ratio(each, float(np.exp(np.mean(np.log(list(each.values()))))), won, len(gaps), wilcoxon(gaps))


def wilcoxon(gaps: Sequence[float]) -> float:
    """Return the p of Wilcoxon's signed-rank test that gaps lie round 0, two-sided; 1 where all are 0."""
    from scipy.stats import wilcoxon as test

    return float(test(gaps).pvalue) if np.any(gaps) else 1.0


def own(runs: Runs, marks: Sequence[int]) -> str:
    """One line a method: the median over its runs, and over those of the problem where it was slowest."""
    lines = []
    for method in sorted({method for found in runs.values() for method in found}):
        cells = [found[method] for found in runs.values() if method in found]
        each = [[column(cell, f"own_ms_{m}") for cell in cells] for m in marks]
        shown = [(f"{np.median(np.concatenate(e)):.3g}", f"{max(np.median(c) for c in e):.3g}") for e in each]
        lines.append((method, *(cell for pair in shown for cell in pair)))
    return markdown(("method", *(f"{what} to {m}" for m in marks for what in ("median", "slowest"))), lines)


def _ratio(a: Floats, b: Floats) -> Floats:
    floor = LEAST * np.maximum(np.maximum(a, b), np.finfo(float).tiny)
    return np.maximum(a, floor) / np.maximum(b, floor)
