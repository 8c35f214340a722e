"""Curves of many methods on some problems, from the rows and curves that benchmarks.run has written.

Nothing is run here. A method's curve is made of its runs of one budget, that of the most seeds; it begins where all of
them have a value. Ours and the predecessors are drawn in colour, and as many peers as colours are left, those of the
best mean rank of their last medians; the others are thin and grey.
"""

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import plan, problems
from benchmarks.figures import sheets
from benchmarks.figures.sheets import FIGURES, Floats
from benchmarks.harness import script
from benchmarks.harness.ledger import RUNS, Ledger
from benchmarks.harness.task import Curve, Key, Task
from benchmarks.peers import FENCED, OURS, PAPER
from benchmarks.tables import stats
from lamcts.plot.canvas import COLOURS, FAINT

LEADERS = ("lamcts@1", "lamcts@10", "reference LaMCTS-TuRBO@1", "reference TuRBO-1@10")
ALONE = "lamcts turbo, no tree@"
POINTS = 300  # of a curve: finer than a panel shows


class Runs(NamedTuple):
    """The runs of one method: `values` [r, k] after `n` [k] evaluations; regrets where the optimum is known."""

    n: Floats
    values: Floats

    @property
    def last(self) -> float:
        return float(np.median(self.values[:, -1]))


Panels = dict[str, dict[str, Runs]]  # by problem, then by METHOD@BATCH


@dataclass(frozen=True)
class Comparison:
    """A figure: its file, title, problems, and panels to a line. unit: of the value, where no optimum is known."""

    name: str
    title: str
    problems: tuple[str, ...]
    columns: int
    unit: str = "best value so far"


