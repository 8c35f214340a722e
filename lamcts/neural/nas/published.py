"""The published tables as objectives, by name: `lamcts.objectives.make("nasbench101", table=FILE)`.

All values are in per cent, higher is better. NAS-Bench-201, which has the most settings, is in `published201.py`.

table : path, default None
    The file or its folder; None: the folder that LAMCTS_DATA names.
"""

import os
from functools import partial
from importlib.resources import files
from pathlib import Path as File
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.neural.nas import formats
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import Digits4096, TransNas
from lamcts.neural.nas.chains import NasBenchMacro, NatsSize
from lamcts.neural.nas.nasbench101 import OPERATIONS, VERTICES, NasBench101, pruned
from lamcts.neural.nas.nasbench_graph import FOR_PROTEINS, NasBenchGraph
from lamcts.neural.nas.objective import TableObjective
from lamcts.neural.nas.tabled import OperationSpace
from lamcts.neural.nas.tables import Arrays, one_of, read
from lamcts.objectives.base import register
from lamcts.types import Floats

Path = str | os.PathLike[str] | None
Numbers = NDArray[Any]
PERCENT = 100.0  # of a share
PROTEINS = "proteins"  # has a table of its own, of fewer operations
TEST_IMAGES = 29952  # of NAS-Bench-101: 9,984 in each of three runs (`test_acc_x29952`)
GRAPHS = ("cora", "citeseer", "pubmed", "cs", "physics", "photo", "computers", "arxiv", PROTEINS)  # of the paper
SHIPPED = File(str(files("lamcts.neural.nas") / formats.DIGITS4096.file))  # a file of the package
EPOCHS = (3, 12)  # of the two trainings of each cell
GUIDES = ("val", "test")
CIFAR10, IMAGENET16 = "cifar10", "ImageNet16-120"
DATASETS = (CIFAR10, "cifar100", IMAGENET16)  # of NAS-Bench-201 and NATS-Bench
SIZE_ARRAYS = {"test": "test_acc_90", "val": "val_acc_90", "test12": "test_acc_12", "val12": "val_acc_12"}  # by guide
BUDGET = 150  # evaluations of a first run: what papers on these tables show


@register("nasbench101", "cells of 7 vertices and 9 edges on CIFAR-10, 423,624 networks; maximize", budget=BUDGET)
def nasbench101(
    table: Path = None, vertices: int = VERTICES, guide: str = "test", keyed: bool = True
) -> TableObjective:
    """NAS-Bench-101: mean accuracy of the three 108-epoch runs.

    Parameters
    ----------
    vertices : int, default 7
        Largest number of vertices of a cell.
    guide : str, default "test"
        The accuracy that is searched: "test", or "val" if the table has it.
    keyed : bool, default True
        Whether isomorphic cells count as one and invalid cells are never proposed; else invalid cells fail.
    """
    one_of(guide, ("test", "val"), "guide")  # before the table: who has none yet sees the mistake too
    space, arrays = NasBench101(vertices), read(formats.NASBENCH101, table)
    kept = np.flatnonzero(arrays["num_vertices"] <= vertices)
    sizes, bits, ops = (arrays[name][kept] for name in ("num_vertices", "adjacency_bits", "ops_base3"))
    measured = {name: values[kept] for name, values in _accuracies(arrays).items()}
    if f"{guide}_accuracy_percent" not in measured:
        raise ValueError(f"guide: expected 'test', or 'val' where the table has it, got {guide!r}: this one has none")
    others = {n: arrays[n][kept] for n in ("trainable_params", "training_time_s") if n in arrays}
    codes = np.asarray(arrays["hash64"][kept], np.uint64)
    searched, settings = measured[f"{guide}_accuracy_percent"], {"vertices": vertices, "guide": guide}
    networks = partial(_cell, space, sizes, bits, ops)
    return TableObjective(space, codes, searched, measured, others, keyed, settings, networks)


