"""Does a search get better if its first networks are the best by a zero-cost proxy? Evaluations to the best per cent.

    python -m benchmarks.neural.nas.first_by [--seeds 0-9] [--problems digits4096 ...] [--first default synflow ...]

A problem is a table: `digits4096`, or NAS-Bench-201 on one of its data sets (in the folder that LAMCTS_DATA names). The
search is the default of lamcts with a budget of 60. "default" starts as `lamcts nas` does, "random" with 10 networks of
that design, and a proxy with the best 10 of 1,000 random networks (`lamcts nas --first-by`). Seeds are paired: a seed
sets the search, and the draw of the 1,000. Proxies score untrained networks on scikit-learn's digits, whatever the
problem's data. `to_top` is the number of the first evaluation among the best per cent of the table, 61 if there was
none; `best_N` is the best value after N evaluations. Rows go to results/first_by.csv; about ten minutes of a core.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts import objectives
from lamcts.neural import nas
from lamcts.neural.nas.objective import TableObjective

DIGITS, PUBLISHED = "digits4096", "nasbench201"
PROBLEMS = (DIGITS, *(f"{PUBLISHED} {dataset}" for dataset in ("cifar10", "cifar100", "ImageNet16-120")))
PROXIES = ("parameters", "synflow", "naswot")
FIRST = ("default", "random", *PROXIES)
STARTS, BUDGET, AMONG = 10, 60, 1000
TOP = 0.99  # quantile of the table that counts as found
MARKS = (10, 30, 60)  # evaluations
SIZES = {DIGITS: {"widths": (8,), "cells": 1}, PUBLISHED: {"widths": (8, 16), "cells": 1}}  # as `lamcts nas`


class Case(NamedTuple):
    """One search; its fields are the key of its row."""

    problem: str
    first: str
    seed: int
    budget: int
    among: int


BESTS = tuple(f"best_{mark}" for mark in MARKS)
COLUMNS = (*Case._fields, "to_top", *BESTS, "versions")


def main() -> None:
    given = script.parser(__doc__, "first_by.csv", "one search of 12 evaluations, after 20 scores")
    script.many(given, "0-9")
    given.add_argument("--problems", nargs="+", default=PROBLEMS, choices=PROBLEMS)
    given.add_argument("--first", nargs="+", default=FIRST, choices=FIRST)
    given.add_argument("--budget", type=int, default=BUDGET)
    given.add_argument("--among", type=int, default=AMONG, help="networks that a proxy scores")
    arguments = script.parsed(given, seeds=[0], problems=[DIGITS], first=["parameters"], budget=12, among=20)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for problem in arguments.problems:
        for seed in arguments.seeds:
            for first in arguments.first:
                case = Case(problem, first, seed, arguments.budget, arguments.among)
                if sheet.wants(case):
                    sheet.record(measure(case))
    show(sheet.rows())


def measure(case: Case) -> dict[str, Any]:
    """Return the row of a case."""
    f = table_of(case.problem)
    settings: dict[str, Any] = {} if case.first == "default" else {"n_init": STARTS}
    if case.first in PROXIES:
        settings["x0"] = started(case)
    result = lamcts.maximize(f, f.space, budget=case.budget, seed=case.seed, progress=False, **settings)
    values = np.fmax.accumulate(np.asarray(result.history.values, float))
    found = np.flatnonzero(values >= np.nanquantile(f.searched, TOP))
    row: dict[str, Any] = {"to_top": int(found[0]) + 1 if len(found) else case.budget + 1}
    row |= {name: f"{values[min(mark, len(values)) - 1]:.4f}" for name, mark in zip(BESTS, MARKS, strict=True)}
    return case._asdict() | row | {"versions": versions(["lamcts", "numpy", "torch"])}


@cache
def table_of(problem: str) -> TableObjective:
    name, _, dataset = problem.partition(" ")
    made: Any = objectives.make(name, **({"dataset": dataset} if dataset else {}))
    return made  # type: ignore[no-any-return]


def started(case: Case) -> list[Any]:
    """Return the networks that a search starts with."""
    from lamcts.neural.proxies import first_networks

    scores: Any = remembered(table_of(case.problem).architectures.name, case.first)
    return first_networks(scores, STARTS, case.among, case.seed)


class Remembered:
    """A proxy that scores each network once; a network without a score has -inf."""

    def __init__(self, proxy: Any) -> None:
        self.proxy, self.architectures = proxy, proxy.architectures
        self.known: dict[str | None, float] = {}

    def __call__(self, point: Any) -> float:
        key = self.architectures.key(point)
        if key not in self.known:
            self.known[key] = self._score(point)
        return self.known[key]

    def _score(self, point: Any) -> float:
        try:
            return float(self.proxy(point))
        except RuntimeError:  # a network without a path from input to output
            return -math.inf


@cache
def remembered(space: str, proxy: str) -> Remembered:
    from lamcts.neural.proxies import ProxyObjective
    from lamcts.neural.train import digits

    made = nas.Digits4096() if space == DIGITS else nas.NasBench201()
    return Remembered(ProxyObjective(made, digits(), proxy, SIZES[made.name]))


def show(rows: list[dict[str, str]]) -> None:
    """Print medians over seeds, and how many seeds a start is earlier and later than the default."""
    print(
        "\n"
        + f"{'problem':28}{'first':12}{'seeds':>6}{'to top':>8}{'earlier':>9}{'later':>7}"
        + "".join(f"{n:>10}" for n in BESTS)
    )
    for problem in dict.fromkeys(row["problem"] for row in rows):
        mine = [row for row in rows if row["problem"] == problem]
        default = {row["seed"]: int(row["to_top"]) for row in mine if row["first"] == "default"}
        for first in dict.fromkeys(row["first"] for row in mine):
            of = [row for row in mine if row["first"] == first]
            pairs = [(int(row["to_top"]), default[row["seed"]]) for row in of if row["seed"] in default]
            earlier, later = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
            bests = "".join(f"{np.mean([float(row[name]) for row in of]):10.3f}" for name in BESTS)
            median = np.median([int(row["to_top"]) for row in of])
            print(f"{problem:28}{first:12}{len(of):6}{median:8.4g}{earlier:9}{later:7}{bests}")


if __name__ == "__main__":
    main()
