"""Make results/supernet201.npz: what a supernet of our own says of every cell of NAS-Bench-201, five minutes of a core.

    python -m benchmarks.neural.nas.supernet_table [--steps 4000] [--folder DIR] [--out FILE]

The supernet of all cells, of two stages of one cell with 8 and 16 channels, is trained on scikit-learn's digits; each
of the 4,930 networks that differ is then looked up by its mask: its accuracy on the 360 images for validation, the
statistics of batch norms estimated anew. `neural.nas.lanas --data supernet201` searches the table: the column
"Supernet" of thesis fig. 4.4, whose supernet is of NASNet cells on CIFAR-10 and cannot be looked up in full.
`benchmarks.neural.nas.supernet_ranks` compares the table with zero-cost proxies.
Killed, the same command goes on by --folder, which keeps the training, and by the values that --out has so far.
"""

import math
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import RESULTS
from lamcts.neural import nas
from lamcts.neural.nas.base import Point
from lamcts.neural.train import Data, Recipe, digits, train

FILE = RESULTS / "supernet201.npz"
SPACE = nas.NasBench201()
SIZES = {"widths": (8, 16), "cells": 1}  # as `lamcts nas supernet --space nasbench201`
RECIPE = Recipe(rate=0.05)  # of `lamcts nas supernet`
STEPS = 4000  # gradient steps; untuned
SAVED = 500  # networks that are looked up before the file is written again
FEW = 40  # networks of a smoke run
Numbers = tuple[int, ...]


def main() -> None:
    given = script.parser(__doc__, FILE.name, "a supernet of one epoch on digits, of which 40 networks are looked up")
    given.add_argument("--steps", type=int, default=STEPS, help="gradient steps of the supernet")
    given.add_argument("--folder", type=Path, default=Path("supernet_table"), help="where the training is kept")
    arguments = script.parsed(given, steps=1)
    networks = cells()[:FEW] if arguments.smoke else cells()
    f = objective(digits(), arguments.steps, arguments.out.parent if arguments.smoke else arguments.folder)
    look_all_up(f, networks, arguments.out.with_suffix(".npz"), arguments.steps)


def cells() -> list[Numbers]:
    """Return the cells that stand for all that are the same network."""
    every = product(range(len(SPACE.operations)), repeat=len(SPACE.places))
    return sorted({SPACE.numbers(SPACE.canonical(SPACE.point(numbers))) for numbers in every})


def objective(data: Data, steps: int, folder: Path) -> Any:
    """Return the trained supernet as an objective."""
    from lamcts.neural.supernet import SupernetObjective, supernet

    epochs = max(1, steps // math.ceil(len(data.train.y) / RECIPE.batch))
    recipe = replace(RECIPE, epochs=epochs)
    net: Any = supernet(SPACE, channels=data.shape[0], classes=data.classes, **SIZES)
    trained = train(net, data, recipe, checkpoint=folder / f"supernet-{epochs}.npz")
    print(f"{epochs} epochs, {trained.seconds:.0f} s; of eight cells: {trained.valid_accuracy:.4f}", flush=True)
    return SupernetObjective(trained.net, data, metric="accuracy")  # type: ignore[arg-type]


def look_all_up(f: Any, networks: list[Numbers], out: Path, steps: int) -> None:
    """Write the accuracy of each network, in per cent."""
    values = np.full(len(networks), np.nan, np.float32)
    if out.exists():
        with np.load(out) as held:
            values = held["accuracy"]
    for i in np.flatnonzero(np.isnan(values)).tolist():
        values[i] = f(SPACE.point(networks[i]))
        if (i + 1) % SAVED == 0 or i + 1 == len(networks):
            np.savez_compressed(out, ops=np.array(networks, np.int8), accuracy=values, steps=steps)
            print(f"{i + 1} of {len(networks)}: {np.nanmin(values):.2f} to {np.nanmax(values):.2f}", flush=True)


@cache
def known() -> dict[Numbers, float]:
    """Return what the table says of each network."""
    with np.load(FILE) as held:
        return dict(zip(map(tuple, held["ops"].tolist()), held["accuracy"].tolist(), strict=True))


def value(point: Point) -> float:
    return known()[SPACE.numbers(SPACE.canonical(point))]


if __name__ == "__main__":
    main()
