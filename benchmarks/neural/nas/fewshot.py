"""Do several supernets rank networks better than one? Kendall's tau on `digits4096`, beside thesis table 6.3.

    python -m benchmarks.neural.nas.fewshot [--seeds 0-4] [--arms one random-1 ...] [--cells 500] [--table FILE]

An arm is a way of splitting, and how often: "random-2" splits two edges in four each (16 sub-supernets), "gradient-4"
four edges in two groups each, by gradient matching, "halves-4" the same with groups at random; "one" is one-shot NAS,
and "long-2" is one supernet trained for as many gradient steps as all those of "random-2" together. The first supernet
is trained for 120 epochs, each below it for 12. Networks are then looked up by their masks, with the statistics of
batch norms estimated anew, and their validation accuracies compared with those of the table, where each is trained
alone for 12 epochs (mean of three seeds): `tau`, of all pairs of networks, `within` one sub-supernet and `between` two.
`tau_loss` and so on compare validation losses with the table's accuracies. `tau_path` is of the mean over a network's
sub-supernet and those above it that other arms of the way end with, each levelled: it gives the networks that are
looked up the mean that the supernet above gives them. "parameters" and "operations" are what those predict, without any
training; "ceiling" is what two trainings of the same networks say of each other.

--table: rows of `digits_table.py`, complete or not, in place of the table that ships. --cells: so many
networks of it, at random, the same for all arms (0: all). --keep: a folder for trainings: arms of one way and seed
share them. Rows go to results/fewshot.csv, a run each.
"""

import csv
import math
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts.neural.nas import Digits4096
from lamcts.neural.nas.cells import reachable

EPOCHS = 120  # networks on average as good as alone: seed 100, 84 % after 40, 94 % after 160; the table 91 %
AGAIN = 12  # a tenth, as the thesis's hours have it
SMOKE_EPOCHS = 2
ARMS = ["one", "random-1", "random-2", "random-3", "gradient-2", "gradient-4", "gradient-6"]
ARMS += ["halves-2", "halves-4", "halves-6", "long-1", "long-2", "long-3"]
SPACE = Digits4096()
SEEDS = ("0", "1", "2")  # of the table's trainings
IMAGES = 360  # of validation
SHAPE, CLASSES = (1, 8, 8), 10  # of digits

Cell = tuple[int, ...]
Table = dict[Cell, tuple[float, ...]]  # of each network, its accuracies, in per cent, seed by seed


class Seen(NamedTuple):
    """What networks are looked up at, in order of the table. leaf: the number of each one's sub-supernet."""

    supernets: int
    steps: int
    leaf: Any
    accuracies: Any
    scores: Any  # losses, the other way round
    train_seconds: float
    judge_seconds: float


class Case(NamedTuple):
    """One run; its fields are the key of its row. cells: networks that are looked up; of: all that the table has."""

    arm: str
    seed: int
    epochs: int
    cells: int
    of: int


TAUS = ("tau", "within", "between", "tau_path", "tau_loss", "within_loss", "between_loss", "tau_path_loss")
MEASURED = ("supernets", "steps", *TAUS, "tau_params", "tau_flops", "tau_ceiling")
COLUMNS = (*Case._fields, *MEASURED, "train_seconds", "judge_seconds", "versions")


def main() -> None:
    given = script.parser(__doc__, "fewshot.csv", "two arms of two epochs, and ten networks of made-up accuracies")
    script.many(given, "0-4")
    given.add_argument("--arms", nargs="+", default=ARMS, choices=ARMS)
    given.add_argument("--cells", type=int, default=500, help="networks to look up, 0: all")
    given.add_argument("--table", type=Path, help="rows of nas/digits_table.py; default: the table that ships")
    given.add_argument("--keep", type=Path, help="folder for trainings")
    arguments = script.parsed(given, seeds=[0], arms=["random-1", "halves-1"], cells=10)
    table = made_up() if arguments.smoke else rows_of(arguments.table) if arguments.table else shipped()
    known: Known = {}
    few, epochs = sample(table, arguments.cells), SMOKE_EPOCHS if arguments.smoke else EPOCHS
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for seed in arguments.seeds:
        for arm in arguments.arms:
            case = Case(arm, seed, epochs, len(few), len(table))
            with sheet.claim(case) as mine:
                if mine and sheet.wants(case):
                    sheet.record(measure(case, few, arguments.keep, known))
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

    each = [make("digits4096", epochs=epochs, training=int(seed)) for seed in SEEDS]
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


Known = dict[Case, Seen]


def measure(case: Case, table: Table, keep: Path | None = None, known: Known | None = None) -> dict[str, Any]:
    """Return the row of a case. known: cases whose networks have been looked up, to which this adds."""
    known = {} if known is None else known
    way = [seen(case._replace(arm=arm), table, keep, known) for arm in way_to(case.arm)]
    truth, mine = np.array([np.mean(values) for values in table.values()]), way[-1]
    row: dict[str, Any] = {"supernets": mine.supernets, "steps": mine.steps}
    leaves = np.array([each.leaf for each in way])
    for end, name in (("", "accuracies"), ("_loss", "scores")):
        row |= taus(getattr(mine, name), truth, mine.leaf, end)
        row[f"tau_path{end}"] = tau(levelled(np.array([getattr(each, name) for each in way]), leaves), truth)
    row |= costs(table, truth)
    row |= {"train_seconds": f"{mine.train_seconds:.1f}", "judge_seconds": f"{mine.judge_seconds:.1f}"}
    return case._asdict() | row | {"versions": versions(["lamcts", "numpy", "torch"])}


