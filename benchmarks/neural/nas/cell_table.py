"""Cells of NAS-Bench-101 of at most 6 vertices by the rows of their table, however their nodes are numbered.

A key is (vertices, edges as bits, operations as digits of base 3), as in `cells`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np

import lamcts
from benchmarks.neural.nas import cells
from lamcts.neural.searches.alphax import BuildCells

NODES = 6  # of the cells that AlphaX searched (thesis, fig. 3.6)
Key = tuple[int, int, int]


@dataclass(frozen=True)
class Table:
    """The cells, and the row of every way to number their nodes."""

    cells: cells.Cells
    places: dict[Key, int]

    def row(self, vertices: int, edges: int, operations: int) -> int:
        return self.places[vertices, edges, operations]


@lru_cache
def table(data: str) -> Table:
    """Return the cells of at most 6 vertices; or, made up, all of at most 4, as the moves build them."""
    if data == "nasbench101":
        every = cells.load()
        found = every.only(np.flatnonzero(every.vertices <= NODES))
        return Table(found, numberings(found))
    game = BuildCells(nodes=4).game(lamcts.Bool())
    built = sorted({_key(state) for state in ended(game, game.root)})
    found = cells.Cells(*np.array(built).T, np.zeros(len(built)), np.zeros(len(built)))
    found = found._replace(accuracy=0.8 + 0.01 * cells.work(found) + 1e-4 * np.random.default_rng(0).random(len(built)))
    return Table(found, {key: row for row, key in enumerate(built)})


def numberings(found: cells.Cells) -> dict[Key, int]:
    """Return the row of each (vertices, edges, operations): all orders of the inner nodes in which edges go forward."""
    places: dict[Key, int] = {}
    for v in range(2, NODES + 1):
        rows = np.flatnonzero(found.vertices == v)
        for order in permutations(range(1, v - 1)):
            to = (0, *order, v - 1)  # the new number of each node
            edges, backward = np.zeros(len(rows), np.int64), np.zeros(len(rows), bool)
            for j in range(v):
                for i in range(j):
                    there = found.edges[rows] >> (i + j * (j - 1) // 2) & 1
                    backward |= there.astype(bool) & (to[i] > to[j])
                    low, high = sorted((to[i], to[j]))
                    edges |= there << (low + high * (high - 1) // 2)
            digits = np.zeros(len(rows), np.int64)
            for t in range(1, v - 1):
                digits += found.operations[rows] // 3 ** (t - 1) % 3 * 3 ** (to[t] - 1)
            keys = zip([v] * len(rows), edges.tolist(), digits.tolist(), strict=True)
            places |= {key: row for key, row, no in zip(keys, rows.tolist(), backward, strict=True) if not no}
    return places


def ended(game: Any, state: Any) -> Iterator[Any]:
    """Yield the terminal states below a state."""
    moves = game.moves(state)
    if not moves:
        yield state
    for move in moves:
        yield from ended(game, game.after(state, move))


def _key(state: Any) -> Key:
    into = [*state.into, state.out | state.loose]
    edges = sum(bits << j * (j - 1) // 2 for j, bits in enumerate(into, 1))
    return len(into) + 1, edges, sum(kind * 3**t for t, kind in enumerate(state.operations))


def mutated(data: str, row: int, rng: np.random.Generator) -> int:
    """Return another cell: one change in a matrix of the most nodes, of which those that lead nowhere are cut off.

    A change that leaves the cell as it is stays, and another follows; one after which it is none is taken back.
    """
    book = table(data)
    most = int(book.cells.vertices.max())
    matrix, kinds = spread(book.cells, row, most, rng)
    upper = [(i, j) for j in range(most) for i in range(j)]
    while True:
        before, change = (matrix.copy(), kinds.copy()), int(rng.integers(len(upper) + most - 2))
        if change < len(upper):
            matrix[upper[change]] ^= 1
        else:
            t = change - len(upper) + 1
            kinds[t] = (kinds[t] + rng.integers(1, 3)) % 3
        key = pruned(matrix, kinds)
        if key is None or key not in book.places:
            matrix, kinds = before
        elif book.places[key] != row:
            return book.places[key]


def spread(found: cells.Cells, row: int, most: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a cell as a matrix of `most` nodes, those that it lacks anywhere, without edges, of any operation."""
    v, bits = int(found.vertices[row]), int(found.edges[row])
    inner = np.sort(rng.choice(np.arange(1, most - 1), v - 2, replace=False))
    place = np.array([0, *inner, most - 1])
    matrix, kinds = np.zeros((most, most), np.int64), rng.integers(0, 3, most)
    for j in range(v):
        for i in range(j):
            matrix[place[i], place[j]] = bits >> (i + j * (j - 1) // 2) & 1
    for t in range(1, v - 1):
        kinds[place[t]] = int(found.operations[row]) // 3 ** (t - 1) % 3
    return matrix, kinds


def pruned(matrix: np.ndarray, kinds: np.ndarray) -> Key | None:
    """Return the key of what lies between input and output of a matrix, None where that is not joined."""
    n = len(matrix)
    reach = np.linalg.matrix_power(np.eye(n, dtype=np.int64) + matrix, n) > 0
    kept = np.flatnonzero(reach[0] & reach[:, -1])
    if not reach[0, -1]:
        return None
    part = matrix[np.ix_(kept, kept)]
    bits = sum(1 << (i + j * (j - 1) // 2) for j in range(len(kept)) for i in range(j) if part[i, j])
    return len(kept), bits, sum(int(kinds[t]) * 3**place for place, t in enumerate(kept[1:-1]))
