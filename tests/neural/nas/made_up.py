"""Small tables in the form of the published ones, with values that are made up: a formula of the row."""

import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from lamcts.neural.nas import formats
from lamcts.neural.nas.cells import Digits4096, NasBench201
from lamcts.neural.nas.nasbench101 import NasBench101
from lamcts.neural.nas.nasbench_graph import LINKS, NasBenchGraph
from lamcts.neural.nas.nasbench_graph import OPERATIONS as LAYER_OPERATIONS

ROOT = Path(__file__).parents[3]


def real(form):
    """Return the file of a published table; skip where there is none."""
    for folder in (os.environ.get("LAMCTS_DATA"), ROOT.parent / "shared" / "data"):
        if folder and (Path(folder) / form.file).is_file():
            return Path(folder) / form.file
    pytest.skip(f"no {form.file}: set LAMCTS_DATA to the folder of the tables")


def write(folder, form, arrays):
    np.savez(folder / form.file, **arrays)
    return folder / form.file


def nasbench101(vertices=4):
    """Return the table of all cells of at most `vertices` vertices: accuracies grow with the row."""
    space, cells = NasBench101(vertices), {}
    for bits in product([False, True], repeat=len(space.edges)):
        for ops in product(space.space.members[-1].options, repeat=len(space.inner)):
            point = dict(zip((*space.edges, *space.inner), (*bits, *ops), strict=True))
            if space.invalid(point) is None:
                cells.setdefault(space.code(point), space.cell(point))
    rows = [cells[code] for code in sorted(cells)]
    return {
        "hash64": np.array(sorted(cells), np.uint64),
        "num_vertices": np.array([len(cell.before) for cell in rows], np.uint8),
        "adjacency_bits": np.array([cell.bits for cell in rows], np.uint32),
        "ops_base3": np.array([sum(op * 3**t for t, op in enumerate(cell.ops)) for cell in rows], np.uint8),
        "test_acc_x29952": np.arange(20000, 20000 + len(rows), dtype=np.uint16),
        "trainable_params": np.arange(len(rows), dtype=np.int32),
    }


def nasbench201():
    """Return a table of all cells in an order of its own; test accuracies fall where validation grows."""
    ops = np.array(list(product(range(5), repeat=6)), np.int8)[::-1]
    n = len(ops)
    share = np.linspace(0, 1, n, dtype=np.float32)
    return {
        "ops": ops,
        "op_names": np.array(NasBench201().operations),
        "datasets": np.array(["cifar10", "cifar100", "ImageNet16-120"]),
        "test_acc_200": np.column_stack([90 - share, 70 - share, 40 - share]),
        "val_acc_12": np.column_stack([80 + share] * 3),
        "cifar10_val_acc_200": 88 + share,
        "imagenet16_val_acc_200": np.where(np.arange(n) % 2, 38 + share, np.nan),
        "params": np.tile(np.arange(n)[:, None], 3),
        "mflops_cifar10": share,
        "hw": np.where(np.arange(n)[:, None, None] % 2, 1.5, -1.0) * np.ones((n, 3, 2)),
        "hw_metrics": np.array(["edgetpu_latency", "eyeriss_arithmetic_intensity"]),
    }


def macro():
    ops = np.array(list(product(range(3), repeat=8)), np.int8)
    mean = np.linspace(50, 90, len(ops), dtype=np.float32)
    return {"ops": ops, "test_acc": np.column_stack([mean - 1, mean, mean + 1]), "params": np.arange(len(ops))}


def transnas(rows=50):
    """Return some cells without edges that no path passes: the output node is fed by the input, others by nothing."""
    ops = np.zeros((rows, 6), np.int8)
    ops[:, 0], ops[:, 4], ops[:, 3] = np.arange(rows) % 3 + 1, np.arange(rows) // 3 % 3 + 1, np.arange(rows) // 9 % 4
    ops = np.unique(ops, axis=0)
    return {"ops": ops, "val_top1": np.linspace(30, 50, len(ops), dtype=np.float32), "mflops": np.arange(len(ops))}


def graph():
    """Return the table of networks of `gcn`, `fc` and `skip` alone."""
    space = NasBenchGraph()
    points = [
        {"link": link, **dict(zip(space.layers, ops, strict=True))}
        for link in LINKS
        for ops in product(["gcn", "fc", "skip"], repeat=4)
    ]
    codes = np.array(sorted({space.code(point) for point in points if space.invalid(point) is None}))
    share = np.linspace(0.5, 0.8, len(codes))[:, None] * np.array([1.0, 0.9])
    return {
        "hash": codes.astype(np.int32),
        "op_names": np.array(LAYER_OPERATIONS),
        "datasets": np.array(["cora", "arxiv"]),
        "valid_perf": share,
        "test_perf": 1 - share,
        "latency_s": share / 100,
        "mparams": share,
    }


def size():
    """Return the table of all widths; accuracies grow with the row, and differ by data set and schedule."""
    widths = np.array(list(product(range(1, 9), repeat=5)), np.int8)
    share = np.linspace(0, 1, len(widths))[:, None] * np.array([1.0, 0.9, 0.8])
    names = [f"{part}_acc_{epochs}" for epochs in (90, 12) for part in ("test", "val")]
    costs = {name: np.tile(widths.sum(1)[:, None], 3) for name in ("params", "mflops", "latency_ms")}
    accuracies = {name: 90 - 10 * i + share for i, name in enumerate(names)}
    return {"widths": widths, "datasets": np.array(["cifar10", "cifar100", "ImageNet16-120"]), **accuracies, **costs}


def digits4096():
    """Return a table in which more is right with the row, after 12 epochs, and with the seed; test has one less."""
    ops = np.array(list(product(range(4), repeat=6)), np.int8)
    row, seed = np.arange(len(ops))[:, None] // 16, np.arange(3)
    right = np.stack([row + seed, row + seed + 50], 1)  # [N, E, S]
    return {
        "ops": ops,
        "op_names": np.array(Digits4096().operations),
        "epochs": np.array([3, 12]),
        "seeds": np.array([0, 1, 2]),
        "images": np.array([320, 400]),
        "val_right": right.astype(np.uint16),
        "test_right": (np.maximum(right, 1) - 1).astype(np.uint16),
        "params": 194 + 592 * (ops == 3).sum(1),
        "flops": np.arange(len(ops)),
    }


MADE = {
    formats.DIGITS4096: digits4096,
    formats.NASBENCH101: nasbench101,
    formats.NASBENCH201: nasbench201,
    formats.SIZE: size,
    formats.MACRO: macro,
    formats.TRANSNAS: transnas,
    formats.GRAPH: graph,
}
