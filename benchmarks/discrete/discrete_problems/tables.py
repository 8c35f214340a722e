"""Tables of trained networks out of LAMCTS_DATA as problems: the package's objectives in the words of the records."""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.discrete.discrete_problems.base import Discrete, Point
from lamcts import Choice, Space, objectives

EDGES = ("0->1", "0->2", "1->2", "0->3", "1->3", "2->3")  # of a cell of four nodes, in the order of the tables
DATASETS = {"cifar10": "cifar10", "cifar100": "cifar100", "imagenet16": "ImageNet16-120"}  # ours -> the table's


def folder() -> Path:
    """Return where the tables are: LAMCTS_DATA, else shared/data beside the checkout."""
    return Path(os.environ.get("LAMCTS_DATA") or Path(__file__).resolve().parents[3].parent / "shared" / "data")


def lacking(file: str) -> str:
    """Return what to do where a table is not there, "" where it is."""
    return "" if (folder() / file).exists() else f"there is no {file} under LAMCTS_DATA ({folder()})"


def nasbench201(dataset: str) -> Discrete:
    """The mean test accuracy after 200 epochs, %, of 15,625 cells (Dong and Yang 2020)."""
    table = objectives.make("nasbench201", dataset=DATASETS[dataset], table=folder())
    return _searched(
        f"nb201-{dataset}", table, EDGES, ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    )


def macro() -> Discrete:
    """The mean test accuracy of three runs, %, of 6,561 networks of eight blocks (Su et al. 2021)."""
    table: Any = objectives.make("nasbench-macro", table=folder())
    runs = np.column_stack([table.reported[f"run_{i}_percent"] for i in (1, 2, 3)])
    # the mean in the table's own precision, float32, as the recorded rows have it
    table = replace(table, searched=runs.mean(1).astype(float))
    return _searched("macro", table, [f"layer{i}" for i in range(8)], ("identity", "k3 e3", "k5 e6"))


def transnas() -> Discrete:
    """The validation accuracy of scene classification, %, of 4,096 cells (Duan et al. 2021).

    The table lists cells without idle operations: those on no path to the output stand for none here; where the output
    is not reached at all, the evaluation fails.
    """
    table = objectives.make("transnas", table=folder())
    return _searched("transnas", table, EDGES, ("none", "skip_connect", "conv1x1", "conv3x3"))


def _searched(name: str, table: Any, parameters: Sequence[str], options: Sequence[str]) -> Discrete:
    """Return the problem of a table, its parameters and options in the names that hide the optimum (`hidden.py`)."""
    places = {option: i for i, option in enumerate(options)}
    networks = table.architectures

    def function(point: Point) -> float:
        network = networks.point(tuple(places[point[parameter]] for parameter in parameters))
        return math.nan if table.failure(network) else table(network)

    best = {parameter: options[op] for parameter, op in zip(parameters, networks.numbers(table.best()), strict=True)}
    space = Space({parameter: Choice(options) for parameter in parameters})
    return Discrete(name, space, function, maximize=True, optimum=table.optimum, best=best)
