"""The tables of `python -m benchmarks.constrained.runs --table`: medians, and pairs by seed.

Errors can be compared between problems: of one objective the error relative to the optimum (absolute where that is 0),
of several the hypervolume that is missing. Both are shown as log10. A run without a feasible point is behind every
other. Letters: s seeds.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.constrained import measured_problems as mp
from benchmarks.tables import stats
from benchmarks.tables.discrete import common, wilcoxon
from benchmarks.tables.markdown import markdown

Row = dict[str, str]
Cell = dict[str, Row]  # rows by seed
Runs = dict[str, dict[str, Cell]]  # by problem, then by method
Floats = NDArray[np.float64]

OURS = "lamcts"
MARKS = (10, 20, 25, 50, 100, 200, 500, 1000, 2000)  # the columns of the rows
RANKED = (10, 20, 50, 100, 200, 500)  # the marks of COCO's suites
SHOWN = (50, 100, 200, 500, 1000, 2000)
EXACT = 1e-10  # the least error that is told from none: rows hold ten digits
INFEASIBLE = 10.0  # log10 of an error that no feasible run has


def tables(rows: Sequence[Row], budget: int, against: str = OURS) -> str:
    """Return all tables of rows with a mark within `budget`, "" where there is nothing to tell."""
    runs = runs_by_problem(rows)
    parts = [
        ("Medians after so many evaluations", reached(runs, budget)),
        (f"Errors beside those of {against}, paired by seed", beside(runs, budget, against)),
        ("Own milliseconds an evaluation", own(runs)),
        ("COCO's suites: mean ranks after so many evaluations, and own milliseconds", ranked(rows, budget)),
    ]
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts if text)


def runs_by_problem(rows: Sequence[Row]) -> Runs:
    """Return the rows by problem, method and seed; of several budgets the largest counts."""
    found: Runs = defaultdict(lambda: defaultdict(dict))
    for row in sorted(rows, key=lambda row: int(row["budget"])):
        found[row["problem"]][row["method"]][row["seed"]] = row
    return {problem: dict(found[problem]) for problem in mp.ALL if problem in found}


def within(cell: Cell, budget: int) -> list[int]:
    """Return the marks up to `budget` that all rows of a cell reach."""
    return [m for m in MARKS if m <= min(budget, *(int(row["evaluations"]) for row in cell.values()))]


def column(cell: Cell, name: str, seeds: Sequence[str] | None = None) -> Floats:
    """Return a column of the rows of these seeds, of all where none are given, [s]; infinite where it is empty."""
    return np.array([float(cell[seed].get(name) or np.inf) for seed in (sorted(cell) if seeds is None else seeds)])


def errors(problem: str, cell: Cell, mark: int, seeds: Sequence[str] | None = None) -> Floats:
    """Return log10 of the errors after `mark` evaluations, [s]."""
    known, values = mp.make(problem, 0), column(cell, f"at_{mark}", seeds)
    if len(known.objectives) > 1:
        missing = known.hypervolume - values
    else:
        missing = (values - known.optimum) / (abs(known.optimum) or 1.0)
    return np.minimum(np.log10(np.maximum(missing, EXACT)), INFEASIBLE)


def reached(runs: Runs, budget: int) -> str:
    """One line for each problem and method: medians at the marks, the error at the last, the first feasible."""
    marks = [m for m in SHOWN if m <= budget] or list(MARKS[:1])
    lines = []
    for problem, methods in runs.items():
        for method, cell in methods.items():
            there = within(cell, budget)
            cells = [_digits(np.median(column(cell, f"at_{m}"))) if m in there else "" for m in marks]
            last = f"{np.median(errors(problem, cell, there[-1])):.2f}" if there else ""
            first = _digits(np.median(column(cell, "first_feasible")))
            share = np.median(column(cell, "feasible") / column(cell, "evaluations"))
            lines.append((problem, method, *cells, last, first, f"{share:.0%}", str(len(cell))))
    header = ("problem", "method", *(f"at {m}" for m in marks), "log10 error", "first feasible", "feasible", "seeds")
    return markdown(header, lines)


def beside(runs: Runs, budget: int, against: str = OURS) -> str:
    """One line a method: the median of log10 of its error over ours, at the last mark of both, and Wilcoxon's test."""
    lines = []
    methods = sorted({method for found in runs.values() for method in found} - {against})
    for method in methods:
        both = {p: (f[method], f[against]) for p, f in runs.items() if method in f and against in f}
        each = {problem: gaps(problem, *pair, budget) for problem, pair in both.items()}
        if all_gaps := [gap for found in each.values() for gap in found]:
            behind = np.mean([(gap > 0) + (gap == 0) / 2 for gap in all_gaps])
            medians = [_median(each.get(problem, [])) for problem in runs]
            line = (f"{np.median(all_gaps):+.2f}", f"{behind:.0%}", str(len(all_gaps)), f"{wilcoxon(all_gaps):.2g}")
            lines.append((method, *line, *medians))
    return markdown(("method", "median", "behind", "pairs", "Wilcoxon", *runs), lines)


def gaps(problem: str, theirs: Cell, ours: Cell, budget: int) -> list[float]:
    """Return their log10 errors less ours over the seeds that both have, at the last mark that both reached."""
    marks, seeds = sorted(set(within(theirs, budget)) & set(within(ours, budget))), common([theirs, ours])
    if not marks or not seeds:
        return []
    a, b = (errors(problem, cell, marks[-1], seeds) for cell in (theirs, ours))
    return [float(gap) for gap in a - b]


def own(runs: Mapping[str, Mapping[str, Cell]]) -> str:
    """One line a method: the median over its runs, and over those of the problem where it was slowest."""
    lines = []
    for method in sorted({method for found in runs.values() for method in found}):
        cells = [column(found[method], "own_ms") for found in runs.values() if method in found]
        slowest = max(float(np.median(cell)) for cell in cells)
        lines.append((method, f"{np.median(np.concatenate(cells)):.3g}", f"{slowest:.3g}"))
    return markdown(("method", "median", "slowest problem"), lines)


def ranked(rows: Sequence[Row], budget: int) -> str:
    """One line for each suite, dimension and method, over the problems and seeds that all methods reached a mark on."""
    found: dict[tuple[str, str], dict[str, Cell]] = defaultdict(lambda: defaultdict(dict))
    for row in sorted(rows, key=lambda row: int(row["budget"])):
        if name := mp.coco.NAME.fullmatch(row["problem"]):
            found[name["suite"], name["dim"]][row["method"]][f"{row['problem']} {row['seed']}"] = row
    lines = []
    for (suite, dim), cells in sorted(found.items(), key=lambda item: (item[0][0], int(item[0][1]))):
        keys = common([*cells.values()])
        marks = [m for m in RANKED if all(m in within(cell, budget) for cell in cells.values())]
        sign = -1 if suite == "biobj" else 1
        scores = {m: {name: sign * column(cell, f"at_{m}", keys) for name, cell in cells.items()} for m in marks}
        ranks = {m: stats.ranks(at) for m, at in scores.items()}
        for name, cell in cells.items():
            at = [f"{ranks[m][name]:.2f}" if m in ranks else "" for m in RANKED]
            lines.append((suite, dim, str(len(keys)), name, *at, f"{np.median(column(cell, 'own_ms')):.3g}"))
    return markdown(("suite", "d", "runs", "method", *map(str, RANKED), "own ms"), lines) if lines else ""


def _median(found: Sequence[float]) -> str:
    return f"{stats.quartiles(found)[1]:+.2f}" if len(found) else ""


def _digits(value: float) -> str:
    return f"{value:.6g}" if np.isfinite(value) else "none"