def way_to(arm: str) -> list[str]:
    """Return the arms of an arm's way down to it, from the one supernet on: the same trainings, as far as they go."""
    way = arm.partition("-")[0]
    if way in ("one", "long"):
        return [arm]
    same = [each for each in ARMS if each.startswith(f"{way}-")]
    return ["one", *same[: same.index(arm) + 1]] if arm in same else ["one", arm]


def seen(case: Case, table: Table, keep: Path | None, known: Known) -> Seen:
    """Return what a case's networks are looked up at."""
    if case in known:
        return known[case]
    found, points = fitted(case, keep), [SPACE.point(cell) for cell in table]
    begin = time.process_time()
    losses, rights = np.array([found.objective.loss_and_accuracy(point) for point in points]).T
    seconds = time.process_time() - begin
    leaf = np.array([found.leaves.index(found.root.leaf(SPACE.canonical(point))) for point in points])
    known[case] = Seen(len(found.leaves), found.steps, leaf, 100 * rights, -losses, found.seconds, seconds)
    return known[case]


def levelled(scores: Any, leaves: Any) -> Any:
    """Return the mean of scores down the way, each level's moved so that a leaf has the mean it has one level up.

    scores, leaves: of each level, of each network, [d, n].
    """
    found = [scores[0]]
    for here, leaf in zip(scores[1:], leaves[1:], strict=True):
        _, group = np.unique(leaf, return_inverse=True)
        shift = np.bincount(group, found[-1] - here) / np.bincount(group)
        found.append(here + shift[group])
    return np.mean(found, 0)


def costs(table: Table, truth: Any) -> dict[str, str]:
    """Return what parameters and operations predict, and what a training of the table's own does."""
    params, flops = zip(*map(size_of, table), strict=True)
    return {"tau_params": tau(params, truth), "tau_flops": tau(flops, truth), "tau_ceiling": ceiling(table)}


@cache
def size_of(cell: Cell) -> tuple[int, int]:
    """Return the parameters and operations of a network."""
    from benchmarks.neural.nas.digits4096 import CELLS, WIDTHS
    from lamcts.neural.build.sizes import size

    found = size(SPACE, SPACE.point(cell), SHAPE, CLASSES, {"widths": WIDTHS, "cells": CELLS})
    return found.parameters, found.flops


def fitted(case: Case, keep: Path | None = None) -> Any:
    """Return the sub-supernets of a case, trained; those of one way, seed and first training share a folder."""
    from benchmarks.neural.nas.digits4096 import CELLS, WIDTHS, recipe
    from lamcts.neural.fewshot import FewShot
    from lamcts.neural.train import digits

    how, _, splits = case.arm.partition("-")
    sizes, again = {"widths": WIDTHS, "cells": CELLS}, recipe(max(1, case.epochs * AGAIN // EPOCHS))
    if how == "long":
        below = sum(4**depth for depth in range(1, int(splits) + 1))  # supernets that "random" has below the first
        first = recipe(case.epochs + below * again.epochs)
        return FewShot(SPACE, 0, sizes=sizes).fit(digits(), first, seed=case.seed)
    way = "random" if how == "one" else how
    folder = keep and keep / f"{way}-{case.epochs}-{case.seed}"
    given = FewShot(SPACE, int(splits or 0), way, sizes=sizes)
    return given.fit(digits(), recipe(case.epochs), again=again, seed=case.seed, folder=folder)


def taus(predicted: Any, truth: Any, leaf: Any, end: str) -> dict[str, str]:
    """Return Kendall's tau of all pairs, of those within one leaf, and of those between two."""
    same = leaf[:, None] == leaf
    pairs = {"within": same & ~np.eye(len(leaf), dtype=bool), "between": ~same}
    found = {name: f"{tau_of(predicted, truth, which):.4f}" for name, which in pairs.items()}
    return {f"{name}{end}": value for name, value in ({"tau": tau(predicted, truth)} | found).items()}


def tau_of(one: Any, other: Any, which: Any) -> float:
    """Return Kendall's tau b of some pairs, [n, n]; nan where there are none, or all are ties."""
    i, j = np.nonzero(np.triu(which, 1))
    first, second = np.sign(one[i] - one[j]), np.sign(other[i] - other[j])
    ties = math.sqrt(np.count_nonzero(first) * np.count_nonzero(second))
    return float((first * second).sum() / ties) if ties else math.nan


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
    """Print means over seeds, and of tau the standard errors."""
    names = ("supernets", "steps", *TAUS, "train_seconds")
    print("\n" + f"{'arm':12}{'seeds':>6}{'+-':>8}{'+- loss':>9}" + "".join(f"{name:>14}" for name in names))
    for arm in dict.fromkeys(row["arm"] for row in rows):
        mine = [row for row in rows if row["arm"] == arm]
        values = {name: np.array([float(row[name]) for row in mine]) for name in names}
        errors = f"{error(values['tau']):8.4f}{error(values['tau_loss']):9.4f}"
        print(f"{arm:12}{len(mine):6}{errors}" + "".join(f"{values[name].mean():14.4g}" for name in names))
    if rows:
        last = rows[-1]
        print(f"parameters {last['tau_params']}, operations {last['tau_flops']}, ceiling {last['tau_ceiling']}")


def error(values: Any) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


if __name__ == "__main__":
    main()
