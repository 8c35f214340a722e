"""Thesis figures 4.4, 4.5 and 4.6 (a), from our runs: how far the best network of a table is, sample by sample.

    python -m benchmarks.figures.lanas [--out DIR] [--rows FILE] [--smoke]

Reads results/lanas.csv, runs nothing. A sample is a different valid network. Random search is computed: the median of
the best of n draws without repeats is the accuracy that a share 2^(-1/n) of all stays below. The thesis's second panel,
ConvNet-60K, was not published, and its third is a supernet: NAS-Bench-Macro stands beside NAS-Bench-101 in their place.
The dotted line is the second best network. Fig. 4.6 (a) is drawn for each table that has runs of the grid.
"""

import statistics
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.figures import sheets
from benchmarks.harness import script
from benchmarks.harness.sheet import RESULTS, read
from benchmarks.neural.nas import cells
from benchmarks.neural.nas.lanas import GRID, HEIGHTS, SELECTS
from lamcts import objectives
from lamcts.types import Floats

Rows = list[dict[str, str]]


class Panel(NamedTuple):
    """The methods of one panel, and how many samples it shows."""

    title: str
    data: str
    methods: tuple[str, ...]
    most: int


SEARCHES = ("lanas", "lanas as its code", "lanas as its code, bayes linear")
ENCODINGS = ("lamcts (encodings)", "evolution (encodings)", "local search (encodings)")
PANELS = (
    Panel("4.4 NAS-Bench-101", "nasbench101", (*SEARCHES, *ENCODINGS), 5000),
    Panel("4.4 NAS-Bench-Macro", "nasbench-macro", (*SEARCHES, *ENCODINGS), 1000),
    Panel(
        "4.5 What is drawn from a leaf",
        "nasbench101",
        ("lanas", "lanas, bayes linear", "lanas, bayes meta-DNN", "meta-DNN, no tree"),
        5000,
    ),
)
LONG = "5000"  # cap of the runs that are drawn
SIZES = {"nasbench101": 423_624, "nasbench-macro": 6561}
LOWEST = 80.0  # per cent, of the made-up accuracies of --smoke
FLOOR = 5e-3  # per cent, where the best network is drawn on the logarithmic axis
SAMPLES = np.unique(np.geomspace(10, 5000, 200).astype(int))  # what is drawn


def main() -> None:
    given = script.parser(__doc__, sheets.FIGURES, "into a temporary folder, beside made-up accuracies")
    given.add_argument("--rows", type=Path, default=RESULTS / "lanas.csv", metavar="FILE")
    arguments = script.parsed(given)
    rows = [row for row in read(arguments.rows) if row["cap"] == LONG and row["data"] in SIZES]
    if not rows:
        raise SystemExit(
            f"expected rows of NAS-Bench-101 in {arguments.rows}, got none: run benchmarks.neural.nas.lanas first"
        )
    curves(rows, arguments.smoke, arguments.out / "lanas.png")
    grids(rows, arguments.out / "lanas_grid.png")


def curves(rows: Rows, smoke: bool, path: Path) -> None:
    """Draw figures 4.4 and 4.5."""
    figure, grid = sheets.panels(1, len(PANELS), 14, 4.6, sharey=True)
    looks = {name: sheets.look(i) for i, name in enumerate(dict.fromkeys(sum((p.methods for p in PANELS), ())))}
    for axes, panel in zip(grid.flat, PANELS, strict=True):
        mine = [row for row in rows if row["data"] == panel.data]
        if mine:
            accuracy = made_up(mine, panel.data) if smoke else accuracies(panel.data)
            lines(axes, panel, mine, accuracy, looks)
        sheets.named(axes, panel.title, "different valid networks", "distance to the best accuracy, per cent")
    note = "Medians and quartiles; the lowest line is the best network itself, the dotted one the second best."
    sheets.finish(figure, "Tables of networks, mean test accuracy", path, 4, note)


def lines(axes: Any, panel: Panel, rows: Rows, accuracy: Floats, looks: dict[str, sheets.Look]) -> None:
    """Draw the methods of one panel beside random search; `accuracy` ascends."""
    x = SAMPLES[panel.most >= SAMPLES]
    for name in panel.methods:
        if mine := [row["curve"] for row in rows if row["method"] == name]:
            regrets = np.array([regret(curve, float(accuracy[-1]))[: len(x)] for curve in mine])
            sheets.draw(axes, x, regrets, name, looks[name])
    sheets.draw(axes, x, by_chance(accuracy)[None, : len(x)], "random, computed", sheets.PLAIN)
    axes.axhline(accuracy[-1] - accuracy[-2], color=sheets.FAINT, linestyle=":", linewidth=1)
    axes.set(xscale="log", yscale="log")


def grids(rows: Rows, path: Path) -> None:
    """Draw figure 4.6 (a): the median number of samples to the best network, of heights and selects."""
    tables = [data for data in SIZES if any(row["data"] == data and row["method"] in GRID.values() for row in rows)]
    if not tables:
        return
    figure, axes = sheets.panels(1, len(tables), 1 + 4.2 * len(tables), 3.6)
    for own, data in zip(axes.flat, tables, strict=True):
        heat(own, *medians([row for row in rows if row["data"] == data]))
        sheets.named(own, f"4.6 (a) {data}", "selects", "height of the tree")
    note = "Median of the samples to the best network; in brackets the number of runs; runs without it count as 5000."
    sheets.finish(figure, "LaNAS: height and number of selects", path, 0, note)


def medians(rows: Rows) -> tuple[Floats, list[list[int]]]:
    """Return the medians of the samples [heights, selects], nan where there are no runs, and the numbers of runs."""
    samples = [[[int(row["samples"]) for row in rows if row["method"] == GRID[h, s]] for s in SELECTS] for h in HEIGHTS]
    middle = [[statistics.median(cell) if cell else np.nan for cell in line] for line in samples]
    return np.array(middle, float), [[len(cell) for cell in line] for line in samples]


def heat(axes: Any, median: Floats, runs: list[list[int]]) -> None:
    axes.imshow(median, cmap="Blues", aspect="auto", alpha=0.5)
    axes.set_xticks(range(len(SELECTS)), [str(s) for s in SELECTS])
    axes.set_yticks(range(len(HEIGHTS)), [str(h) for h in HEIGHTS])
    axes.grid(False)
    for (i, j), value in np.ndenumerate(median):
        if runs[i][j]:
            axes.text(j, i, f"{value:.0f} ({runs[i][j]})", ha="center", va="center", fontsize=9)


def accuracies(data: str) -> Floats:
    """Return all accuracies of a table, which ascend."""
    if data == "nasbench101":
        return np.sort(100 * cells.load().accuracy)
    f: Any = objectives.make(data)
    return np.sort(f.searched)


def made_up(rows: Rows, data: str) -> Floats:
    """Return as many accuracies as the table has, up to the best of the rows."""
    best = max(float(row["curve"].rpartition(":")[2]) for row in rows)
    return np.linspace(LOWEST, best, SIZES[data])


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
