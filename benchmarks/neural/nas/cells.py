"""The cells of NAS-Bench-101 and their test accuracies, out of the file that LAMCTS_DATA names; or made-up ones.

Letters: n cells, v vertices (7 at most).
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FILE = "nasbench101_test108.npz"
MOST = 7  # vertices of a cell, input and output among them
ACCURACY_UNIT = 29952  # images that the three runs of a cell were tested on
INPUT, OUTPUT = 3, 4  # codes of these vertices; 0 to 2 are the operations
COSTS = (9, 1, 0)  # multiplications a channel pair and pixel of 3x3, 1x1 and pooling: the simplest count of work


class Cells(NamedTuple):
    """Vertices, edges i -> j as bits i + j (j - 1) / 2, operations in base 3, accuracy, parameters; all [n]."""

    vertices: NDArray[np.int64]
    edges: NDArray[np.int64]
    operations: NDArray[np.int64]
    accuracy: NDArray[np.float64]
    parameters: NDArray[np.float64]

    def only(self, rows: NDArray[np.int64]) -> "Cells":
        return Cells(*(column[rows] for column in self))


def load() -> Cells:
    """Return all 423,624 cells; SystemExit where the file is not there."""
    folder = os.environ.get("LAMCTS_DATA", Path(__file__).resolve().parents[4] / "shared" / "data")
    path = Path(folder) / FILE
    if not path.exists():
        raise SystemExit(f"expected {FILE} in {folder}; set LAMCTS_DATA to its folder, or try --smoke")
    with np.load(path) as data:
        columns = [data[name].astype(np.int64) for name in ("num_vertices", "adjacency_bits", "ops_base3")]
        accuracy = data["test_acc_x29952"] / ACCURACY_UNIT
        return Cells(*columns, accuracy, data["trainable_params"].astype(np.float64))


def made_up(n: int, vertices: int, seed: int = 0) -> Cells:
    """Return `n` chains of `vertices` with random further edges, whose accuracies follow their work and their depth."""
    rng = np.random.default_rng(seed)
    inner = vertices - 2
    bits = sum(1 << (j - 1 + j * (j - 1) // 2) for j in range(1, vertices))
    edges = np.unique(rng.integers(0, 1 << (vertices * (vertices - 1) // 2), 4 * n) | bits)
    edges = rng.permutation(edges)[:n]
    made = Cells(
        np.full(len(edges), vertices), edges, rng.integers(0, 3**inner, len(edges)), *np.zeros((2, len(edges)))
    )
    accuracy = 0.8 + 0.1 * work(made) / (9 * inner) - 0.002 * np.bitwise_count(edges) + rng.normal(0, 0.002, len(edges))
    return made._replace(accuracy=accuracy, parameters=1e6 * work(made))


def codes(cells: Cells) -> NDArray[np.int64]:
    """Return what stands at each vertex, [n, 7]: an operation, INPUT, OUTPUT, or -1 past the last."""
    place = np.arange(MOST)
    digits = cells.operations[:, None] // 3 ** np.maximum(place - 1, 0) % 3
    result = np.where(place == cells.vertices[:, None] - 1, OUTPUT, digits)
    result[:, 0] = INPUT
    return np.where(place < cells.vertices[:, None], result, -1)


def features(cells: Cells) -> NDArray[np.float64]:
    """Return for each vertex which edges come in, and what it is as one of five bits, [n, 7 * 12].

    The flat matrix and the list of nodes of the thesis (fig. 3.4), vertex by vertex, so that a recurrent network can
    read them.
    """
    result = np.zeros((len(cells.edges), MOST, MOST + 5))
    for j in range(1, MOST):
        for i in range(j):
            result[:, j, i] = cells.edges >> (i + j * (j - 1) // 2) & 1
    here = codes(cells)
    for code in range(5):
        result[:, :, MOST + code] = here == code
    return result.reshape(len(result), -1)


def work(cells: Cells) -> NDArray[np.float64]:
    """Return the sum of the operations' costs, [n]: all that is known of the work without counting channels."""
    here = codes(cells)
    return np.sum([cost * (here == code).sum(1) for code, cost in enumerate(COSTS)], axis=0).astype(np.float64)
