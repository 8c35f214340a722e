"""Tables of trained networks out of LAMCTS_DATA: readers as small as can be, apart from those of the package."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.discrete_problems.base import Discrete, Point
from lamcts import Choice, Space

EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))  # of a cell of four nodes, in the order of the tables
DATASETS = {"cifar10": 0, "cifar100": 1, "imagenet16": 2}


def folder() -> Path:
    """Return where the tables are: LAMCTS_DATA, else shared/data beside the checkout."""
    return Path(os.environ.get("LAMCTS_DATA") or Path(__file__).resolve().parents[2].parent / "shared" / "data")


def lacking(file: str) -> str:
    """Return what to do where a table is not there, "" where it is."""
    return "" if (folder() / file).exists() else f"there is no {file} under LAMCTS_DATA ({folder()})"


def nasbench201(dataset: str) -> Discrete:
    """The mean test accuracy after 200 epochs, %, of 15,625 cells (Dong and Yang 2020)."""
    table = _read("nasbench201.npz")
    names = [str(name) for name in table["op_names"]]
    column = table["test_acc_200"][:, DATASETS[dataset]]
    values = {tuple(row): float(v) for row, v in zip(table["ops"], column, strict=True)}
    return _searched(f"nb201-{dataset}", [f"{a}->{b}" for a, b in EDGES], names, values)


def macro() -> Discrete:
    """The mean test accuracy of three runs, %, of 6,561 networks of eight blocks (Su et al. 2021)."""
    table = _read("nasbench_macro.npz")
    values = {tuple(row): float(v) for row, v in zip(table["ops"], table["test_acc"].mean(1), strict=True)}
    return _searched("macro", [f"layer{i}" for i in range(8)], ["identity", "k3 e3", "k5 e6"], values)


def transnas() -> Discrete:
    """The validation accuracy of scene classification, %, of 4,096 cells (Duan et al. 2021).

    The table lists cells without idle operations: those on no path to the output stand for none here; where the output
    is not reached at all, the evaluation fails.
    """
    table = _read("transnasbench101_micro_scene.npz")
    values = {tuple(row): float(v) for row, v in zip(table["ops"], table["val_top1"], strict=True)}
    names = ["none", "skip_connect", "conv1x1", "conv3x3"]
    return _searched("transnas", [f"{a}->{b}" for a, b in EDGES], names, values, busy)


def busy(cell: tuple[int, ...]) -> tuple[int, ...]:
    """Return a cell with 0 in place of the operations that lie on no path from the first node to the last."""
    there = [(a, b) for (a, b), op in zip(EDGES, cell, strict=True) if op]
    ahead, back = {0}, {3}
    for _ in range(3):
        ahead |= {b for a, b in there if a in ahead}
        back |= {a for a, b in there if b in back}
    return tuple(op if a in ahead and b in back else 0 for (a, b), op in zip(EDGES, cell, strict=True))


def _searched(name: str, parameters: list[str], options: list[str], values: dict[Any, float], rule: Any = None) -> Any:
    places = {option: i for i, option in enumerate(options)}

    def function(point: Point) -> float:
        row = tuple(places[point[parameter]] for parameter in parameters)
        return values.get(rule(row) if rule else row, float("nan"))

    best = max(values, key=lambda row: values[row])
    space = Space({parameter: Choice(options) for parameter in parameters})
    there = {parameter: options[op] for parameter, op in zip(parameters, best, strict=True)}
    return Discrete(name, space, function, maximize=True, optimum=values[best], best=there)


@cache
def _read(file: str) -> dict[str, Any]:
    if lack := lacking(file):
        raise FileNotFoundError(f"{lack}: set LAMCTS_DATA to the folder of the tables")
    with np.load(folder() / file) as table:
        return dict(table)
