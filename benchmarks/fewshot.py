"""Do several supernets rank networks better than one? Kendall's tau on `digits4096`, beside thesis table 6.3.

    python -m benchmarks.fewshot [--seeds 0-4] [--arms one random-1 ...] [--cells 500] [--table FILE]

An arm is a way of splitting, and how often: "random-2" splits two edges in four each (16 sub-supernets), "gradient-4"
four edges in two groups each, by gradient matching, "halves-4" the same with groups at random; "one" is one-shot NAS,
and "long-2" is one supernet trained for as many gradient steps as all those of "random-2" together. The first supernet
is trained for 40 epochs, each below it for 4. Networks are then looked up by their masks, with the statistics of batch
norms estimated anew, and their validation accuracies compared with those of the table, where each is trained alone for
12 epochs (mean of three seeds). "parameters" and "operations" are what those predict, without any training;
"ceiling" is what two trainings of the same networks say of each other. Regrets are of the table's accuracy: that of
the network that an arm ranks first, and of the best of its first ten.

--table: rows of `benchmarks.digits_table`, complete or not, in place of the table that ships. --cells: so many networks
of it, at random, the same for all arms (0: all). Rows go to results/fewshot.csv, a run each.
"""

import csv
import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts.nas import Digits4096
from lamcts.nas.cells import reachable

EPOCHS, AGAIN = 40, 4  # untuned; a tenth, as the thesis's hours have it
SMOKE_EPOCHS = 2
ARMS = ["one", "random-1", "random-2", "random-3", "gradient-2", "gradient-4", "gradient-6"]
ARMS += ["halves-2", "halves-4", "halves-6", "long-1", "long-2", "long-3"]
SPACE = Digits4096()
SEEDS = ("0", "1", "2")  # of the table's trainings
IMAGES = 360  # of validation
TOP = 10  # networks of which a user would train each

Cell = tuple[int, ...]
Table = dict[Cell, tuple[float, ...]]  # of each network, its accuracies, in per cent, seed by seed


class Case(NamedTuple):
    """One run; its fields are the key of its row. cells: networks that are looked up; of: all that the table has."""

    arm: str
    seed: int
    epochs: int
    cells: int
    of: int


MEASURED = ("supernets", "steps", "tau", "tau_params", "tau_flops", "tau_ceiling", "regret", "regret_top10")
COLUMNS = (*Case._fields, *MEASURED, "train_seconds", "judge_seconds", "versions")


def main() -> None:
    given = script.parser(__doc__, "fewshot.csv", "two arms of two epochs, and ten networks of made-up accuracies")
    script.many(given, "0-4")
    given.add_argument("--arms", nargs="+", default=ARMS, choices=ARMS)
    given.add_argument("--cells", type=int, default=500, help="networks to look up, 0: all")
    given.add_argument("--table", type=Path, help="rows of benchmarks.digits_table; default: the table that ships")
    arguments = script.parsed(given, seeds=[0], arms=["random-1", "halves-1"], cells=10)
    table = made_up() if arguments.smoke else rows_of(arguments.table) if arguments.table else shipped()
    few, epochs = sample(table, arguments.cells), SMOKE_EPOCHS if arguments.smoke else EPOCHS
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for arm in arguments.arms:
        for seed in arguments.seeds:
            case = Case(arm, seed, epochs, len(few), len(table))
            with sheet.claim(case) as mine:
                if mine and sheet.wants(case):
                    sheet.append(row := measure(case, few))
                    script.tell(sheet, row)
    show(sheet.rows())


# The table ------------------------------------------------------------------------------------------------------------


def rows_of(path: Path, epochs: int = 12) -> Table:
    """Return the networks of which all three trainings are there."""
    found: dict[str, dict[str, float]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["cell"], {})[row["seed"]] = 100 * int(row[f"val{epochs}"]) / IMAGES
    whole = {cell: values for cell, values in found.items() if values.keys() == set(SEEDS)}
    return {tuple(map(int, cell)): tuple(values[seed] for seed in SEEDS) for cell, values in sorted(whole.items())}


def shipped(epochs: int = 12) -> Table:
    """Return the networks of the table in the package, a cell each."""
    from lamcts.objectives import make

    each = [make("digits4096", epochs=epochs, seed=int(seed)) for seed in SEEDS]
    cells = sorted({reachable(SPACE.numbers(point)) for point in each[0].cells()})
    return {cell: tuple(f(SPACE.point(cell)) for f in each) for cell in cells}


