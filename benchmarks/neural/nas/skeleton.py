"""Networks of NAS-Bench-201 at their published size, trained on a subset of CIFAR-10: do they keep the table's order?

    LAMCTS_DATA=FOLDER python -m benchmarks.neural.nas.skeleton [--epochs 6] [--keep FOLDER]

The skeleton has three stages of five cells with 16, 32 and 64 channels (Dong and Yang 2020); the images are 32 x 32,
4,000 for training. Cells: the best of the table on CIFAR-10 and 2,000 random ones, by their place in its ranking.
`published` is the test accuracy after 200 epochs on 50,000 images. Rows go to results/skeleton.csv; an epoch of a large
cell takes one or two minutes of a core. With --keep, checkpoints of each epoch let a stopped training go on.
"""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from lamcts import objectives
from lamcts.neural import nas

SHARES = (0.0, 0.25, 0.5, 0.75, 0.95)  # of the networks that are better in the table
CELLS = 2000  # random ones
KEY = ("share", "seed", "epochs")
COLUMNS = (*KEY, "cell", "mflops", "published", "valid", "test", "seconds")


class Task(NamedTuple):
    share: float
    seed: int
    epochs: int
    data: str
    keep: str


@cache
def ranking() -> list[tuple[float, dict[str, Any]]]:
    """Return the best cell and random ones by descending published accuracy."""
    table: Any = objectives.make("nasbench201")
    space = nas.NasBench201()
    rng = np.random.default_rng(0)
    texts = {space.text(point) for point in [table.best(), *(space.random(rng) for _ in range(CELLS))]}
    points = map(space.parse, sorted(texts))
    return sorted(((float(table(point)), point) for point in points), key=lambda pair: -pair[0])


def measure(**fields: Any) -> tuple[dict[str, Any], None]:
    """Return the row of a task."""
    from lamcts.neural.train import Recipe, TrainObjective, load

    task, space = Task(**fields), nas.NasBench201()
    small = task.data == "digits"
    ranked = [(float("nan"), space.random(np.random.default_rng(0)))] if small else ranking()
    published, point = ranked[int(task.share * (len(ranked) - 1))]
    recipe = Recipe(epochs=task.epochs, rate=0.1, flip=not small, crop=0 if small else 4)
    sizes = {"widths": (4, 8, 16), "cells": 1} if small else {}
    f = TrainObjective(space, load(task.data), recipe, sizes, folder=task.keep or None)
    trained = f.train(point, seed=task.seed)
    row = {"share": task.share, "seed": task.seed, "epochs": task.epochs, "cell": space.text(point)}
    row |= {"mflops": round(f.cost(point)["mflops"], 1), "published": round(published, 2)}
    row |= {"valid": round(100 * trained.valid_accuracy, 2), "test": round(100 * trained.test_accuracy, 2)}
    return row | {"seconds": round(trained.seconds)}, None


def main() -> None:
    given = script.parser(__doc__, "skeleton.csv", "one small network on digits, one epoch")
    script.many(given, "0")
    given.add_argument("--epochs", type=int, default=6)
    given.add_argument("--keep", type=Path, default=None, metavar="FOLDER", help="folder of checkpoints")
    arguments = script.parsed(given, epochs=1)
    data, shares = ("digits", SHARES[:1]) if arguments.smoke else ("cifar10", SHARES)
    keep = str(arguments.keep or "")
    tasks = [Task(share, seed, arguments.epochs, data, keep) for seed in arguments.seeds for share in shares]
    script.record(tasks, Sheet(arguments.out, KEY, COLUMNS), "benchmarks.neural.nas.skeleton:measure", arguments.jobs)


if __name__ == "__main__":
    main()
