"""How well do predictors rank networks that they have not seen? Spearman's correlation, as in table 1 of AutoGO.

    LAMCTS_DATA=FOLDER nice -n 10 python -m benchmarks.neural.evolve.predictors [--seeds 100-102] [--data nasbench201]

Networks: the 4,096 of NAS-Bench-201 without `none` (CIFAR-10 test accuracy, mean over seeds), with one cell a stage in
the graph; the 2,127 of `digits4096` with a path (validation accuracy after 12 epochs, mean of three). A seed draws 80 %
for training and 10 % for the test. `train`: networks of the fit, the first of the 80 %. `steps`: gradient steps, equal
for all neural predictors; `rate`: of Adam. Methods: `gnn`; `psc_one` and `psc_all`, trained on one or all cuts of a
network; `forest` on counts of operations and labels, `forest_ops` on operations alone; `flops`, `params`, and zero-cost
proxies on 100 networks of the test part. `srcc` is of the mean prediction over the cuts of a network, `srcc_folds` the
mean over folds, each with one cut of a network, as in the paper. Rows go to results/evolve_predictors.csv; CPU seconds.
"""

import math
import time
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.neural.evolve.cell_graphs import cell_graph
from benchmarks.neural.nas.fewshot import shipped
from lamcts import objectives
from lamcts.neural import nas
from lamcts.neural.evolve import FittedGnn, GnnPredictor, PscPredictor
from lamcts.neural.graphs.computation import ComputationGraph, CountsForest, GraphPredictor, flops, parameters
from lamcts.neural.nas.cells import EdgeCells
from lamcts.neural.proxies import ProxyObjective
from lamcts.neural.train import load
from lamcts.neural.train.digits4096 import CELLS, WIDTHS

FOLDS = 10  # AutoGO A.2.2 has the larger of this and the least number of segments, as its table 7 shows
TEST = 0.1  # share of the networks
SCORED = 100  # networks that a proxy scores
NEURAL = ("gnn", "psc_one", "psc_all")
FORESTS = ("forest_ops", "forest")
COSTS = {"flops": flops, "params": parameters}
PROXIES = ("naswot", "synflow")
FITS = ((50, 400), (0, 1200), (0, 400), (200, 400))  # networks (0: all) and gradient steps of a fit, by worth
RATES = (1e-3, 3e-3)  # of Adam; the second was chosen on seed 0 of digits4096, out of these and 1e-2
SIZES: dict[str, dict[str, Any]] = {
    "nasbench201": {"widths": (16, 32, 64), "cells": 1},
    "digits4096": {"widths": WIDTHS, "cells": CELLS},
}
SHAPES = {"nasbench201": (3, 32, 32), "digits4096": (1, 8, 8)}
IMAGES = {"nasbench201": "cifar10", "digits4096": "digits"}


class Task(NamedTuple):
    """One fit, or one score of a cost or a proxy; its fields are the key of its row."""

    data: str
    method: str
    train: int
    steps: int
    rate: float
    seed: int


COLUMNS = (*Task._fields, "srcc", "srcc_folds", "folds", "cuts", "test", "fit_s", "predict_s")


class Networks(NamedTuple):
    """Cells of a space with their graphs and accuracies."""

    space: EdgeCells
    cells: list[tuple[int, ...]]
    graphs: list[ComputationGraph]
    accuracy: NDArray[np.float64]


@cache
def networks(name: str) -> Networks:
    """Return the networks of a table whose cells have a path from input to output."""
    space: EdgeCells = nas.Digits4096() if name == "digits4096" else nas.NasBench201()
    if name == "digits4096":
        values = {cell: float(np.mean(runs)) for cell, runs in shipped().items()}
    else:
        f = objectives.make("nasbench201")
        values = {space.numbers(point): f(point) for point in f.cells() if "none" not in point.values()}
    built = {cell: cell_graph(space.operations, cell, SHAPES[name], **SIZES[name]) for cell in values}
    found = [(cell, graph, values[cell]) for cell, graph in built.items() if graph is not None]
    cells, graphs, accuracy = (list(column) for column in zip(*found, strict=True))
    return Networks(space, cells, graphs, np.array(accuracy))


def tasks(names: Sequence[str], seeds: Sequence[int]) -> list[Task]:
    """Return all runs, in the order of their worth."""
    runs: list[tuple[str, int, int, float]] = [(method, 0, 0, 0) for method in COSTS]
    runs += [(method, train, 0, 0) for train in dict.fromkeys(train for train, _ in FITS) for method in FORESTS]
    runs += [(method, train, steps, RATES[0]) for train, steps in FITS for method in NEURAL]
    runs += [(method, 0, 0, 0) for method in PROXIES]
    runs += [(method, train, steps, RATES[1]) for train, steps in FITS[:2] for method in NEURAL]
    return [Task(name, *run, seed) for run in runs for name in names for seed in seeds]


def split(count: int, train: int, seed: int) -> tuple[list[int], list[int]]:
    """Return the networks of the fit and those of the test; the test is the same for all sizes of the fit."""
    order = np.random.default_rng(seed).permutation(count).tolist()
    test = round(TEST * count)
    rest = order[2 * test :]
    return rest[: train or None], order[:test]


