"""How far does each method get on categories, integers and mixed spaces, evaluation by evaluation?

    python -m benchmarks.discrete.runs --problems tune --methods lamcts "local search" --seeds 0-9 --budget 100
    python -m benchmarks.discrete.runs --methods lamcts --as "lamcts 0.1"  # rows that a later default leaves alone
    python -m benchmarks.discrete.runs --table --problems judge --seeds 100-149 --budget 300

Each seed hides the optimum elsewhere (`discrete_problems`), the same for every method. Rows go to results/discrete.csv.
Regret is measured from the optimum, where that is not known from the problem's bound. `area_100` is the mean regret
over evaluations 11 to 100, `hit` the evaluation that reached the optimum, `own_ms_100` the optimiser's own CPU
milliseconds an evaluation up to 100, `distinct` how many different values were seen: the same network has the same.
Until the first success, regret is that of the first success. Problems of networks need their tables in the folder
LAMCTS_DATA; those that are not there are skipped, with a word.

Integers and ordered options keep their order for every method; a failed evaluation (nan) is told as each takes it.
"""

from argparse import ArgumentParser
from contextlib import suppress
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.discrete import discrete_problems as dp
from benchmarks.harness import comparison, script
from benchmarks.harness.comparison import KEY, Case, Comparison
from benchmarks.harness.search import Enough, Search
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.peers import native

Floats = NDArray[np.float64]

MARKS = (10, 20, 30, 60, 100, 150, 200, 300)  # evaluations after which regret is kept: closer where it falls fast
AREAS = (100, 300)  # evaluations: the budgets of the tables
BEFORE_AREA = 10  # evaluations that no area counts: any method's random start
WARM = 48  # evaluations of a run before the run, which loads what the method loads
# Where --methods names none: the default, and one peer of each kind.
PEERS = ("lamcts", "random", "local search", "evolution", "tpe")


COLUMNS = (
    *KEY,
    *(f"regret_{m}" for m in MARKS),
    "hit",
    *(f"area_{m}" for m in AREAS),
    *(f"own_ms_{m}" for m in AREAS),
    "evaluations",
    "failures",
    "distinct",
    "versions",
)


def main() -> None:
    parts = Comparison("benchmarks.discrete.runs", COLUMNS, PEERS, asked, cases, measure, tables)
    parts.main(options(), problems=["onemax"], methods=["lamcts", "local search"], seeds=[0], budget=24)


def options() -> ArgumentParser:
    """Return the parser of the command line."""
    given = script.parser(__doc__, "discrete.csv", "two methods on eight bits")
    out_of = f"tune, judge, models, or out of {', '.join(dp.ALL)}"
    comparison.add_options(given, "0-9", ["tune"], out_of, ", ".join(native.NATIVE), 300)
    return given


def cases(arguments: Any) -> list[Case]:
    """Return the runs that are asked for, seed by seed, so that they may be stopped at any; say what is left out."""
    lacks = {name: dp.lacking(name) for name in asked(arguments.problems)}
    for name, lack in lacks.items():
        if lack:
            print(f"skipped {name}: {lack}", flush=True)
    methods = arguments.methods or PEERS
    for method in methods:
        native.load(method)  # what is missing is said before anything runs
    each = product(arguments.seeds, (name for name, lack in lacks.items() if not lack), methods)
    label, batch, budget = arguments.label, arguments.batch, arguments.budget
    return [Case(label or method, name, batch, seed, budget, method) for seed, name, method in each]


def asked(words: list[str]) -> list[str]:
    """Return the problems that words such as "tune", "judge" and names say."""
    return comparison.named(words, {"tune": dp.TUNE, "judge": dp.JUDGE, "models": dp.MODELS})


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    warm(case.runs)
    search = Search(dp.make(case.problem, case.seed), case.seed, case.budget, case.batch)
    finished(native.load(case.runs), search)
    row = {name: getattr(case, name) for name in KEY} | told(search, case.budget)
    package = native.find(case.runs).package
    made = versions([*OURS, *([package] if package else [])])
    return row | {"versions": f"commit {commit()} {made}"}, None


@cache
def warm(method: str) -> None:
    """Run a method once, small: it loads what the method loads, so that own seconds hold work only."""
    finished(native.load(method), Search(dp.make("onemax", 0), 0, WARM))


def finished(method: native.Run, search: Search) -> None:
    """Run a method to the end of its budget, or of its space."""
    with suppress(Enough):
        method(search)
    search.finish()


def told(search: Search, budget: int) -> dict[str, Any]:
    """Return the cells of a finished run."""
    regrets = curve(search, budget)
    hit = np.flatnonzero(regrets <= search.objective.close) if search.objective.optimum is not None else ()
    row = {f"regret_{m}": f"{regrets[m - 1]:.6g}" for m in MARKS if m <= budget}
    row |= {"hit": int(hit[0]) + 1} if len(hit) else {}
    row |= {f"area_{m}": f"{area(regrets, m):.6g}" for m in AREAS if m <= budget}
    row |= {f"own_ms_{m}": f"{own_ms(search, m):.4g}" for m in AREAS if m <= budget}
    values = np.array(search.values)
    failed = np.isnan(values)
    counts = {"failures": int(failed.sum()), "distinct": len(np.unique(values[~failed]))}
    return row | {"evaluations": len(values)} | counts


def curve(search: Search, budget: int) -> Floats:
    """Return the best regret after each evaluation, [budget]; where the space was used up, the last one goes on."""
    sign = -1 if search.objective.maximize else 1
    each = np.array([dp.regret(search.objective, sign * loss) for loss in search.values])
    if np.isnan(each).all():
        raise RuntimeError(f"none of {len(each)} evaluations succeeded")
    best = np.fmin.accumulate(each)
    best[np.isnan(best)] = each[~np.isnan(each)][0]
    return np.append(best, np.full(budget - len(best), best[-1]))


def area(regrets: Floats, until: int) -> float:
    """Return the mean regret over evaluations 11 to `until`."""
    return float(regrets[BEFORE_AREA:until].mean())


def own_ms(search: Search, until: int) -> float:
    """Return the own milliseconds an evaluation over the first `until`."""
    n = min(until, len(search.own))
    seconds = search.own[n] if n < len(search.own) else search.own_total
    return 1e3 * seconds / n


def tables(rows: comparison.Rows, arguments: Any) -> str:
    """Return the tables of these rows."""
    from benchmarks.tables import discrete

    return discrete.tables(rows, arguments.budget, arguments.against)


if __name__ == "__main__":
    main()
