"""NAS-Bench-101: cells of up to seven vertices and nine edges, with one of three operations at each inner vertex.

Ying et al., "NAS-Bench-101: Towards Reproducible Neural Architecture Search", 2019.
"""

import json

from lamcts.neural.nas.base import Graph, Point
from lamcts.neural.nas.graph_hash import LabelledCell, canonical, graph_hash, pruned
from lamcts.neural.nas.tabled import TabledSpace
from lamcts.spaces.choice import Bool, Choice
from lamcts.spaces.product import Space

OPERATIONS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
VERTICES, EDGES = 7, 9  # the most that a cell of the table has
CODE_DIGITS = 16  # of the 32 hexadecimal digits of a hash, those that tables hold: 64 bits


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