def main(figure: Comparison, about: str | None) -> None:
    arguments = parsed(about, figure.problems)
    found, columns = peers_only(panels_of(arguments)), figure.columns
    if not found:
        return
    kept = [problems.find(name) for name in arguments.problems if name in found]
    looks = looks_of(found)
    lines = -(-len(kept) // columns)
    columns = min(columns, len(kept))
    sheet, grid = sheets.panels(lines, columns, max(3.0 * columns + 0.6, 5.4), 2.7 * lines + 1.5)
    for axes in grid.flat[len(kept) :]:
        axes.set_visible(False)
    for problem, axes in zip(kept, grid.flat, strict=False):
        for method in sorted(found[problem.name], key=list(looks).index):  # the order of the legend
            runs, how = found[problem.name][method], looks[method]
            sheets.draw(axes, runs.n, runs.values, shown(method) if how.band else "", how)
        sheets.named(
            axes, problem.name if problem.span is None else f"{problem.name}, d = {problem.dim}", "evaluations"
        )
        dress(axes, problem, figure.unit)
    for line in grid:
        if problems.find(kept[0].name).span is None:
            line[0].set_ylabel("regret of the best so far", fontsize=9)
    grey = [shown(method) for method, how in looks.items() if not how.band]
    note = "median and quartiles over seeds; @10: in batches of 10" + (f"; grey: {', '.join(grey)}" if grey else "")
    title = figure.title + (", rotated" if arguments.rotated else "")
    path = arguments.out / f"{figure.name}{arguments.suffix}.png"
    sheets.finish(sheet, title, path, columns, note)


def parsed(about: str | None, names: Sequence[str]) -> argparse.Namespace:
    """Return the arguments that all figures of runs take."""
    given = script.parser(about, FIGURES, "the short runs of results/timings, a temporary folder")
    given.add_argument("--problems", nargs="+", default=list(names), metavar="NAME")
    given.add_argument("--rotated", action="store_true", help="NAME-rotated in place of each problem NAME")
    given.add_argument("--seeds", nargs="+", default=["table"], help="as in benchmarks.run")
    given.add_argument("--runs", type=Path, default=RUNS, metavar="DIR")
    arguments = script.parsed(given, runs=plan.TIMINGS, seeds=["0"])
    arguments.suffix = "-rotated" if arguments.rotated else ""
    arguments.problems = [name + arguments.suffix for name in arguments.problems]
    try:
        for name in arguments.problems:
            problems.find(name)
    except ValueError as error:
        given.error(str(error))
    return arguments


def panels_of(arguments: argparse.Namespace) -> Panels:
    """Return the runs that are there, and say what is missing of the plan."""
    ledger = Ledger(arguments.runs)
    rows = ledger.rows()
    found = read(rows, ledger.curves(), arguments.problems, arguments.seeds)
    wanted = [task for task in plan.tasks() if task.problem in arguments.problems and task.seed in arguments.seeds]
    for line in missing(wanted, rows):
        print(line)
    for name in (name for name in arguments.problems if name not in found):
        print(f"no curve of {name} yet: left out")
    if not found:
        print(f"nothing to draw: no finished run of these problems in {arguments.runs.name}")
    return found


def trees(method: str) -> bool:
    """Return whether it is one of our samplers, with or without the tree."""
    return bool(OURS.match(method)) or FENCED in method or PAPER in method


def peers_only(found: Panels) -> Panels:
    """Leave out our samplers with and without the tree, which are meta.py's, but for TuRBO alone."""
    result = {}
    for name, methods in found.items():
        kept = {m: runs for m, runs in methods.items() if m.startswith(ALONE) or not trees(m)}
        result |= {name: kept} if kept else {}
    return result


def read(
    rows: Mapping[Key, dict[str, str]],
    curves: Mapping[Key, Curve],
    names: Iterable[str],
    seeds: Iterable[int],
) -> Panels:
    """Return the good runs of these problems and seeds, each method at the budget of the most seeds."""
    cells: dict[tuple[str, str], dict[int, list[tuple[list[int], list[float]]]]] = {}
    wanted, named = set(seeds), set(names)
    for key, row in rows.items():
        if row["status"] == "ok" and row["problem"] in named and int(row["seed"]) in wanted and key in curves:
            cell = cells.setdefault((row["problem"], f"{row['method']}@{row['batch']}"), {})
            optimum = float(row["optimum"]) if row["optimum"] else None
            best = [_regret(value, optimum) for value in curves[key]["best"]]
            cell.setdefault(int(row["budget"]), []).append((curves[key]["n"], best))
    found: Panels = {}
    for (problem, method), budgets in cells.items():
        budget = max(budgets, key=lambda b: (len(budgets[b]), b))
        n = np.unique(np.linspace(1, budget, POINTS).round())
        found.setdefault(problem, {})[method] = Runs(n, np.array([stepped(*run, n) for run in budgets[budget]]))
    return found


def stepped(at: Sequence[int], best: Sequence[float], n: Floats) -> Floats:
    """Return the best after each of `n` [k] evaluations of a curve that improves at `at`; nan before the first."""
    place = np.searchsorted(np.asarray(at), n, side="right")
    return np.array([math.nan, *best])[place]


def _regret(value: float, optimum: float | None) -> float:
    return value if optimum is None else max(abs(value - optimum), problems.SMALLEST_REGRET)


def missing(wanted: Iterable[Task], rows: Mapping[Key, dict[str, str]]) -> list[str]:
    """Return one line for each problem of which planned runs have no good row yet."""
    counts: dict[str, dict[str, list[bool]]] = {}
    for task in wanted:
        done = rows.get(task.key, {}).get("status") == "ok"
        counts.setdefault(task.problem, {}).setdefault(f"{task.method}@{task.batch}", []).append(done)
    lines = []
    for problem, methods in counts.items():
        short = [f"{name} {sum(done)} of {len(done)}" for name, done in methods.items() if not all(done)]
        if short:
            lines.append(f"missing of {problem}: {', '.join(short)}")
    return lines


def looks_of(found: Panels) -> dict[str, sheets.Look]:
    """Return how each method is drawn: leaders first, then peers by the mean rank of their last medians."""
    places: dict[str, list[float]] = {}
    for name, methods in found.items():
        sign = -1.0 if problems.find(name).span is not None else 1.0  # scores by span are maximized
        for method, rank in stats.ranks({m: [sign * runs.last] for m, runs in methods.items()}).items():
            places.setdefault(method, []).append(rank)
    leaders = [name for name in LEADERS if name in places]
    others = sorted(places.keys() - set(leaders), key=lambda m: (np.mean(places[m]), m))
    ordered = [*leaders, *others]
    return {m: sheets.look(i) if i < len(COLOURS) else sheets.PLAIN for i, m in enumerate(ordered)}


def shown(method: str) -> str:
    """Return METHOD@BATCH for a legend: a batch of one goes without saying."""
    return method.removesuffix("@1")


def dress(axes: Any, problem: problems.Problem, unit: str) -> None:
    """Scale the value's axis: logarithms of regrets; for scores, the target, and no room for far worse than nothing."""
    if problem.span is None:
        sheets.logarithmic(axes)
        return
    low, high = problem.span
    axes.axhline(problem.target, color=FAINT, linestyle=(0, (1, 2)), linewidth=1.2, label="threshold or target")
    axes.set_ylim(bottom=max(axes.get_ylim()[0], low - 0.3 * (high - low)))
    axes.set_ylabel(unit, fontsize=8)
