"""Building a cell as NAS-Bench-101 has them: add a node with an operation, add an edge, or end (thesis 3.2.1).

Every state may end: nodes that lead nowhere are then joined to the output. Nodes are added in order, the edges into
the newest from low to high, those into the output last; so each labelled cell is reached in one way, and none has a
part that is cut off. Letters: i -> j an edge, i < j; node 0 is the input, the last one the output.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lamcts.searches.alphax.actions import Game, State
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.spaces.base import Space

Move = tuple[str, int]
END: Move = ("end", 0)  # of moves that name no node or kind the number means nothing
ROWS = 200_000  # encoded cells that are kept: of 100 coordinates 160 MB


class BuiltCell(NamedTuple):
    """A finished cell: the operations of its inner nodes, and its edges."""

    operations: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]


class _State(NamedTuple):
    """A cell under construction; sets of nodes are bits."""

    operations: tuple[int, ...] = ()
    into: tuple[int, ...] = ()  # of each inner node: where its edges come from
    loose: int = 1  # nodes without an edge out of them
    used: int = 0  # edges so far, those into the output among them
    out: int = 0  # nodes joined to the output, the loose ones apart
    ended: bool = False


@dataclass(frozen=True)
class BuildCells:
    """Build cells of limited size. Override `point` where the points of a space look otherwise.

    nodes: most nodes, input and output among them (7); NAS-Bench-101; paper: 6 in fig. 3.6.
    edges: most edges (9); NAS-Bench-101.
    operations: how many kinds an inner node has (3); NAS-Bench-101.
    """

    nodes: int = 7
    edges: int = 9
    operations: int = 3

    def __post_init__(self) -> None:
        if self.nodes < 2 or self.edges < 1 or self.operations < 1:
            raise ValueError(f"BuildCells: expected at least 2 nodes, 1 edge and 1 operation, got {self}")

    def point(self, cell: BuiltCell) -> Hashable:
        """Return the point of the space that a cell is; here the cell itself."""
        return cell

    def features(self, x: Floats) -> Floats:
        """Return what the meta-DNN sees of rows `x` [n, d], [n, k]; here the rows themselves."""
        return x

    def game(self, space: "Space") -> Game:
        return _Building(self, space)


class _Building:
    root = _State()
    single = True

    def __init__(self, settings: BuildCells, space: "Space") -> None:
        self._settings = settings
        self.features = settings.features
        self._encoded = lru_cache(ROWS)(lambda cell: space.encode(settings.point(cell)))

    def moves(self, state: State) -> Sequence[Move]:
        """Return edges into the newest node, further nodes, edges into the output, and the end, as far as they go."""
        if state.ended:
            return ()
        here, most = len(state.operations), self._settings.edges
        moves: list[Move] = []
        if here and not state.out:  # an edge more may leave a loose node behind it, which costs no edge at the end
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