def made_up() -> Table:
    rng = np.random.default_rng(0)
    cells = {reachable(tuple(map(int, row))) for row in rng.integers(0, 4, (30, 6))}
    return {cell: tuple(map(float, rng.random(3))) for cell in sorted(cells)}


def sample(table: Table, n: int) -> Table:
    """Return so many networks of a table, the same for the same table."""
    cells = list(table)
    kept = np.random.default_rng(0).permutation(len(cells))[: n or None]
    return {cells[i]: table[cells[i]] for i in sorted(kept)}


# A run ----------------------------------------------------------------------------------------------------------------


def measure(case: Case, table: Table) -> dict[str, Any]:
    """Return the row of a case."""
    begin = time.process_time()
    found = fitted(case)
    trained = time.process_time()
    points = [SPACE.point(cell) for cell in table]
    predicted = [found.accuracy(point) for point in points]
    judged = time.process_time()
    costs = [found.objective.also(point) for point in points]
    truth = np.array([np.mean(values) for values in table.values()])
    order = np.argsort(predicted, kind="stable")[::-1]
    row: dict[str, Any] = {"supernets": len(found.leaves), "steps": found.steps, "tau": tau(predicted, truth)}
    row |= {f"tau_{name}": tau([cost[key] for cost in costs], truth) for name, key in COSTS.items()}
    row |= {"tau_ceiling": ceiling(table), "regret": f"{truth.max() - truth[order[0]]:.3f}"}
    row |= {"regret_top10": f"{truth.max() - truth[order[:TOP]].max():.3f}"}
    row |= {"train_seconds": f"{trained - begin:.1f}", "judge_seconds": f"{judged - trained:.1f}"}
    return case._asdict() | row | {"versions": versions(["lamcts", "numpy", "torch"])}


COSTS = {"params": "params", "flops": "mflops"}  # a column's end, and what `also` calls it


def fitted(case: Case) -> Any:
    """Return the sub-supernets of a case, trained."""
    from lamcts.neural.digits4096 import CELLS, WIDTHS, recipe
    from lamcts.neural.fewshot import FewShot
    from lamcts.neural.train import digits

    how, _, splits = case.arm.partition("-")
    sizes, again = {"widths": WIDTHS, "cells": CELLS}, recipe(max(1, case.epochs * AGAIN // EPOCHS))
    if how == "long":
        below = sum(4**depth for depth in range(1, int(splits) + 1))  # supernets that "random" has below the first
        first = recipe(case.epochs + below * again.epochs)
        return FewShot(SPACE, 0, sizes=sizes).fit(digits(), first, seed=case.seed)
    given = FewShot(SPACE, int(splits or 0), "random" if how == "one" else how, sizes=sizes)
    return given.fit(digits(), recipe(case.epochs), again=again, seed=case.seed)


def tau(one: Any, other: Any) -> str:
    """Return Kendall's tau b, in which ties count."""
    from scipy.stats import kendalltau

    return f"{kendalltau(one, other).statistic:.4f}"


def ceiling(table: Table) -> str:
    """Return the tau of one training of the table's with the mean of the other two: what a perfect one could get."""
    values = np.array(list(table.values()))  # [n, 3]
    found = [float(tau(values[:, i], np.delete(values, i, 1).mean(1))) for i in range(len(SEEDS))]
    return f"{np.mean(found):.4f}"


# What came of it ------------------------------------------------------------------------------------------------------


def show(rows: list[dict[str, str]]) -> None:
    """Print means and standard errors over seeds."""
    print(f"\n{'arm':12}{'seeds':>6}{'supernets':>10}{'steps':>9}{'tau':>9}{'+-':>8}{'regret':>8}{'top 10':>8}{'s':>8}")
    for arm in dict.fromkeys(row["arm"] for row in rows):
        mine = [row for row in rows if row["arm"] == arm]
        means = {name: np.mean([float(row[name]) for row in mine]) for name in MEASURED}
        error = (
            np.std([float(row["tau"]) for row in mine], ddof=1) / math.sqrt(len(mine)) if len(mine) > 1 else math.nan
        )
        seconds = np.mean([float(row["train_seconds"]) for row in mine])
        print(
            f"{arm:12}{len(mine):6}{means['supernets']:10.0f}{means['steps']:9.0f}{means['tau']:9.4f}{error:8.4f}"
            f"{means['regret']:8.2f}{means['regret_top10']:8.2f}{seconds:8.1f}"
        )
    if rows:
        last = rows[-1]
        print(f"parameters {last['tau_params']}, operations {last['tau_flops']}, ceiling {last['tau_ceiling']}")


if __name__ == "__main__":
    main()