def _cell(space: NasBench101, sizes: Numbers, bits: Numbers, ops: Numbers, row: int) -> Point:
    """Return the point of a row's cell."""
    inner, kinds = range(int(sizes[row]) - 2), len(OPERATIONS)
    found = pruned(int(bits[row]), tuple(int(ops[row]) // kinds**t % kinds for t in inner))
    if found is None:
        raise ValueError(f"row {row} of the table: expected a cell, got one whose input and output do not connect")
    return space.point(found)


def _accuracies(arrays: Arrays) -> dict[str, Floats]:
    """Return the accuracies that a table of NAS-Bench-101 has, in per cent, [N]."""
    found = {
        f"{name}_accuracy_percent": PERCENT * arrays[f"{name}_acc"]
        for name in ("test", "val")
        if f"{name}_acc" in arrays
    }
    if "test_acc_x29952" in arrays:
        found["test_accuracy_percent"] = PERCENT * arrays["test_acc_x29952"].astype(float) / TEST_IMAGES
    return {name: np.asarray(values, float) for name, values in found.items()}


@register("nasbench-macro", "one of 3 blocks in each of 8 layers on CIFAR-10, 6,561 networks; maximize", budget=BUDGET)
def nasbench_macro(table: Path = None, keyed: bool = False) -> TableObjective:
    """NAS-Bench-Macro: mean test accuracy of three runs.

    Parameters
    ----------
    keyed : bool, default False
        Whether networks that differ only in the place of an identity count as one; each has a row.
    """
    arrays, space = read(formats.MACRO, table), NasBenchMacro()
    mean = arrays["test_acc"].astype(float).mean(1)
    reported = {"test_accuracy_percent": mean, **{f"run_{i + 1}_percent": arrays["test_acc"][:, i] for i in range(3)}}
    others = {name: arrays[name] for name in ("params", "flops") if name in arrays}
    return of_places(space, arrays, mean, reported, others, keyed, {})


@register("transnas", "cells of 6 edges on scene classification, 2,128 networks; maximize", budget=BUDGET)
def transnas(table: Path = None, keyed: bool = True) -> TableObjective:
    """TransNAS-Bench-101 micro, scene classification: validation accuracy, the only one that the table has.

    Parameters
    ----------
    keyed : bool, default True
        Whether cells that differ only in unused edges count as one, as they do in the table.
    """
    arrays, space = read(formats.TRANSNAS, table), TransNas()
    values = arrays["val_top1"].astype(float)
    others = {name: arrays[name] for name in ("mparams", "mflops") if name in arrays}
    return of_places(space, arrays, values, {"val_accuracy_percent": values}, others, keyed, {})


def of_places(
    space: OperationSpace,
    arrays: Arrays,
    searched: Floats,
    reported: dict[str, Floats],
    others: dict[str, Floats],
    keyed: bool,
    settings: dict[str, str],
) -> TableObjective:
    """Return the objective of a table whose `ops` [N, p] are the numbers of the operations, place by place."""
    ops = arrays["ops"].astype(np.int64)
    codes = ops @ len(space.operations) ** np.arange(ops.shape[1])  # [N]
    return TableObjective(space, codes, searched, reported, others, keyed, settings)


@register("nats-size", "widths of 5 parts of a network on three data sets, 32,768 networks; maximize", budget=BUDGET)
def nats_size(dataset: str = CIFAR10, guide: str = "test", table: Path = None) -> TableObjective:
    """The size space of NATS-Bench; `report` gives the test accuracy after 90 epochs.

    Parameters
    ----------
    dataset : str, default "cifar10"
        The data set: cifar10, cifar100 or ImageNet16-120.
    guide : str, default "test"
        The accuracy that is searched: "test" or "val" after 90 epochs, "test12" or "val12" after 12 epochs of their
        own schedule.
    """
    one_of(dataset, DATASETS, "dataset")  # before the table: who has none yet sees the mistake too
    one_of(guide, SIZE_ARRAYS, "guide")
    arrays, space = read(formats.SIZE, table), NatsSize()
    place = one_of(dataset, arrays["datasets"], "dataset")
    columns = {name: own[:, place].astype(float) for name, own in arrays.items() if own.ndim == 2 and name != "widths"}
    reported = {"test_accuracy_percent": columns[SIZE_ARRAYS["test"]]}
    others = {name: columns[name] for name in ("params", "mflops", "latency_ms")}
    units = {"ops": arrays["widths"] - 1}
    return of_places(
        space, units, columns[SIZE_ARRAYS[guide]], reported, others, False, {"dataset": dataset, "guide": guide}
    )


@register("nasbench-graph", "graph networks of 4 layers on nine data sets, 26,206 networks; maximize", budget=BUDGET)
def nasbench_graph(
    dataset: str = "cora", guide: str = "valid", table: Path = None, keyed: bool = True
) -> TableObjective:
    """NAS-Bench-Graph: performance on a graph, accuracy in per cent (ROC-AUC on proteins).

    Parameters
    ----------
    dataset : str, default "cora"
        The graph: cora, citeseer, pubmed, cs, physics, photo, computers, arxiv or proteins.
    guide : str, default "valid"
        The performance that is searched, "valid" or "test"; `report` gives both.
    keyed : bool, default True
        Whether isomorphic networks count as one, as they do in the table.
    """
    one_of(guide, ("valid", "test"), "guide")  # before the table: who has none yet sees the mistake too
    one_of(dataset, GRAPHS, "dataset")
    arrays = read(formats.GRAPH, table)
    columns = _of_dataset(arrays, dataset)
    space = NasBenchGraph(FOR_PROTEINS if dataset == PROTEINS else None)
    reported = {f"{name}_performance_percent": PERCENT * columns[f"{name}_perf"] for name in ("test", "valid")}
    others = {"latency_s": columns["latency_s"], "mparams": columns["mparams"]}
    codes = columns["hash"].astype(np.int64)
    searched, settings = reported[f"{guide}_performance_percent"], {"dataset": dataset, "guide": guide}
    return TableObjective(space, codes, searched, reported, others, keyed, settings)


def _of_dataset(arrays: Arrays, dataset: str) -> dict[str, Floats]:
    """Return the columns of a data set [N], the hashes with them."""
    proteins = {name.removeprefix("proteins_"): arrays[name] for name in arrays if name.startswith("proteins_")}
    known = [*arrays["datasets"], *([PROTEINS] if proteins else [])]
    place = one_of(dataset, known, "dataset")
    if dataset == PROTEINS:
        return {name: values.astype(float) for name, values in proteins.items()}
    names = ("valid_perf", "test_perf", "latency_s", "mparams")
    return {"hash": arrays["hash"], **{name: arrays[name][:, place].astype(float) for name in names}}


@register(
    "digits4096", "cells of 6 edges and 4 operations on digits, 4,096 networks, no file needed; maximize", budget=BUDGET
)
def digits4096(
    epochs: int = EPOCHS[-1], guide: str = "val", training: int | None = None, table: Path = None, keyed: bool = False
) -> TableObjective:
    """Every cell of `Digits4096`, trained here on scikit-learn's digits, three seeds; `report` gives the test accuracy.

    Parameters
    ----------
    epochs : int, default 12
        Epochs of the training, 3 or 12, each with its own schedule: a cheap and an expensive evaluation.
    guide : str, default "val"
        The accuracy that is searched, "val" or "test".
    training : int, default None
        Seed of the training that is looked up, 0, 1 or 2; None: the mean of the three.
    table : path, default None
        A file in the same form, or its folder; None: the file that ships.
    keyed : bool, default False
        Whether cells that differ only in unused edges count as one; each has a row with the same values.
    """
    one_of(guide, GUIDES, "guide")
    arrays, space = read(formats.DIGITS4096, SHIPPED if table is None else table), Digits4096()
    place = one_of(str(epochs), arrays["epochs"], "epochs")
    runs = slice(None) if training is None else [one_of(str(training), arrays["seeds"], "training")]
    right = {name: arrays[f"{name}_right"][:, place, runs] for name in GUIDES}  # [N, R]
    found = {name: PERCENT * right[name].mean(1) / arrays["images"][i] for i, name in enumerate(GUIDES)}
    reported = {f"{name}_accuracy_percent": found[name] for name in reversed(GUIDES)}
    others = {"params": arrays["params"], "flops": arrays["flops"]}
    settings = {"epochs": str(epochs), "guide": guide, "training": "mean" if training is None else str(training)}
    return of_places(space, arrays, np.asarray(found[guide]), reported, others, keyed, settings)
