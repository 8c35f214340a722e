"""Loop nests with affine array accesses: the programs whose data movement is counted and bounded."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lamcts.movement.costs.program import Program
from lamcts.movement.costs.statement import Access, Affine, Block, Loop, Statement
from lamcts.movement.costs.tiling import Tiling
from lamcts.movement.costs.volume import least
from lamcts.text import shortened
from lamcts.types import whole_number

if TYPE_CHECKING:
    from lamcts.movement.costs.bounds import LowerBound

HEADER = re.compile(r"\s*for\b([^:]*)(:?)")


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
        first: dict[str, Access] = {}
        for access in (access for statement in self.statements for access in statement.accesses):
            other = first.setdefault(access.array, access)
            if len(other.indices) != len(access.indices):
                raise ValueError(f"{access.array}: expected {len(other.indices)} indices as in {other}, got {access}")

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


def once(nest: Nest) -> tuple[Nest, list[str]]:
    """Return a nest whose loops that repeat the same elements run once, and their names: what it loads, all load."""
    _, paths = _repeated(nest.body)
    statements = []
    for statement in nest.statements:
        loops = list(statement.loops)
        for depth, loop in enumerate(statement.loops):
            if statement.loops[: depth + 1] in paths:
                inside = [*(inner.start for inner in loops[depth + 1 :]), *(inner.stop for inner in loops[depth + 1 :])]
                ranged = any(loop.name in end.names for end in inside)
                if ranged or least(loop.stop - loop.start, statement.loops[:depth], nest.sizes) < 1:
                    raise ValueError(
                        f"{loop.name}: expected an access in the loop over {loop.name} that uses this loop variable, "
                        "got none: a bound is not known for loops that repeat the same elements and set the range of "
                        f"another, or may be empty; use {loop.name} in an index, or remove its loop"
                    )
                loops[depth] = Loop(loop.name, loop.start, loop.start + 1)
        statements.append(replace(statement, loops=tuple(loops)))
    names = list(dict.fromkeys(path[-1].name for path in sorted(paths, key=len)))
    return (replace(nest, statements=tuple(statements)), names) if paths else (nest, [])


def _repeated(
    body: tuple[Block | Statement, ...], outer: tuple[Loop, ...] = ()
) -> tuple[set[str], set[tuple[Loop, ...]]]:
    """Return the names in indices, and the loops, with those around them, whose variable is in no index."""
    used, found = set[str](), set[tuple[Loop, ...]]()
    for item in body:
        if isinstance(item, Statement):
            used |= {name for access in item.accesses for name in access.names}
            continue
        path = (*outer, item.loop)
        inner, more = _repeated(item.body, path)
        used |= inner
        found |= more if item.loop.name in inner else {*more, path}
    return used, found


def _blocks(statements: tuple[Statement, ...], depth: int) -> tuple[Block | Statement, ...]:
    """Return the tree of statements that share their outermost `depth` loops."""
    if not statements:
        return ()
    end = next((i for i, s in enumerate(statements) if i and s.shared <= depth), len(statements))
    first = statements[0]
    if len(first.loops) == depth:
        return first, *_blocks(statements[1:], depth)
    return Block(first.loops[depth], _blocks(statements[:end], depth + 1)), *_blocks(statements[end:], depth)


def nest(text: str, **sizes: int) -> Nest:
    """Return the loop nest that a text describes.

    Parameters
    ----------
    text : str
        Pieces that are separated by semicolons or by new lines: any number of headers `for ...:` and one assignment.
    **sizes : int
        The value of each name in a range that is no loop variable, at least 1.

    Raises
    ------
    ValueError
        If the text is not of this form (the message holds the position), an index is not affine, a size is missing or
        not used, two loops of a statement have one name, or no access uses a loop variable.

    Notes
    -----
    A header names loops and ranges: `for i in N:` (0, ..., N-1), `for i in k+1..N:` (without N), `for i,j in N:`, or
    `for i in N, j in M:`. Ends of ranges are affine in sizes and outer loop variables.

    An assignment is `A[i,j] = f(...)` or an update such as `+=`, with affine indices. Each `B[...]` on the right is a
    read; bare names and numbers are constants in registers. An iteration reads in order of appearance, then writes.

    A later piece belongs to the fewest open loops that define all names it uses and does not declare.

    Examples
    --------
    >>> from lamcts.movement import costs
    >>> product = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=320)
    >>> print(*product.statements[0].accesses)
    A[i,k] B[k,j] C[i,j] C[i,j]
    """
    statements: list[Statement] = []
    used: set[str] = set()
    for match in re.finditer(r"[^;\n]+", text):
        if match[0].strip():
            statements.append(_statement(_Piece(text, match.start(), match[0], sizes, used), statements))
    if not statements:
        raise ValueError(f"nest: expected a text such as 'for i in N: a[i] = b[i]', got {text!r:.60}")
    for name in sizes:
        if name not in used:
            raise ValueError(f"{name}: expected a size that the text uses, got {name}={sizes[name]!r:.20}; remove it")
    return Nest(tuple(statements), sizes, text)


@dataclass(frozen=True)
class _Piece:
    """A part of the text, where it begins, the sizes, and the names that have been read."""

    text: str
    start: int
    source: str
    sizes: Mapping[str, int]
    used: set[str]

    def part(self, begin: int, end: int | None = None) -> "_Piece":
        """Return a part of this piece."""
        return replace(self, start=self.start + begin, source=self.source[begin:end])

    def error(self, message: str, at: int = 0) -> ValueError:
        """Return an error with the position in the whole text, and what is there."""
        position = self.start + at
        return ValueError(f"nest, at character {position}, {shortened(self.text[position:]).strip()!r}: {message}")

    def parse(self, mode: str) -> ast.AST:
        """Return the syntax tree of the piece, whose columns count from its start."""
        spaces = len(self.source) - len(self.source.lstrip())
        try:
            tree = ast.parse(self.source.strip(), mode=mode)
        except (SyntaxError, ValueError) as error:
            column = (error.offset if isinstance(error, SyntaxError) else None) or 1
            raise self.error(
                f"expected a Python {'expression' if mode == 'eval' else 'assignment'}", spaces + column - 1
            ) from None
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                node.col_offset += spaces
        return tree


def _statement(piece: _Piece, before: list[Statement]) -> Statement:
    """Return the statement of a piece, inside the loops of the one before that it needs."""
    own, rest = _headers(piece)
    target, reads = _assignment(rest)
    outer = before[-1].loops if before else ()
    needed = _undeclared(own) | {name for access in (target, *reads) for name in access.names} - {i.name for i in own}
    for name in sorted(needed - set(piece.sizes) - {loop.name for loop in outer}):
        if name in _undeclared(own):
            raise ValueError(f"{name}: expected a size, got none; nest(..., {name}=1024)")
        raise piece.error(f"expected a loop over {name}, which an index uses, got none; add `for {name} in ...:`")
    shared = max((i + 1 for i, loop in enumerate(outer) if loop.name in needed), default=0)
    return Statement((*outer[:shared], *own), target, tuple(reads), shared)


def _headers(piece: _Piece) -> tuple[list[Loop], _Piece]:
    """Return the loops that a piece opens, and what follows."""
    loops: list[Loop] = []
    while match := HEADER.match(piece.source):
        if not match[2]:
            raise piece.error("expected a colon after the ranges of `for`, got none")
        loops += _loops(piece.part(match.start(1), match.end(1)))
        piece = piece.part(match.end())
    return loops, piece


def _undeclared(loops: list[Loop]) -> set[str]:
    """Return the names in the ranges of loops that no loop further out declares."""
    declared: set[str] = set()
    names: set[str] = set()
    for loop in loops:
        names |= loop.range_names - declared
        declared.add(loop.name)
    return names


def _loops(piece: _Piece) -> list[Loop]:
    """Return the loops of a header: `i,j in N, k in i+1..N`."""
    loops: list[Loop] = []
    names: list[str] = []
    begin = 0
    for part in piece.source.split(","):
        here = piece.part(begin, begin + len(part))
        begin += len(part) + 1
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*(?:\bin\b(.*))?", part, re.DOTALL)
        if match is None:
            raise here.error("expected names and a range, such as `i,j in N` or `i in k+1..N`")
        names.append(match[1])
        if match[2] is not None:
            start, stop = _range(here.part(match.start(2)))
            loops += [Loop(name, start, stop) for name in names]
            names = []
    if names:
        raise piece.error(f"expected a range for {names[-1]}, such as `{names[-1]} in N`, got none")
    return loops


def _range(piece: _Piece) -> tuple[Affine, Affine]:
    """Return both ends of a range, `N` or `k+1..N`."""
    first, dots, _ = piece.source.partition("..")
    ends = [piece.part(0, len(first)), piece.part(len(first) + 2)] if dots else [piece]
    found = []
    for end in ends:
        tree = end.parse("eval")
        assert isinstance(tree, ast.Expression)
        found.append(_affine(tree.body, end))
    return (found[0], found[1]) if dots else (Affine(), found[0])


def _assignment(piece: _Piece) -> tuple[Access, list[Access]]:
    """Return what an assignment writes and reads."""
    tree = piece.parse("exec")
    assert isinstance(tree, ast.Module)
    body = tree.body[0] if len(tree.body) == 1 else None
    if isinstance(body, ast.Assign) and len(body.targets) == 1:
        left: ast.expr = body.targets[0]
    elif isinstance(body, ast.AugAssign):
        left = body.target
    else:
        raise piece.error("expected an assignment such as `C[i,j] += A[i,k]*B[k,j]`")
    if not isinstance(left, ast.Subscript):
        raise piece.error("expected an element with an index on the left, such as s[0] or C[i,j]", left.col_offset)
    target = _access(left, piece, write=True)
    places = _subscripts(body.value) + [left] * isinstance(body, ast.AugAssign)
    return target, [_access(node, piece) for node in places]


def _subscripts(node: ast.AST) -> list[ast.Subscript]:
    """Return the outermost subscripts of an expression from left to right."""
    if isinstance(node, ast.Subscript):
        return [node]
    return [found for child in ast.iter_child_nodes(node) for found in _subscripts(child)]


def _access(node: ast.Subscript, piece: _Piece, write: bool = False) -> Access:
    """Return the access of a subscript."""
    if not isinstance(node.value, ast.Name):
        raise piece.error("expected the name of an array before the index, as in A[i,j]", node.col_offset)
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return Access(node.value.id, tuple(_affine(index, piece) for index in indices), write)


def _affine(node: ast.expr, piece: _Piece) -> Affine:
    """Return an expression as an affine one; a factor without loop variables counts by its value."""
    if isinstance(node, ast.Name):
        piece.used.add(node.id)
        return Affine.of(node.id)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Affine.of(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _affine(node.operand, piece) * -1
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        left, right = (_affine(side, piece) for side in (node.left, node.right))
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        for factor, other in ((left, right), (right, left)):
            if set(factor.names) <= set(piece.sizes):
                return other * int(factor.value(piece.sizes))
    found = ast.unparse(node)
    raise piece.error(
        f"expected an affine expression of loop variables such as 2*i+j-1, got {found:.40}", node.col_offset
    )
