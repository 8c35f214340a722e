"""NAS-Bench-101: cells of up to seven vertices and nine edges, with one of three operations at each inner vertex.

Ying et al., "NAS-Bench-101: Towards Reproducible Neural Architecture Search", 2019; the graph hash as in its code,
https://github.com/google-research/nasbench. Vertices are numbered from the input, 0, to the output; an edge goes from a
lower number to a higher. `bits`: edge i -> j is bit i + j (j - 1) / 2, so that the same bits hold for any number of
vertices. Sets of vertices are bits of a number too.
"""

import json
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import md5
from typing import NamedTuple

from lamcts.neural.nas.base import Graph, Point
from lamcts.neural.nas.tabled import TabledSpace
from lamcts.spaces.choice import Bool, Choice
from lamcts.spaces.product import Space

OPERATIONS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
VERTICES, EDGES = 7, 9  # the most that a cell of the table has
CODE_DIGITS = 16  # of the 32 hexadecimal digits of a hash, those that tables hold: 64 bits
INPUT, OUTPUT = -1, -2  # labels of the first and the last vertex; those between have the numbers of their operations
REMEMBERED = 2**16  # cells, and their hashes, that are kept: some tens of MB


class LabelledCell(NamedTuple):
    """A cell without loose ends: of each vertex the set of those with an edge to it, and the operations between."""

    before: tuple[int, ...]
    ops: tuple[int, ...]

    @property
    def edges(self) -> int:
        return sum(vertices.bit_count() for vertices in self.before)

    @property
    def bits(self) -> int:
        return sum(vertices << j * (j - 1) // 2 for j, vertices in enumerate(self.before))


class NasBench101(TabledSpace):
    """A bit for each edge i -> j of the cell, and the operation of each inner vertex.

    Parameters
    ----------
    vertices : int, default 7
        Largest number of vertices of a cell, with input and output; AlphaX searched cells of 6.
    """

    notation = (
        "{'matrix': an upper triangle of 0 and 1, 'ops': ['input', ..., 'output']} as JSON, "
        f"operations of {', '.join(OPERATIONS)}"
    )

    def __init__(self, vertices: int = VERTICES) -> None:
        if vertices not in range(2, VERTICES + 1):
            raise ValueError(f"vertices: expected a whole number from 2 to {VERTICES}, got {vertices!r}")
        self.vertices = int(vertices)
        self.name = "nasbench101" if vertices == VERTICES else f"nasbench101-{vertices}"
        self.edges = tuple(f"edge_{i}_{j}" for j in range(vertices) for i in range(j))  # in the order of bits
        self.inner = tuple(f"op_{v}" for v in range(1, vertices - 1))
        edges, inner = dict.fromkeys(self.edges, Bool()), dict.fromkeys(self.inner, Choice(OPERATIONS))
        self.space = Space({**edges, **inner})
        self._weights = [(name, 1 << k) for k, name in enumerate(self.edges)]
        self._number = {operation: i for i, operation in enumerate(OPERATIONS)}

    def cell(self, point: Point) -> LabelledCell | None:
        """Return the pruned cell of a point; None if no path connects input and output."""
        try:
            bits = sum([weight for name, weight in self._weights if point[name]])
            return pruned(bits, tuple([self._number[point[name]] for name in self.inner]))
        except (KeyError, TypeError):
            self.space.encode(point)  # says what is wrong
            raise

    def point(self, cell: LabelledCell) -> Point:
        """Return a point of a cell; missing vertices come before the output and have no edges."""
        n, last = len(cell.before), self.vertices - 1
        if n > self.vertices:
            raise ValueError(f"{self.name}: expected a cell of at most {self.vertices} vertices, got {n}")
        bits = LabelledCell((*cell.before[:-1], *[0] * (self.vertices - n), cell.before[-1]), ()).bits
        ops = (*cell.ops, *[0] * (last - 1 - len(cell.ops)))
        edges = {name: bool(bits & weight) for name, weight in self._weights}
        return {**edges, **{name: OPERATIONS[op] for name, op in zip(self.inner, ops, strict=True)}}

    def invalid(self, point: Point) -> str | None:
        return self._wrong(self.cell(point))

    def canonical(self, point: Point) -> Point:
        return self.point(canonical(self._valid(point)))

    def key(self, point: Point) -> str | None:
        """Return the official hash of the cell, which isomorphic cells share; None for an invalid point."""
        cell = self.cell(point)
        return None if cell is None or self._wrong(cell) else graph_hash(cell)

    def code(self, point: Point) -> int:
        """Return the first 64 bits of the hash."""
        return int(graph_hash(self._valid(point))[:CODE_DIGITS], 16)

    def text(self, point: Point) -> str:
        """Return the matrix and the operations of the official `ModelSpec`, as JSON."""
        matrix = [[int(point.get(f"edge_{i}_{j}", False)) for j in range(self.vertices)] for i in range(self.vertices)]
        return json.dumps({"matrix": matrix, "ops": ["input", *(point[name] for name in self.inner), "output"]})

    def _read(self, text: str) -> Point:
        """Return the point of a matrix and operations, padded before the output for a smaller cell."""
        given = json.loads(text)
        matrix, ops = given["matrix"], given["ops"]
        n, values = len(ops), {value for row in matrix for value in row}
        if n < 2 or [len(row) for row in matrix] != [n] * n or not values <= {0, 1}:
            raise ValueError("the matrix has other numbers than one 0 or 1 for each pair of vertices")
        if any(matrix[i][j] for i in range(n) for j in range(i + 1)) or (ops[0], ops[-1]) != ("input", "output"):
            raise ValueError("edges lead back, or the operations do not begin with 'input' and end with 'output'")
        before = tuple(sum(1 << i for i in range(j) if matrix[i][j]) for j in range(n))
        return self.point(LabelledCell(before, tuple(OPERATIONS.index(op) for op in ops[1:-1])))

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the cell without its loose ends: its vertices are the operations."""
        cell = self._valid(point)
        labels = ["input", *(OPERATIONS[op] for op in cell.ops), "output"]
        edges = [(i, j, "") for j, before in enumerate(cell.before) for i in range(j) if before >> i & 1]
        return {"cell": Graph(labels, edges)}

    def _valid(self, point: Point) -> LabelledCell:
        cell = self.cell(point)
        reason = self._wrong(cell)
        if cell is None or reason is not None:
            raise ValueError(f"{self.name}: expected a valid cell, got one that is not: {reason}")
        return cell

    def _wrong(self, cell: LabelledCell | None) -> str | None:
        if cell is None:
            return "no path leads from the input to the output"
        return f"{cell.edges} edges, at most {EDGES} are allowed" if cell.edges > EDGES else None


@lru_cache(maxsize=REMEMBERED)
def pruned(bits: int, ops: tuple[int, ...]) -> LabelledCell | None:
    """Return a cell without the vertices off all paths from input to output; None if there is no path."""
    last = len(ops) + 1
    before = [bits >> j * (j - 1) // 2 & (1 << j) - 1 for j in range(last + 1)]
    reached, leading = 1, 1 << last
    for j in range(1, last + 1):
        reached |= bool(before[j] & reached) << j
    for j in range(last, 0, -1):
        leading |= before[j] if leading >> j & 1 else 0
    kept = [j for j in range(last + 1) if (reached & leading) >> j & 1]
    if len(kept) < 2 or kept[0] != 0 or kept[-1] != last:
        return None
    return LabelledCell(tuple(_numbered(before[j], kept) for j in kept), tuple(ops[j - 1] for j in kept[1:-1]))


def _numbered(vertices: int, kept: list[int]) -> int:
    """Return a set of vertices by their new numbers, the places in `kept`."""
    return sum((vertices >> old & 1) << new for new, old in enumerate(kept))


def graph_hash(cell: LabelledCell) -> str:
    """Return the official hash, 32 hexadecimal digits, equal for isomorphic cells only (in the table)."""
    return _md5(str(sorted(_vertex_hashes(cell))))


@lru_cache(maxsize=REMEMBERED)
def _vertex_hashes(cell: LabelledCell) -> tuple[str, ...]:
    """Return a hash of each vertex, refined once a vertex by those of its neighbours."""
    n = len(cell.before)
    into = [[w for w in range(v) if cell.before[v] >> w & 1] for v in range(n)]
    out = [[w for w in range(v + 1, n) if cell.before[w] >> v & 1] for v in range(n)]
    labels = (INPUT, *cell.ops, OUTPUT)
    hashes = [_first(len(out[v]), len(into[v]), labels[v]) for v in range(n)]
    for _ in range(n):
        texts = [f"{_joined(hashes, into[v])}|{_joined(hashes, out[v])}|{hashes[v]}" for v in range(n)]
        hashes = [md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts]
    return tuple(hashes)


def _joined(hashes: list[str], vertices: list[int]) -> str:
    if len(vertices) == 1:  # most have one neighbour on a side, and to sort takes as long as to hash
        return hashes[vertices[0]]
    return "".join(sorted([hashes[w] for w in vertices]))


@cache
def _first(out: int, into: int, label: int) -> str:
    return _md5(str((out, into, label)))


def _md5(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def canonical(cell: LabelledCell) -> LabelledCell:
    """Return the least of the cells isomorphic to this one whose vertices are numbered in order of their hashes."""
    return min((_reordered(cell, order) for order in _orders(cell, _vertex_hashes(cell), [0])), key=_rank)


def _rank(cell: LabelledCell) -> tuple[int, tuple[int, ...]]:
    return cell.bits, cell.ops


def _orders(cell: LabelledCell, hashes: tuple[str, ...], placed: list[int]) -> Iterator[list[int]]:
    """Yield the orders of all vertices that begin with those `placed`."""
    last, there = len(cell.before) - 1, sum(1 << v for v in placed)
    free = [v for v in range(1, last) if not there >> v & 1 and not cell.before[v] & ~there]
    if not free:
        yield [*placed, last]
    least = min((hashes[v] for v in free), default="")
    for v in free:
        if hashes[v] == least:
            yield from _orders(cell, hashes, [*placed, v])


def _reordered(cell: LabelledCell, order: list[int]) -> LabelledCell:
    return LabelledCell(
        tuple(_numbered(cell.before[v], order) for v in order), tuple(cell.ops[v - 1] for v in order[1:-1])
    )
