"""How far does each method get on models of scikit-learn in 16 rounds of 8 proposals?

    python -m benchmarks.challenge.runs --methods lamcts random "lamcts turbo, no tree" tpe --here
    python -m benchmarks.challenge.runs --problems shared --methods "optuna gp" smac hebo --seeds 0-4 --here
    python -m benchmarks.challenge.runs --table

The setting of the NeurIPS 2020 black-box optimisation challenge (thesis 9.6; Turner et al. 2021): mixed spaces, 16
rounds, batches of 8. `models` has the problems; methods see categories, integers and scales as they are
(`benchmarks.peers.native`). Rows go to results/challenge.csv: the best loss after some rounds, the median loss of the
run, and the optimiser's own CPU seconds. `--table` prints scores, ranks and Wilcoxon's signed-rank test.
"""

from argparse import ArgumentParser
from contextlib import suppress
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from benchmarks.challenge import models, score
from benchmarks.harness import comparison, script
from benchmarks.harness.comparison import KEY, Case, Comparison
from benchmarks.harness.search import Enough, Search
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.peers import native

BATCH, ROUNDS = 8, 16
METHODS = ("lamcts", "random", "lamcts turbo, no tree", "tpe", "optuna gp", "smac", "hebo")
COLUMNS = (*KEY, *(f"best_{m}" for m in score.MARKS), "median", "own_seconds", "distinct", "versions")
WARM = 24  # evaluations of a run before the run, which loads what the method loads


def main() -> None:
    parts = Comparison("benchmarks.challenge.runs", COLUMNS, METHODS, asked, cases, measure, tables)
    quick = {"problems": ["tree-diabetes-mse"], "methods": ["lamcts", "random"], "seeds": [0]}
    parts.main(options(), budget=2 * BATCH, **quick)


def options() -> ArgumentParser:
    """Return the parser of the command line."""
    given = script.parser(__doc__, "challenge.csv", "two rounds of a decision tree")
    out_of = f"all, shared, or such as {', '.join(models.PROBLEMS)}"
    comparison.add_options(given, "0-9", ["all"], out_of, ", ".join(native.NATIVE), BATCH * ROUNDS)
    given.set_defaults(batch=BATCH)
    return given


def asked(words: list[str]) -> list[str]:
    """Return the problems of words such as "all", "shared" and names."""
    return comparison.named(words, {"all": models.PROBLEMS, "shared": models.SHARED})


def cases(arguments: Any) -> list[Case]:
    """Return the runs, seed by seed, so that they may be stopped at any; report methods without their package."""
    methods = arguments.methods or METHODS
    lacks = {name: native.missing(name) for name in methods}
    for name, lack in lacks.items():
        if lack:
            print(f"skipped {name}: {lack} is not installed", flush=True)
    there = [name for name in methods if not lacks[name]]
    label, batch, budget = arguments.label, arguments.batch, arguments.budget
    each = product(arguments.seeds, asked(arguments.problems), there)
    return [Case(label or method, name, batch, seed, budget, method) for seed, name, method in each]


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    warm(case.runs)
    search = Search(models.find(case.problem), case.seed, case.budget, case.batch)
    finished(native.load(case.runs), search)
    best = np.minimum.accumulate(search.values)
    row = {name: getattr(case, name) for name in KEY}
    row |= {f"best_{m}": f"{best[m - 1]:.10g}" for m in score.MARKS if m <= case.budget}
    row |= {"median": f"{np.median(search.values):.10g}", "distinct": len(set(search.values))}
    package = native.find(case.runs).package
    made = versions([*OURS, *([package] if package else [])])
    return row | {"own_seconds": f"{search.own_total:.3g}", "versions": f"commit {commit()} {made}"}, None


@cache
def warm(method: str) -> None:
    """Run a method once, small: it loads what the method loads, so that own seconds hold work only."""
    finished(native.load(method), Search(models.find("tree-diabetes-mse"), 0, WARM, BATCH))


def finished(method: native.Run, search: Search) -> None:
    with suppress(Enough):
        method(search)
    search.finish()


def tables(rows: comparison.Rows, arguments: Any) -> str:
    """Return the tables of these rows: all problems, then those that slow methods ran too."""
    marks = [m for m in score.MARKS if m <= arguments.budget]
    return score.tables(rows, marks, arguments.against)


if __name__ == "__main__":
    main()
