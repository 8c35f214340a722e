"""Random cells trained alone for many epochs: a truth for supernets and proxies to be compared with.

    python -m benchmarks.neural.nas.longer_truth [--setting digits mnist] [--cells 250] [--minutes 60] [--at-once 24]

The table `digits4096` has networks of 12 epochs, whose order partly ranks speed of training. This script draws cells at
random and trains each alone for longer, with two seeds, by batched training. The setting `digits` has the networks and
data of `digits4096` and 60 epochs. The setting `mnist` has the cells of NAS-Bench-201 with five operations, two stages
of one cell with 8 and 16 channels, 10,000 MNIST digits of 14 x 14 pixels of which 3,000 are for training and 5,000 for
validation, and 15 epochs. It needs mnist_10k.npz in the folder LAMCTS_DATA.

A row holds correctly classified images and the mean loss of a cell and a seed. The networks of a cell come in one
group, and groups in order of the draw, so that an incomplete file is a random sample. Rows go to
results/longer_truth.csv; cells with rows are not trained again.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from lamcts.neural.nas import Digits4096, NasBench201
from lamcts.neural.nas.cells import EDGES, EdgeCells, reachable

SEEDS = (0, 1)
KEY = ("setting", "cell", "seed", "epochs")
COLUMNS = (*KEY, "valid_right", "test_right", "valid_loss", "test_loss", "seconds")
SIDE, VALIDATION = 14, 5000  # pixels and validation images of `mnist`
MINUTE = 60  # seconds

Cell = tuple[int, ...]


@dataclass(frozen=True)
class Setting:
    """A space, its data, and the networks trained on them.

    epochs: of networks trained alone. supernet, round: epochs of a supernet, and of a round of its sub-supernets.
    """

    space: EdgeCells
    data: Callable[[], Any]
    widths: tuple[int, ...]
    epochs: int
    batch: int
    rate: float
    supernet: int
    round: int

    @property
    def sizes(self) -> dict[str, Any]:
        """Keyword arguments of `lamcts.neural.build.build`."""
        return {"widths": self.widths, "cells": 1}

    def recipe(self, epochs: int | None = None) -> Any:
        """Return the training settings, by default those of the truth."""
        from lamcts.neural.train import Recipe

        return Recipe(epochs=epochs or self.epochs, batch=self.batch, rate=self.rate)


def digits() -> Any:
    from lamcts.neural.train import digits

    return digits()


@cache
def mnist() -> Any:
    """Return MNIST of 14 x 14 pixels with 3,000 images for training and 5,000 for validation."""
    from lamcts.neural.train.data import Part
    from lamcts.neural.train.datasets import load

    whole = load("mnist", side=SIDE)
    x, y = (np.concatenate(arrays) for arrays in zip(whole.train, whole.valid, strict=True))
    order = np.random.default_rng(0).permutation(len(y))
    kept, aside = order[VALIDATION:], order[:VALIDATION]
    return replace(whole, train=Part(x[kept], y[kept]), valid=Part(x[aside], y[aside]))


SETTINGS = {
    "digits": Setting(Digits4096(), digits, (8,), 60, 32, 0.1, 120, 12),
    "mnist": Setting(NasBench201(), mnist, (8, 16), 15, 32, 0.1, 40, 4),
}


def main() -> None:
    given = script.parser(__doc__, "longer_truth.csv", "two cells of digits, for one epoch")
    given.add_argument("--setting", nargs="+", default=["digits"], choices=SETTINGS)
    given.add_argument("--cells", type=int, default=250, help="random cells")
    given.add_argument("--minutes", type=float, default=float("inf"), help="no group starts after so many minutes")
    given.add_argument("--at-once", type=int, default=24, help="networks trained at once")
    arguments = script.parsed(given, setting=["digits"], cells=2)
    for name in arguments.setting:
        setting = replace(SETTINGS[name], epochs=1) if arguments.smoke else SETTINGS[name]
        fill(Sheet(arguments.out, KEY, COLUMNS), name, setting, arguments)


def fill(sheet: Sheet, name: str, setting: Setting, arguments: Any) -> None:
    """Train the cells that have no row yet and print how many are left."""
    begin, done = time.monotonic(), sheet.keys()
    wanted = [(cell, seed) for cell in drawn(setting.space, arguments.cells) for seed in SEEDS]
    left = [run for run in wanted if (name, text(run[0]), str(run[1]), str(setting.epochs)) not in done]
    while left and time.monotonic() - begin < MINUTE * arguments.minutes:
        group, left = left[: arguments.at_once], left[arguments.at_once :]
        for row in trained(name, setting, group):
            sheet.append(row)
        print(f"{name}: {len(left)} networks left, {time.process_time():.0f} CPU seconds", flush=True)


def drawn(space: EdgeCells, n: int) -> list[Cell]:
    """Return random cells that are different networks; a longer list starts with the shorter."""
    rng, found = np.random.default_rng(0), dict[Cell, None]()
    while len(found) < n:
        cell = reachable(tuple(int(i) for i in rng.integers(len(space.operations), size=len(EDGES))))
        if any(cell):
            found[cell] = None
    return list(found)


def trained(name: str, setting: Setting, group: list[tuple[Cell, int]]) -> Iterator[dict[str, Any]]:
    """Yield the row of each network of a group."""
    from lamcts.neural import batched
    from lamcts.neural.build import build

    begin, data = time.process_time(), setting.data()
    shape = {"channels": data.shape[0], "classes": data.classes}
    nets = [build(setting.space, setting.space.point(c), **shape, seed=seed, **setting.sizes) for c, seed in group]
    got = batched.train(nets, data, setting.recipe(), seeds=[seed for _, seed in group])
    seconds = (time.process_time() - begin) / len(group)
    right = [np.rint(got.valid_accuracy * len(data.valid.y)), np.rint(got.test_accuracy * len(data.test.y))]
    for i, (cell, seed) in enumerate(group):
        row: dict[str, Any] = {"setting": name, "cell": text(cell), "seed": seed, "epochs": setting.epochs}
        row |= {"valid_right": int(right[0][i]), "test_right": int(right[1][i]), "seconds": f"{seconds:.2f}"}
        yield row | {"valid_loss": f"{got.valid_loss[i]:.5f}", "test_loss": f"{got.test_loss[i]:.5f}"}


def text(cell: Cell) -> str:
    return "".join(map(str, cell))


if __name__ == "__main__":
    main()
