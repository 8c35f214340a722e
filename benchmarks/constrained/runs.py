"""How far does each method get under constraints, and along fronts, evaluation by evaluation?

    python -m benchmarks.constrained.runs --problems constrained --methods lamcts cobyla --seeds 0-9 --budget 500
    python -m benchmarks.constrained.runs --problems pareto --methods lamcts "nsga2 20" --seeds 0-9 --budget 500
    python -m benchmarks.constrained.runs --problems "biobj-f*-i11-5" --methods lamcts "optuna gp" --seeds 0 --budget 50
    python -m benchmarks.constrained.runs --table --problems constrained pareto --seeds 0-9 [--budget 100]

Each seed places a problem elsewhere (`measured_problems`), the same for every method. Rows go to results/measured.csv.
`at_100` is, of one objective, the best value within the constraints after 100 evaluations, empty where there is none;
of several the hypervolume from the problem's reference point, of what is within the constraints. `feasible` counts
evaluations that break no constraint, without any tolerance, `first_feasible` is the number of the first; `own_ms` are
the method's own CPU milliseconds an evaluation. Rows of `--as NAME` keep code apart that is about to change.
"""

from argparse import ArgumentParser
from contextlib import suppress
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from benchmarks.constrained import measured_problems as mp
from benchmarks.harness import comparison, script
from benchmarks.harness.comparison import KEY, Case, Comparison
from benchmarks.harness.measured import MeasuredSearch
from benchmarks.harness.search import Enough
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.peers import Run
from benchmarks.peers import measured as peers

MARKS = (10, 20, 25, 50, 100, 200, 500, 1000, 2000)  # evaluations
WARM = 24  # evaluations of a run before the run, which loads what the method loads
SETS = {"constrained": list(mp.CONSTRAINED), "pareto": list(mp.PARETO)}  # problems by a word for all of them
METHODS = ("lamcts", "random", "cobyla", "nsga2 20")  # where --methods names none


CELLS = ("first_feasible", "feasible", "own_ms", "evaluations", "versions")
COLUMNS = (*KEY, *(f"at_{m}" for m in MARKS), *CELLS)


def main() -> None:
    parts = Comparison("benchmarks.constrained.runs", COLUMNS, METHODS, asked, cases, measure, tables)
    parts.main(options(), problems=list(mp.SMOKE), methods=["lamcts", "random", "cobyla"], seeds=[0], budget=25)


def options() -> ArgumentParser:
    """Return the parser of the command line."""
    given = script.parser(__doc__, "measured.csv", "three methods on two problems of two parameters")
    out_of = f"{', '.join(SETS)}, or out of {', '.join(mp.ALL)}"
    comparison.add_options(given, "0-4", list(SETS), out_of, ", ".join(peers.PEERS), 500)
    return given


def asked(words: list[str]) -> list[str]:
    """Return the problems that words such as "constrained", "pareto" and names say; f* are all functions of COCO's."""
    return [name for word in comparison.named(words, SETS) for name in mp.coco.names(word)]


def cases(arguments: Any) -> list[Case]:
    """Return the runs that are asked for, seed by seed, so that they may be stopped at any; say what is left out."""
    methods = [name for name in arguments.methods or METHODS if there(name)]
    fits = [(name, method) for name in asked(arguments.problems) if possible(name) for method in methods]
    fits = [(name, method) for name, method in fits if not peers.unfit(method, mp.make(name, 0))]
    each, label = product(arguments.seeds, fits), arguments.label
    return [
        Case(label or method, name, arguments.batch, seed, arguments.budget, method) for seed, (name, method) in each
    ]


def there(method: str) -> bool:
    """Return whether a method's package is there; say which is not."""
    package = peers.missing(method)
    if package:
        print(f"skipped {method}: it needs the package {package!r}", flush=True)
    return not package


def possible(problem: str) -> bool:
    """Return whether a problem's table is there; say which is not."""
    lack = mp.lacking(problem)
    if lack:
        print(f"skipped {problem}: {lack}", flush=True)
    return not lack


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    problem = mp.make(case.problem, case.seed)
    warm(case.runs, "gramacy" if len(problem.objectives) == 1 else "bnh", case.batch)
    search = MeasuredSearch(problem, case.seed, case.budget, case.batch)
    finished(peers.load(case.runs), search)
    package = peers.find(case.runs).package
    made = versions([*OURS, "moocore", *([package] if package else [])])
    row = {name: getattr(case, name) for name in KEY} | told(search)
    return row | {"versions": f"commit {commit()} {made}"}, None


@cache
def warm(method: str, problem: str, batch: int) -> None:
    """Run a method once on a small problem: it loads what the method loads, so that own seconds hold work only."""
    finished(peers.load(method), MeasuredSearch(mp.make(problem, 0), 0, WARM, batch))


def finished(method: Run, search: MeasuredSearch) -> None:
    """Run a method to the end of its budget; RuntimeError where it stops before."""
    with suppress(Enough):
        method(search)
    if search.left:
        raise RuntimeError(f"expected {search.budget} evaluations, got {len(search.told)}: the method stopped early")
    search.finish()


def told(search: MeasuredSearch) -> dict[str, Any]:
    """Return the cells of a finished run."""
    course, feasible = search.course(), search.found.feasible
    n = len(course)
    sign = float(search.goals.signs[0]) if len(search.goals.objectives) == 1 else 1.0
    row: dict[str, Any] = {
        f"at_{m}": f"{sign * course[m - 1]:.10g}" for m in MARKS if m <= n and np.isfinite(course[m - 1])
    }
    row |= {"first_feasible": int(feasible.argmax()) + 1} if feasible.any() else {}
    own = f"{1e3 * search.own_total / n:.4g}"
    return row | {"feasible": int(feasible.sum()), "own_ms": own, "evaluations": n}


def tables(rows: comparison.Rows, arguments: Any) -> str:
    """Return the tables of these rows."""
    from benchmarks.tables import measured

    return measured.tables(rows, arguments.budget, arguments.against)


if __name__ == "__main__":
    main()
