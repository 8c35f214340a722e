"""The default in 60 to 1,000 dimensions next to its peers: mean ranks, and intervals of their differences.

    python -m benchmarks.optimizer.dimensions --dims 100 300 --methods lamcts "lamcts bo, no tree" cma random
    python -m benchmarks.optimizer.dimensions --as "lamcts 0.1" ...   rows of this default under another name
    python -m benchmarks.optimizer.dimensions --suite largescale --dims 80 320 ...
    python -m benchmarks.optimizer.dimensions --table --dims 100       tables of the rows that are there, run nothing

Suites: `development`, which decisions rest on, `claims` (other functions), and `largescale`, COCO's bbob-largescale at
instance indices 6 to 10 for decisions and 11 to 15 for claims, which needs the package coco-experiment. Draws of a
function are numbers from 0 on. Rows go to results/dimensions.csv, one a run; what is there is not run again. A score is
the best value after each of MARKS evaluations; a difference of mean ranks is taken between two methods alone.
"""

from argparse import ArgumentParser, Namespace
from collections import defaultdict
from typing import Any

import numpy as np

from benchmarks.harness import comparison, script
from benchmarks.harness import measure as one_run
from benchmarks.harness.comparison import KEY, Case
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result, Task
from benchmarks.optimizer.dimension_problems import CLAIMS, DEVELOPMENT
from benchmarks.optimizer.public import batch_size, filled, numbers
from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown

MARKS = (20, 50, 100, 200, 300, 500, 1000, 2000)
KINDS = {"development": list(DEVELOPMENT), "claims": list(CLAIMS)}
COLUMNS = (*KEY, "dim", *(f"best_{m}" for m in MARKS), "own_ms", "commit", "versions")


def main() -> None:
    smoke = {"dims": [10], "kinds": ["few_levy"], "numbers": ["0"], "budget": 20, "here": True}
    arguments = script.parsed(options(), **smoke)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.table:
        print("\n\n".join(tables(arguments, sheet.rows())))
        return
    comparison.record(arguments, cases(arguments), sheet, "benchmarks.optimizer.dimensions:measure", measure)


def options() -> ArgumentParser:
    given = script.parser(__doc__, "dimensions.csv", "one tiny run")
    given.add_argument("--suite", default="development", choices=(*KINDS, "largescale"))
    given.add_argument("--kinds", nargs="+", metavar="NAME", help="functions of the suite; default: all")
    given.add_argument("--numbers", nargs="+", default=["0"], help="draws such as 0-1; of largescale instance indices")
    given.add_argument("--dims", nargs="+", type=int, default=[100])
    given.add_argument("--methods", nargs="+", default=["lamcts"], metavar="NAME")
    given.add_argument("--as", dest="label", default="", help="what the rows of the one method are called")
    given.add_argument("--seeds", nargs="+", default=["0"])
    given.add_argument("--batch", type=int, default=1, help="of methods that take batches")
    given.add_argument("--budget", type=int, default=300)
    given.add_argument("--jobs", type=int, default=1)
    given.add_argument("--here", action="store_true", help="all runs in this process")
    given.add_argument("--table", action="store_true")
    given.add_argument("--each", action="store_true", help="of tables: also the values problem by problem")
    return given


def cases(arguments: Namespace) -> list[Case]:
    """Return the runs that are asked for, problem by problem."""
    called = {arguments.label or method: method for method in arguments.methods}
    return [
        Case(called_as, name, batch_size(method, arguments.batch), seed, arguments.budget, method)
        for dim in arguments.dims
        for name in names(arguments, dim)
        for seed in arguments.seeds
        for called_as, method in called.items()
    ]


def names(arguments: Namespace, dim: int) -> list[str]:
    """Return the problems of the suite in a dimension."""
    if arguments.suite == "largescale":
        functions = arguments.kinds or [f"f{k}" for k in range(1, 25)]
        return [f"largescale-{f}-i{i}-{dim}" for i in numbers(arguments.numbers) for f in functions]
    kinds = arguments.kinds or KINDS[arguments.suite]
    return [f"wide-{kind}-{number}-{dim}" for number in numbers(arguments.numbers) for kind in kinds]


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    row, curve = one_run.measure(**Task(case.runs, *case[1:-1])._asdict())
    best = filled(curve["n"], curve["best"], case.budget)
    row |= {f"best_{m}": f"{best[m - 1]:.8g}" for m in MARKS if m <= case.budget}
    row |= {"method": case.method}
    return {name: row[name] for name in COLUMNS if name in row}, None


def tables(arguments: Namespace, rows: list[dict[str, str]]) -> list[str]:
    """Return a table for each dimension, on the problems and seeds that all methods share."""
    seeds, found = set(map(str, arguments.seeds)), []
    for dim in arguments.dims:
        own: dict[str, dict[tuple[str, str], dict[str, str]]] = defaultdict(dict)
        asked = set(names(arguments, dim))
        for row in rows:
            shared = row["problem"] in asked and row["seed"] in seeds and row["budget"] == str(arguments.budget)
            if shared and row["batch"] == str(batch_size(row["method"], arguments.batch)):
                own[row["method"]][row["problem"], row["seed"]] = row
        order = [m for m in (arguments.methods if len(arguments.methods) > 1 else own) if m in own]
        keys = sorted(set.intersection(*(set(own[m]) for m in order))) if order else []
        if keys:
            found.append(table(f"d = {dim}", {m: [own[m][key] for key in keys] for m in order}, arguments))
    return found


def table(title: str, rows: dict[str, list[dict[str, str]]], arguments: Namespace) -> str:
    """Return mean ranks at the marks, 90 % intervals of their difference from the first method, and means of ranks."""
    marks = [m for m in MARKS if m <= arguments.budget]
    scores = {k: {m: np.array([float(row[f"best_{k}"]) for row in own]) for m, own in rows.items()} for k in marks}
    ranks = {k: stats.ranks({m: list(own) for m, own in scores[k].items()}) for k in marks}
    first, n = next(iter(rows)), len(next(iter(rows.values())))
    lines = []
    for m, own in rows.items():
        cells = [f"{ranks[k][m]:.2f}" + ("" if m == first else interval(scores[k][first], scores[k][m])) for k in marks]
        mean = f"{np.mean([ranks[k][m] for k in marks]):.2f}"
        lines.append((m, *cells, mean, f"{np.median([float(row['own_ms']) for row in own]):.1f}"))
    header = ("method", *(f"@{k}" for k in marks), "mean", "own ms")
    text = f"### {arguments.suite}, {title}: {n} runs, mean rank of {len(rows)}\n\n{markdown(header, lines)}"
    return text + (each(rows, marks) if arguments.each else "")


def interval(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Return the 90 % interval of the mean rank of two, theirs less ours, by a bootstrap over problems."""
    gap = np.where(ours == theirs, 0.0, np.sign(theirs - ours))
    means = gap[stats.resamples(len(gap))].mean(1)
    low, high = np.quantile(means, [0.05, 0.95])
    return f" ({low:+.2f} to {high:+.2f})"


def each(rows: dict[str, list[dict[str, str]]], marks: list[int]) -> str:
    """Return the values of every method, problem by problem."""
    lines = [
        (one[0]["problem"], *(" / ".join(f"{float(row[f'best_{m}']):.3g}" for m in marks) for row in one))
        for one in zip(*rows.values(), strict=True)
    ]
    return "\n\n" + markdown(("best at " + ", ".join(map(str, marks)), *rows), lines)


if __name__ == "__main__":
    main()
