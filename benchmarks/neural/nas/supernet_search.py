"""Which search finds the best pair of cells in a supernet of NASNet's? The third column of thesis fig. 4.4, in small.

    python -m benchmarks.neural.nas.supernet_search [--seeds 0-4] [--methods ...] [--cap 500] [--table]

One supernet is trained on digits by random masks, and then fixed. A sample is a different valid pair of cells, masked
out of it; its value is the validation accuracy with these weights, per cent, statistics of batch norms estimated anew.
The thesis's supernet learnt CIFAR-10 in DARTS' pipeline, its searches had 2,000 samples; theirs is how accurate the
best network is, which here the test images say as well, by the same weights. Rows go to results/supernet_search.csv.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import lamcts
from benchmarks.harness import script
from benchmarks.harness.search import Enough, Search
from benchmarks.harness.sheet import Sheet, claim
from benchmarks.harness.versions import versions
from benchmarks.neural.nas.lanas import Counted, Problem, Reached
from benchmarks.peers import native
from lamcts.neural import nas
from lamcts.neural.searches import lanas
from lamcts.neural.supernet import SupernetObjective, supernet
from lamcts.neural.train import Recipe, digits, train

MARKS = (50, 100, 200, 500, 1000, 2000)  # samples
SIZES = {"width": 8, "cells": 1}  # a normal and a reduction cell between stem and classifier; for the cost
EPOCHS, SMOKE_EPOCHS = 120, 1  # of 34 steps; random networks: 75 +- 8 % after 40, 92.6 +- 3 then, 96 +- 1.4 after 240
RECIPE = Recipe(epochs=EPOCHS, batch=32, rate=0.025, decay=3e-4, clip=5.0)  # rate, decay and clipping of DARTS
REPEATS = 4  # evaluations for each sample of the cap, after which a peer that repeats itself is stopped
OURS: dict[str, dict[str, Any]] = {
    "lamcts": {},
    "lanas": lanas.published(),
    "lanas, bayes linear": lanas.improved(),
}
PEERS = {"evolution": "evolution", "evolution 100": "evolution 100", "random": "random"}


class Case(NamedTuple):
    """One search; its fields are the key of its row."""

    method: str
    seed: int
    cap: int
    epochs: int


BESTS = tuple(f"best_{m}" for m in MARKS)
COLUMNS = (*Case._fields, *BESTS, "test", "own_s", "objective_s", "curve", "versions")


def main() -> None:
    given = script.parser(__doc__, "supernet_search.csv", "a supernet of one epoch, two methods")
    script.many(given, "0-4")
    methods = [*OURS, *PEERS]
    given.add_argument("--methods", nargs="+", default=methods, choices=methods)
    given.add_argument("--cap", type=int, default=500, help="samples of a search")
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there, run nothing")
    arguments = script.parsed(given, seeds=[0], cap=12, methods=["lamcts", "random"])
    epochs = SMOKE_EPOCHS if arguments.smoke else EPOCHS
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for seed in () if arguments.table else arguments.seeds:
        for method in arguments.methods:
            case = Case(method, seed, arguments.cap, epochs)
            with claim(sheet.path, tuple(map(str, case))) as mine:
                if mine and sheet.wants(case):
                    sheet.append(row := measured(case))
                    script.tell(sheet, row)
    show(sheet.rows())


@cache
def trained(epochs: int) -> SupernetObjective:
    """Return the one supernet that all searches share, as an objective."""
    net, data = supernet(nas.NasNet(), channels=1, **SIZES), digits()
    train(net, data, Recipe(**(vars(RECIPE) | {"epochs": epochs})), seed=0)
    return SupernetObjective(net, data, metric="accuracy")


class Once:
    """A function that is asked for each network once, and clocked."""

    def __init__(self, f: Callable[[Any], float], key: Callable[[Any], Any]) -> None:
        self.f, self.key, self.known, self.seconds = f, key, dict[Any, float](), 0.0

    def __call__(self, point: Any) -> float:
        begin, key = time.process_time(), self.key(point)
        if key not in self.known:
            self.known[key] = self.f(point)
        self.seconds += time.process_time() - begin
        return self.known[key]


def measured(case: Case) -> dict[str, Any]:
    """Return the row of a search."""
    f = trained(case.epochs)
    once = Once(f, f.architectures.key)
    found = Asked(Problem(f.space, once, f.architectures.key, 100.0), case.cap)
    begin = time.process_time()
    with suppress(Reached, Enough, lamcts.Exhausted):
        searched(case, found)
    own = time.process_time() - begin - once.seconds
    row = case._asdict() | {f"best_{m}": f"{found.best(m):.3f}" for m in MARKS if m <= case.cap}
    row |= {"test": f"{f.report(found.point)['test_accuracy_percent']:.3f}"}
    row |= {"own_s": f"{own:.1f}", "objective_s": f"{once.seconds:.1f}"}
    row |= {"curve": " ".join(f"{at}:{value:.3f}" for at, value in found.better)}
    return row | {"versions": versions(["lamcts", "numpy", "torch"])}


class Asked(Counted):
    """The objective of a search, which keeps the best point too."""

    point: Any = None

    def __call__(self, point: Any, *, seed: int | None = None) -> float:
        before = len(self.better)
        try:
            return super().__call__(point)
        finally:
            if len(self.better) > before:
                self.point = point


def searched(case: Case, objective: Counted) -> None:
    """Search until the objective has had enough."""
    if case.method in PEERS:
        native.load(PEERS[case.method])(Search(objective, case.seed, REPEATS * case.cap))
        return
    optimizer = lamcts.Optimizer(objective.space, maximize=True, seed=case.seed, **OURS[case.method])
    while True:
        (trial,) = optimizer.ask()
        optimizer.tell(trial, objective(trial.point))


def show(rows: list[dict[str, str]]) -> None:
    """Print a line a method: mean validation accuracy of the best so far, and the test accuracy of the last best."""
    for cap, epochs in sorted({(int(row["cap"]), int(row["epochs"])) for row in rows}):
        marks = [m for m in MARKS if m <= cap]
        print(f"\n{cap} samples, a supernet of {epochs} epochs; validation accuracy after so many, per cent")
        print(f"{'':22}{'runs':>5}" + "".join(f"{m:>8}" for m in marks) + f"{'test':>8}{'own s':>8}")
        for method in (*OURS, *PEERS):
            if mine := [r for r in rows if (r["method"], r["cap"], r["epochs"]) == (method, str(cap), str(epochs))]:
                values = [mean(mine, f"best_{m}") for m in marks] + [mean(mine, "test")]
                line = "".join(f"{value:8.2f}" for value in values)
                print(f"{method:22}{len(mine):5}{line}{mean(mine, 'own_s'):8.1f}")


def mean(rows: list[dict[str, str]], column: str) -> float:
    return statistics.mean(float(row[column]) for row in rows)


if __name__ == "__main__":
    main()
