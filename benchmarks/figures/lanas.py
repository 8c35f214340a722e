"""Thesis figures 4.4 and 4.5, from our runs: how far the best cell of NAS-Bench-101 is, sample by sample.

    python -m benchmarks.figures.lanas [--out DIR] [--rows FILE] [--smoke]

Reads results/lanas.csv, runs nothing. A sample is a different valid cell. Random search is computed: the median of the
best of n draws without repeats is the accuracy that a share 2^(-1/n) of all cells stays below. The thesis's second
panel, ConvNet-60K, was not published, and its third is a supernet. The dotted line is the second best cell.
"""

from pathlib import Path

import numpy as np

from benchmarks import cells
from benchmarks.figures import sheets
from benchmarks.harness import script
from benchmarks.harness.sheet import RESULTS, read
from lamcts.types import Floats

SAMPLES = np.unique(np.geomspace(10, 5000, 200).astype(int))  # what is drawn
PANELS = {
    "4.4 LaNAS and others": (
        "lanas",
        "lanas as its code",
        "lanas (encodings)",
        "evolution (encodings)",
        "local search (encodings)",
    ),
    "4.5 What is drawn from a leaf": ("lanas", "lanas, bayes linear", "lanas, bayes meta-DNN", "meta-DNN, no tree"),
}
MADE_UP = np.linspace(80.0, 94.31757, 10_000)  # for --smoke, which has no data: the last is the table's best
FLOOR = 5e-3  # per cent, where the best cell is drawn on the logarithmic axis


def main() -> None:
    given = script.parser(__doc__, sheets.FIGURES, "into a temporary folder, beside made-up accuracies")
    given.add_argument("--rows", type=Path, default=RESULTS / "lanas.csv", metavar="FILE")
    arguments = script.parsed(given)
    rows = [row for row in read(arguments.rows) if row["data"] == "nasbench101"]
    if not rows:
        raise SystemExit(f"expected rows of NAS-Bench-101 in {arguments.rows}, got none: run benchmarks.lanas first")
    accuracy = MADE_UP if arguments.smoke else np.sort(100 * cells.load().accuracy)
    figure, grid = sheets.panels(1, len(PANELS), 11, 4.6, sharey=True)
    looks = {name: sheets.look(i) for i, name in enumerate(dict.fromkeys(sum(PANELS.values(), ())))}
    for axes, (title, methods) in zip(grid.flat, PANELS.items(), strict=True):
        for name in methods:
            if mine := [row["curve"] for row in rows if row["method"] == name]:
                regrets = np.array([regret(curve, float(accuracy[-1])) for curve in mine])
                sheets.draw(axes, SAMPLES, regrets, name, looks[name])
        sheets.draw(axes, SAMPLES, by_chance(accuracy)[None], "random, computed", sheets.PLAIN)
        axes.axhline(accuracy[-1] - accuracy[-2], color=sheets.FAINT, linestyle=":", linewidth=1)
        axes.set(xscale="log", yscale="log")
        sheets.named(axes, title, "different valid cells", "distance to the best accuracy, per cent")
    note = "Medians and quartiles; the lowest line is the best cell itself, the dotted one the second best."
    sheets.finish(figure, "NAS-Bench-101, mean test accuracy", arguments.out / "lanas.png", 4, note)


def regret(curve: str, optimum: float) -> Floats:
    """Return how far the best is from the optimum after each number of `SAMPLES`, of a row's `number:value` pairs."""
    pairs = [pair.split(":") for pair in curve.split()]
    at, value = np.array([int(a) for a, _ in pairs]), np.array([float(v) for _, v in pairs])
    last = np.searchsorted(at, SAMPLES, side="right") - 1
    return np.maximum(optimum - value[last], FLOOR)


def by_chance(accuracy: Floats) -> Floats:
    """Return the same for the median best of so many draws of the accuracies, which ascend."""
    place = np.ceil(0.5 ** (1 / SAMPLES) * len(accuracy)).astype(int) - 1
    return np.maximum(accuracy[-1] - accuracy[np.clip(place, 0, len(accuracy) - 1)], FLOOR)


if __name__ == "__main__":
    main()
