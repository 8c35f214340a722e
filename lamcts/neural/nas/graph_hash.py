"""The graph hash of NAS-Bench-101, and a canonical order of a cell's vertices.

Ying et al., "NAS-Bench-101: Towards Reproducible Neural Architecture Search", 2019, appendix; the hash itself as in
https://github.com/google-research/nasbench. Vertices are numbered from the input, 0, to the output; an edge goes from a
lower number to a higher. `bits`: edge i -> j is bit i + j (j - 1) / 2, so that the same bits hold for any number of
vertices. Sets of vertices are bits of a number too.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import md5
from typing import NamedTuple

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
    """Return the representative of all cells isomorphic to this one.

    Vertices are numbered from the input on, of those whose predecessors have numbers the one with the least hash first.
    Where several share it, all of them are tried, and of what comes out the least is taken: the order of the given
    cell has no say.
    """
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
