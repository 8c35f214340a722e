"""Loop nests with affine array accesses: the programs whose data movement is counted and bounded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lamcts.movement.costs.program import Program
from lamcts.movement.costs.statement import Access, Block, Loop, Statement
from lamcts.movement.costs.tiling import Tiling
from lamcts.types import whole_number

if TYPE_CHECKING:
    from lamcts.movement.costs.bounds import LowerBound


@dataclass(frozen=True)
class Nest(Program):
    """Statements in program order, and the sizes of their loops. `nest` makes one from a text."""

    statements: tuple[Statement, ...]
    sizes: Mapping[str, int] = field(hash=False)
    text: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", {name: whole_number(size, name) for name, size in self.sizes.items()})
        if not self.statements:
            raise ValueError("statements: expected at least one statement, got none")
        loops: tuple[Loop, ...] = ()
        for statement in self.statements:
            if statement.loops[: statement.shared] != loops[: statement.shared]:
                raise ValueError(f"{statement.target}: expected {statement.shared} loops of the statement before it")
            _check_ranges(statement, self.sizes)
            loops = statement.loops
        _check_dimensions(self.statements)
        _check_used(self.body)

    @property
    def body(self) -> tuple[Block | Statement, ...]:
        """The statements as a tree of loops, in the order of execution."""
        return _blocks(self.statements, 0)

    def tiled(self, order: Sequence[str] | None = None, **tiles: int) -> Tiling:
        """Return the nest with its iterations executed tile by tile.

        Loops can be tiled if they are around one statement alone and their ranges do not depend on each other. Loops
        that several statements share stay outside. The dependences of the statements are not checked.

        Parameters
        ----------
        order : sequence of str or None, default None
            Each tiled loop once, the outermost first: of the loops over tiles, and of the loops over the points of a
            tile. None: as in the nest. Without tile sizes the loops are only reordered.
        **tiles : int
            Iterations of a loop in one tile, from 1 to all. A loop that is not named has one tile. Tiles at the border
            are clipped.

        Examples
        --------
        >>> from lamcts.movement import costs
        >>> product = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=24)
        >>> product.reuse_distances().misses(100), product.tiled(i=8, j=8, k=1).reuse_distances().misses(100)
        (14976, 4032)
        """
        return Tiling.of(self, order, tiles)

    def lower_bound(self, memory: int, processors: int = 1) -> "LowerBound":
        """Return the loads that no schedule avoids, as `lamcts.movement.costs.lower_bound` does."""
        from lamcts.movement.costs.bounds import lower_bound

        return lower_bound(self, memory, processors)


def _check_ranges(statement: Statement, sizes: Mapping[str, int]) -> None:
    """Check that each name in a range or an index is a size or a loop around it."""
    known = set(sizes)
    for loop in statement.loops:
        for name in sorted(loop.range_names - known):
            raise ValueError(f"{name}: expected a size, got none; nest(..., {name}=1024)")
        if loop.name in sizes:
            raise ValueError(f"{loop.name}: expected a loop variable or a size, got both; rename one")
        known.add(loop.name)
    for access in statement.accesses:
        for name in sorted(set(access.names) - known):
            raise ValueError(
                f"{name}: expected a loop variable or a size in {access}, got neither; add `for {name} in`"
            )
        if access.array in known:
            raise ValueError(f"{access.array}: expected an array, got the name of a loop or a size; rename one")


def _check_dimensions(statements: tuple[Statement, ...]) -> None:
    """Check that all accesses to an array have the same number of indices."""
    first: dict[str, Access] = {}
    for access in (access for statement in statements for access in statement.accesses):
        other = first.setdefault(access.array, access)
        if len(other.indices) != len(access.indices):
            raise ValueError(f"{access.array}: expected {len(other.indices)} indices as in {other}, got {access}")


def _check_used(body: tuple[Block | Statement, ...]) -> set[str]:
    """Check that each loop variable is in an index of some statement in its loop; return the names in indices."""
    used: set[str] = set()
    for item in body:
        if isinstance(item, Statement):
            used |= {name for access in item.accesses for name in access.names}
            continue
        inner, name = _check_used(item.body), item.loop.name
        if name not in inner:
            raise ValueError(
                f"{name}: expected an access in the loop over {name} that uses this loop variable, got none; "
                f"use {name} in an index, or remove its loop"
            )
        used |= inner
    return used


def _blocks(statements: tuple[Statement, ...], depth: int) -> tuple[Block | Statement, ...]:
    """Return the tree of statements that share their outermost `depth` loops."""
    if not statements:
        return ()
    end = next((i for i, s in enumerate(statements) if i and s.shared <= depth), len(statements))
    first = statements[0]
    if len(first.loops) == depth:
        return first, *_blocks(statements[1:], depth)
    return Block(first.loops[depth], _blocks(statements[:end], depth + 1)), *_blocks(statements[end:], depth)
