"""What share of the epochs does a network save that begins with a neighbour's weights? Beside thesis fig. 3.8.

    python -m benchmarks.neural.weight_transfer [--seeds 0-99] [--space nasbench101] [--jobs 1]

A seed is a pair: a random network, trained on scikit-learn's digits for all 14 epochs, and a random one that differs
in one parameter of the encoding, trained from nothing and from the parent's weights for 1, 2, 4, 7 and 14 epochs, each
with a schedule of its own. Accuracies are those on the validation and test images together, 719 of them, of one
training: the thesis adds a block to one parent, and shows that 17 of 70 epochs do and 9 do not (it then takes 20). The
share saved of a pair is 1 - k / 14 of the least k that with the parent's weights is as good as 14 epochs from nothing,
0 where none is. "from nothing" says what fewer epochs cost without a parent: without that row, a recipe that is too
long would pass for a transfer that works. Rows go to results/weight_transfer.csv, a pair each; fifteen seconds of one
core a pair.
"""

import statistics
import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import versions
from lamcts.neural import nas
from lamcts.neural.nas import ArchitectureSpace
from lamcts.neural.train import Data, Part, Recipe, digits, train

FULL = 14  # epochs: 20 of the thesis's 70 are 4 of them
BUDGETS = (1, 2, 4, 7, FULL)
SPACES: dict[str, tuple[ArchitectureSpace, dict[str, int]]] = {  # small enough for a second an epoch
    "nasbench101": (nas.NasBench101(), {"width": 16, "cells": 1, "stages": 2}),
    "nasnet": (nas.NasNet(), {"width": 4, "cells": 2}),
    "convnet": (nas.ConvNet(layers=4), {"stages": 2}),
}
STARTS = ("nothing", "parent")
SMOKE = 60  # images of each part


class Case(NamedTuple):
    """One pair; its fields are the key of its row."""

    space: str
    seed: int
    images: str


MEASURED = tuple(f"{start}_{epochs}" for start in STARTS for epochs in BUDGETS)
COLUMNS = (*Case._fields, "parent", "child", "share_inherited", "parent_percent", *MEASURED, "seconds", "versions")


def main() -> None:
    given = script.parser(__doc__, "weight_transfer.csv", "one pair on a few images")
    script.many(given, "0-99")
    given.add_argument("--space", default="nasbench101", choices=list(SPACES))
    arguments = script.parsed(given, seeds=[0])
    images = "few" if arguments.smoke else "all"
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    tasks = [Case(arguments.space, seed, images) for seed in arguments.seeds]
    script.record(tasks, sheet, "benchmarks.neural.weight_transfer:measure", arguments.jobs)
    for space in SPACES:
        show(space, [row for row in sheet.rows() if row["space"] == space])


def measure(**fields: Any) -> Result:
    """Return the row of the case with these fields."""
    from lamcts.neural.build import build
    from lamcts.neural.train.inherit import inherit

    case, begin = Case(**fields), time.process_time()
    (space, sizes), data = SPACES[case.space], few(digits()) if case.images == "few" else digits()
    parent, child = pair(space, np.random.default_rng(case.seed))

    def new(point: dict[str, Any], seed: int) -> Any:
        return build(space, point, channels=1, seed=seed, **sizes)

    first = train(new(parent, case.seed), data, Recipe(epochs=FULL), seed=case.seed)
    row: dict[str, Any] = {"parent": space.text(parent), "child": space.text(child), "parent_percent": percent(first)}
    for start in STARTS:
        for epochs in BUDGETS:
            net = new(child, case.seed + 1)
            if start == "parent":
                row["share_inherited"] = f"{inherit(net, first.net).share:.3f}"
            row[f"{start}_{epochs}"] = percent(train(net, data, Recipe(epochs=epochs), seed=case.seed + 1))
    row |= {"seconds": f"{time.process_time() - begin:.1f}", "versions": versions(["lamcts", "numpy", "torch"])}
    return case._asdict() | row, None


def percent(trained: Any) -> str:
    """Return the accuracy on the validation and test images, of which there are as many, in per cent."""
    return f"{50 * (trained.valid_accuracy + trained.test_accuracy):.3f}"


def few(data: Data) -> Data:
    return Data("few", *(Part(part.x[:SMOKE], part.y[:SMOKE]) for part in data.parts.values()), classes=data.classes)


def pair(space: ArchitectureSpace, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a random network, and one that differs in one parameter and is another network."""
    while True:
        parent = space.random(rng)
        near = [child for child in space.neighbours(parent) if space.key(child) != space.key(parent)]
        if near:
            return parent, near[int(rng.integers(len(near)))]


def saved(row: dict[str, str]) -> float:
    """Return the share of the epochs that a pair saves."""
    wanted = float(row[f"nothing_{FULL}"])
    return next((1 - k / FULL for k in BUDGETS if float(row[f"parent_{k}"]) >= wanted), 0.0)


def show(space: str, rows: list[dict[str, str]]) -> None:
    """Print means over pairs, and what share of the epochs they save."""
    if not rows:
        return
    print(f"\n{space}: {len(rows)} pairs; accuracy in per cent after so many epochs, mean over pairs")
    print(f"{'':16}" + "".join(f"{k:>9}" for k in BUDGETS))
    means = {name: statistics.mean(float(row[name]) for row in rows) for name in MEASURED}
    for start in STARTS:
        print(f"from {start:11}" + "".join(f"{means[f'{start}_{k}']:9.2f}" for k in BUDGETS))
    shares = [saved(row) for row in rows]
    enough = next((k for k in BUDGETS if means[f"parent_{k}"] >= means[f"nothing_{FULL}"]), None)
    pairs = zip(shares, rows, strict=True)
    never = sum(not share and float(row[f"parent_{FULL}"]) < float(row[f"nothing_{FULL}"]) for share, row in pairs)
    mean, median = statistics.mean(shares), statistics.median(shares)
    print(f"share of the epochs that a pair saves: mean {mean:.2f}, median {median:.2f}; never as good: {never} pairs")
    print(f"as good on average after {enough} of {FULL} epochs (thesis: 17 to 20 of 70)")


if __name__ == "__main__":
    main()
