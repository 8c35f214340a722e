"""Is REINFORCE (thesis 2.2.2; Zoph and Le 2017) better than random search on tables of networks?

    python -m benchmarks.neural.nas.reinforce [--seeds 0-9] [--jobs 1] [--methods ...] [--data ...] [--table]

A sample is a different network. The value is what `lamcts nas` searches, per cent: the mean test accuracy on CIFAR-10
of `nasbench201`, and the mean validation accuracy of `digits4096`. `gap_n`: percentage points between the best value of
the table and the best of the first n samples. LaNAS starts with a fifth of the budget, as from the command line. The
settings of REINFORCE are its defaults, which were not tuned on these tables. Rows go to results/reinforce.csv; the
data's folder is LAMCTS_DATA.
"""

import statistics
import time
from functools import cache
from typing import Any, NamedTuple

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import versions
from lamcts import objectives, samplers
from lamcts.neural.searches import lanas
from lamcts.neural.searches.reinforce import Reinforce

MARKS = (50, 100, 200, 300)  # samples
METHODS = ("random", "evolution", "lanas", "reinforce", "default")
ALONE = {"random": samplers.Uniform(), "evolution": samplers.Mutate(), "reinforce": Reinforce()}  # without a tree
DATA = ("nasbench201", "digits4096")
FIRST_SHARE = 5  # evaluations for each random network at the start of LaNAS, a fifth of the budget


class Case(NamedTuple):
    """One run; its fields are the key of its row."""

    method: str
    data: str
    budget: int
    seed: int


GAPS = tuple(f"gap_{m}" for m in MARKS)
COLUMNS = (*Case._fields, *GAPS, "optimum", "own_s", "versions")


def main() -> None:
    given = script.parser(__doc__, "reinforce.csv", "thirty samples of digits4096 by two methods")
    script.many(given, "0-9")
    given.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    given.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    given.add_argument("--budget", type=int, default=MARKS[-1], help="samples of a run")
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there, run nothing")
    smoke = {"seeds": [0], "data": ["digits4096"], "methods": ["random", "reinforce"], "budget": 50}
    arguments = script.parsed(given, **smoke)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    cases = [
        Case(method, data, arguments.budget, seed)
        for seed in arguments.seeds
        for data in arguments.data
        for method in arguments.methods
    ]
    if not arguments.table:
        script.record(cases, sheet, "benchmarks.neural.nas.reinforce:measured", arguments.jobs)
    show(sheet.rows())


@cache
def table(data: str) -> Any:
    return objectives.make(data)


def measured(method: str, data: str, budget: int, seed: int) -> Result:
    """Return the row of a run."""
    case = Case(method, data, budget, seed)
    f, begin = table(case.data), time.process_time()
    found = lamcts.maximize(f, f.space, budget=case.budget, seed=case.seed, **settings(case))
    own = time.process_time() - begin
    values = [float(row["value"]) for row in found.rows()]
    row = case._asdict() | {f"gap_{m}": f"{f.optimum - max(values[:m]):.4f}" for m in MARKS if m <= case.budget}
    row |= {"optimum": f"{f.optimum:.4f}", "own_s": f"{own:.1f}"}
    return row | {"versions": versions(["lamcts", "numpy"])}, None


def settings(case: Case) -> dict[str, Any]:
    """Return the settings of the optimizer for a method."""
    if case.method == "lanas":
        first = max(1, case.budget // FIRST_SHARE)
        return lanas.improved(first=first, selects=max(1, first * lanas.SELECTS // lanas.FIRST))
    if case.method == "default":
        return {}
    return {"sampler": ALONE[case.method]}


def show(rows: list[dict[str, str]]) -> None:
    """Print the mean gap of each method on each table."""
    for data, budget in sorted({(row["data"], row["budget"]) for row in rows}):
        print(f"\n{data}, {budget} samples: mean gap to the best of the table, percentage points")
        marks = [m for m in MARKS if m <= int(budget)]
        print(f"{'':12}{'runs':>5}" + "".join(f"{m:>9}" for m in marks) + f"{'own s':>9}")
        for method in METHODS:
            if mine := [r for r in rows if (r["method"], r["data"], r["budget"]) == (method, data, budget)]:
                gaps = "".join(f"{mean(mine, f'gap_{m}'):9.3f}" for m in marks)
                print(f"{method:12}{len(mine):5}{gaps}{mean(mine, 'own_s'):9.1f}")


def mean(rows: list[dict[str, str]], column: str) -> float:
    return statistics.mean(float(row[column]) for row in rows)


if __name__ == "__main__":
    main()
