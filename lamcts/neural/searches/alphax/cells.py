"""Construction of NAS-Bench-101 cells: add a node with an operation, add an edge, or end (thesis 3.2.1).

Every state may end: nodes without outgoing edges are then joined to the output. Nodes are added in order, edges into
the newest from low to high, edges into the output last. So each labelled cell is reached in exactly one way, and no
cell has unreachable parts. Letters: i -> j an edge, i < j; node 0 is the input, the last one the output.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lamcts.neural.searches.alphax.actions import Game, State
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.spaces.base import SearchSpace

Move = tuple[str, int]
END: Move = ("end", 0)  # the number of moves without a node or kind is 0
ROWS = 200_000  # cached encodings: 160 MB at 100 coordinates


class BuiltCell(NamedTuple):
    """A finished cell: the operations of its inner nodes, and its edges."""

    operations: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]


class _State(NamedTuple):
    """A cell under construction; sets of nodes are bit masks."""

    operations: tuple[int, ...] = ()
    into: tuple[int, ...] = ()  # sources of each inner node
    loose: int = 1  # nodes without outgoing edges
    used: int = 0  # edges so far, with those into the output
    out: int = 0  # nodes joined to the output, without the loose ones
    ended: bool = False


@dataclass(frozen=True)
class BuildCells:
    """Build cells of limited size. Override `point` for spaces with other points.

    nodes: most nodes, input and output included (7); NAS-Bench-101.
    edges: most edges (9); NAS-Bench-101.
    operations: kinds of inner nodes (3); NAS-Bench-101.
    """

    nodes: int = 7
    edges: int = 9
    operations: int = 3

    def __post_init__(self) -> None:
        if self.nodes < 2 or self.edges < 1 or self.operations < 1:
            raise ValueError(f"BuildCells: expected at least 2 nodes, 1 edge and 1 operation, got {self}")

    def point(self, cell: BuiltCell) -> Hashable:
        """Return the point of a cell; here the cell itself."""
        return cell

    def features(self, x: Floats) -> Floats:
        """Return the features [n, k] of rows `x` [n, d] for the surrogate; here the rows."""
        return x

    def game(self, space: "SearchSpace") -> Game:
        return _Building(self, space)


class _Building:
    root = _State()
    single = True

    def __init__(self, settings: BuildCells, space: "SearchSpace") -> None:
        self._settings = settings
        self.features = settings.features
        self._encoded = lru_cache(ROWS)(lambda cell: space.encode(settings.point(cell)))

    def moves(self, state: State) -> Sequence[Move]:
        """Return the possible moves: edges into the newest node, new nodes, edges into the output, and the end."""
        if state.ended:
            return ()
        here, most = len(state.operations), self._settings.edges
        moves: list[Move] = []
        if here and not state.out:  # an extra edge may leave its source not loose, which saves an edge at the end
            first = state.into[-1].bit_length()
            needed = state.used + state.loose.bit_count() + 1
            moves += [("edge", i) for i in range(first, here) if needed - (state.loose >> i & 1) <= most]
            if not state.into[-1]:
                return moves
        if state.used + state.loose.bit_count() < most:
            if here < self._settings.nodes - 2 and not state.out:
                moves += [("node", kind) for kind in range(self._settings.operations)]
            moves += [("out", i) for i in range(state.out.bit_length(), here) if not state.loose >> i & 1]
        return [*moves, END]

    def after(self, state: State, move: Any) -> State:
        kind, i = move
        if kind == "end":
            return state._replace(ended=True)
        if kind == "node":
            operations = (*state.operations, i)
            return state._replace(
                operations=operations, into=(*state.into, 0), loose=state.loose | 1 << len(operations)
            )
        if kind == "out":
            return state._replace(out=state.out | 1 << i, used=state.used + 1)
        into = (*state.into[:-1], state.into[-1] | 1 << i)
        return state._replace(into=into, loose=state.loose & ~(1 << i), used=state.used + 1)

    def row(self, state: State, rng: np.random.Generator) -> Floats:
        x: Floats = self._encoded(_cell(state))
        return x


def _cell(state: _State) -> BuiltCell:
    into = [*state.into, state.out | state.loose]
    return BuiltCell(
        state.operations, tuple((i, j) for j, bits in enumerate(into, 1) for i in range(j) if bits >> i & 1)
    )