def predictor(task: Task) -> GraphPredictor:
    if task.method in FORESTS:
        return CountsForest(labelled=task.method == "forest")
    if task.method == "gnn":
        return GnnPredictor(steps=task.steps, rate=task.rate)
    return PscPredictor(steps=task.steps, rate=task.rate, ratio=1 if task.method == "psc_one" else None)


def folds(segments: Sequence[int]) -> int:
    """Return the number of folds for networks of so many segments each (AutoGO, table 7)."""
    return max(min(segments), FOLDS)


def over_folds(values: Sequence[NDArray[np.float64]], truth: NDArray[np.float64], seed: int) -> float:
    """Return the mean correlation over folds with one cut of each network; a network with few cuts repeats them."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(own) for own in values]
    each = [[own[fold % len(own)] for own in orders] for fold in range(folds([len(own) for own in values]))]
    return float(np.mean([correlation(fold, truth) for fold in each]))


def correlation(values: Any, truth: NDArray[np.float64]) -> float:
    """Return Spearman's correlation, nan for values that are all equal."""
    return float(spearmanr(values, truth)[0]) if len(set(values)) > 1 else math.nan


def fitted(task: Task, found: Networks) -> dict[str, Any]:
    """Return the row of a predictor."""
    train, test = split(len(found.graphs), task.train, task.seed)
    begin = time.process_time()
    made = predictor(task).fit([found.graphs[i] for i in train], found.accuracy[train], task.seed)
    fit, begin = time.process_time() - begin, time.process_time()
    graphs, truth = [found.graphs[i] for i in test], found.accuracy[test]
    values = made.predict_cuts(graphs) if isinstance(made, FittedGnn) else [*made.predict(graphs)[:, None]]
    row = {"srcc": correlation([own.mean() for own in values], truth), "srcc_folds": over_folds(values, truth, 0)}
    cuts = [len(own) for own in values]
    row |= {"folds": folds(cuts) if max(cuts) > 1 else 1, "cuts": round(float(np.mean(cuts)), 1)}
    return row | {"test": len(test), "fit_s": round(fit, 1), "predict_s": round(time.process_time() - begin, 2)}


def scored(task: Task, found: Networks) -> dict[str, Any]:
    """Return the row of a cost, or of a proxy on some networks of the test part."""
    _, test = split(len(found.graphs), 0, task.seed)
    begin = time.process_time()
    if task.method in COSTS:
        values = [float(COSTS[task.method](found.graphs[i])) for i in test]
    else:
        test = test[:SCORED]
        f = ProxyObjective(found.space, load(IMAGES[task.data]), task.method, SIZES[task.data], weights_seed=task.seed)
        values = [proxy(f, found.space, found.cells[i]) for i in test]
    seconds = round(time.process_time() - begin, 2)
    return {"srcc": correlation(values, found.accuracy[test]), "test": len(test), "predict_s": seconds}


def proxy(f: ProxyObjective, space: EdgeCells, cell: tuple[int, ...]) -> float:
    try:
        return float(f(space.point(cell)))
    except RuntimeError:  # no finite score
        return -math.inf


def show(rows: list[dict[str, str]]) -> None:
    """Print means and standard deviations over seeds."""
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in Task._fields[:-1]), []).append(row)
    print(f"\n{'data':13}{'method':12}{'train':>6}{'steps':>6}{'rate':>7}{'srcc':>8}{'+-':>7}{'folds':>8}{'fit_s':>8}")
    for key, own in groups.items():
        srcc = np.array([float(row["srcc"]) for row in own])
        rest = [np.mean([float(row[name] or "nan") for row in own]) for name in ("srcc_folds", "fit_s")]
        spread = srcc.std(ddof=1) if len(srcc) > 1 else math.nan
        print(
            f"{key[0]:13}{key[1]:12}{key[2]:>6}{key[3]:>6}{key[4]:>7}{srcc.mean():8.3f}{spread:7.3f}{rest[0]:8.3f}{rest[1]:8.1f}"
        )


def main() -> None:
    given = script.parser(
        __doc__, "evolve_predictors.csv", "ten networks a fit and two steps on digits4096, no proxies"
    )
    script.many(given, "100-102")
    given.add_argument("--data", nargs="+", default=list(SHAPES), choices=SHAPES)
    arguments = script.parsed(given, seeds=[0], data=["digits4096"])
    torch.set_num_threads(1)
    sheet = Sheet(arguments.out, Task._fields, COLUMNS)
    wanted = tasks(arguments.data, arguments.seeds)
    if arguments.smoke:
        tiny = [Task("digits4096", method, 10, 2, RATES[0], 0) for method in (*NEURAL, "forest")]
        wanted = [*tiny, Task("digits4096", "flops", 0, 0, 0, 0)]
    for task in wanted:
        with sheet.claim(task) as mine:
            if mine and sheet.wants(task):
                found = networks(task.data)
                row = (scored if task.method in (*COSTS, *PROXIES) else fitted)(task, found)
                sheet.record(task._asdict() | row)
    show(sheet.rows())


if __name__ == "__main__":
    main()
