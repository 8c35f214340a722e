"""What loop nests and their tilings share: accesses in program order, and the reuse distances of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.lru_stack import Histogram, LruStack
from lamcts.movement.costs.reuse import ReuseDistances, check_length, of_pieces, words_of_line
from lamcts.movement.costs.statement import Access, Affine, Block, Loop, Statement
from lamcts.movement.costs.trace import Body, ClippedLoop, Layout, Range, affine_range, length, trace
from lamcts.movement.costs.volume import iterations

COMPARED = 3  # passes that are measured once they must be the same: their second difference is then 0


class NotSteady(ValueError):
    """The passes of the outermost loop differ, or may differ."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"steady: expected passes of the outermost loop that repeat, got {reason}; leave steady out")


@dataclass(frozen=True)
class Rounds:
    """Passes of an outermost loop, which are the same from pass `warm` on, but for a last one that is clipped."""

    block: Block
    whole: int  # passes that are not clipped
    warm: int
    clipped: bool = False

    @property
    def worthwhile(self) -> bool:
        """Whether a part of the passes is enough."""
        return self.whole > self.warm + COMPARED

    def part(self, first: int, stop: int) -> Block:
        """Return the block with some of its passes."""
        start = self.block.loop.start
        return Block(replace(self.block.loop, start=start + first, stop=start + stop), self.block.body)

    def last(self) -> Block:
        """Return the clipped pass, moved to where the measured passes end."""
        end = self.warm + COMPARED
        body = _moved_caps(self.block.body, self.block.loop.name, self.whole - end)
        return Block(self.part(end, end + 1).loop, body)


@dataclass(frozen=True)
class _Move:
    """An access in one pass: by how much each index moves from pass to pass, and its range."""

    access: Access
    steps: tuple[int, ...]
    ranges: tuple[Range, ...]


class Program(ABC):
    """Statements in loops, whose accesses have an order."""

    statements: tuple[Statement, ...]
    sizes: Mapping[str, int]

    @property
    @abstractmethod
    def body(self) -> Body:
        """The loops and statements as a tree, in the order of execution."""

    def accesses(self, registers: Iterable[str] = ()) -> int:
        """Return the number of accesses to memory."""
        held = self._registers(registers)
        each = [sum(access.array not in held for access in statement.accesses) for statement in self.statements]
        counts = [iterations(statement.loops, self.sizes) for statement in self.statements]
        return sum(count * accesses for count, accesses in zip(counts, each, strict=True))

    def addresses(
        self, line: int | None = None, element_bytes: int = 8, registers: Iterable[str] = ()
    ) -> NDArray[np.int32]:
        """Return the address trace: the word of each access, or its line, in program order."""
        words, held = words_of_line(line, element_bytes), self._registers(registers)
        check_length(self.accesses(held), None)
        pieces = [piece // words for piece in trace(self.body, Layout.of(self.statements, self.sizes, words), held)]
        return np.concatenate([np.empty(0, np.int32), *pieces])

    def reuse_distances(
        self,
        line: int | None = None,
        element_bytes: int = 8,
        sample: float | None = None,
        steady: bool | None = None,
        registers: Iterable[str] = (),
    ) -> ReuseDistances:
        """Return the reuse distances of all accesses, exactly unless `sample` is set.

        Parameters
        ----------
        line : int or None, default None
            Bytes of a cache line, a power of two. None: each element is a line of its own.
        element_bytes : int, default 8
            Bytes of an element of an array; `line` must be a multiple.
        sample : float or None, default None
            Share of the data to measure, in (0, 1]. None: all, exactly, up to 2e8 accesses.
        steady : bool or None, default None
            Whether to measure the first passes of the outermost loop alone, and to multiply the last of them. True:
            raise an error if the passes differ. None: if all later passes are the same. The result is exact.
        registers : iterable of str, default ()
            Arrays that are held in registers: accesses to them do not count.

        Examples
        --------
        >>> from lamcts.movement import costs
        >>> product = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=48)
        >>> product.reuse_distances().misses(192)
        115200
        """
        words, held = words_of_line(line, element_bytes), self._registers(registers)
        layout = Layout.of(self.statements, self.sizes, words)
        if steady and sample is not None:
            raise ValueError("sample: expected None where steady=True, which is exact; leave one of them out")
        if steady or (steady is None and sample is None):
            try:
                rounds = steady_rounds(self.body, layout, words, held)
                if rounds.worthwhile:
                    return steady_distances(rounds, layout, words, held)
            except NotSteady:
                if steady:
                    raise
        check_length(self.accesses(held), sample)
        pieces = (piece // words for piece in trace(self.body, layout, held))
        return of_pieces(pieces, -(-layout.words // words), words, sample)

    def _registers(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names of arrays in registers; ValueError for names that are no arrays."""
        found = frozenset([names] if isinstance(names, str) else names)
        arrays = {access.array for statement in self.statements for access in statement.accesses}
        if unknown := sorted(found - arrays):
            raise ValueError(f"registers: expected arrays of {', '.join(sorted(arrays))}, got {unknown[0]!r:.40}")
        return found


def steady_distances(rounds: Rounds, layout: Layout, line_words: int, registers: frozenset[str]) -> ReuseDistances:
    """Return the distances of all passes from those of the first few; NotSteady if the last of them differ."""
    blocks = [rounds.part(0, rounds.warm)]
    blocks += [rounds.part(number, number + 1) for number in range(rounds.warm, rounds.warm + COMPARED)]
    blocks += [rounds.last()] if rounds.clipped else []
    check_length(length(blocks, layout.sizes, registers), None)
    stack = LruStack(-(-layout.words // line_words))
    found = [Histogram() for _ in blocks]
    for block, histogram in zip(blocks, found, strict=True):
        for piece in trace([block], layout, registers):
            histogram.add(stack.push(piece // line_words))
    total, steady, same = found[0], found[1], found[2 : COMPARED + 1]
    if any(histogram != steady for histogram in same):
        raise NotSteady("passes with other distances")
    total.merge(steady, rounds.whole - rounds.warm)
    for histogram in found[COMPARED + 1 :]:
        total.merge(histogram)
    return ReuseDistances(*total.found(), line_words)


def steady_rounds(body: Body, layout: Layout, line_words: int, registers: frozenset[str]) -> Rounds:
    """Return the passes of the outermost loop, and from which pass on all are the same.

    Each pass is the one before with each array moved by a constant, so that a datum is used again within a bounded
    number of passes, the lag. NotSteady where arrays do not move like that.
    """
    if len(body) != 1 or not isinstance(body[0], Block):
        raise NotSteady("statements that share no loop")
    block, sizes = body[0], layout.sizes
    start, stop = (end.value(sizes) for end in (block.loop.start, block.loop.stop))
    if stop - start <= COMPARED:
        return Rounds(block, stop - start, stop - start)
    steps = dict.fromkeys(sizes, 0) | {block.loop.name: 1}
    ranges = {name: (size, size) for name, size in sizes.items()} | {block.loop.name: (start, start)}
    moves: dict[str, list[_Move]] = {}
    for move in _moves(block.body, steps, ranges):
        moves.setdefault(move.access.array, []).append(move)
    lags = [_lag(moves[array], layout, line_words) for array in moves if array not in registers]
    clipped = _clipped(block.body, block.loop.name)
    return Rounds(block, stop - start - clipped, max(lags, default=0), clipped)


def _moves(body: Body, steps: Mapping[str, int], ranges: Mapping[str, Range]) -> Iterator[_Move]:
    """Yield the accesses of one pass, with the movement of each index; NotSteady for ranges that change."""
    for item in body:
        if isinstance(item, Statement):
            for access in item.accesses:
                moved = tuple(_step(index, steps) for index in access.indices)
                yield _Move(access, moved, tuple(affine_range(index, ranges) for index in access.indices))
        else:
            loop, step = item.loop, _step(item.loop.start, steps)
            border = _step(loop.start, {**steps, f"{loop.name}'": 0})  # of the tiles, which do not move it
            if _step(loop.stop, steps) != step or (isinstance(loop, ClippedLoop) and _step(loop.cap, steps) != border):
                raise NotSteady(f"a range of {loop.name} that depends on the outermost loop")
            first, last = affine_range(loop.start, ranges)[0], affine_range(loop.stop, ranges)[1] - 1
            inner = {**ranges, loop.name: (first, max(first, last))}
            yield from _moves(item.body, {**steps, loop.name: step}, inner)


def _clipped(body: Body, name: str) -> bool:
    """Return whether the last pass of a loop over tiles is clipped at the border."""
    blocks = [item for item in body if isinstance(item, Block)]
    return any(_clips(block.loop, name) or _clipped(block.body, name) for block in blocks)


def _clips(loop: Loop, name: str) -> bool:
    """Return whether a loop is over the points of the tiles that another loop counts."""
    return isinstance(loop, ClippedLoop) and name == f"{loop.name}'"


def _moved_caps(body: Body, name: str, passes: int) -> tuple[Block | Statement, ...]:
    """Return a body whose border is so many passes of the outermost loop nearer."""
    found: list[Block | Statement] = []
    for item in body:
        if isinstance(item, Block):
            loop = item.loop
            if isinstance(loop, ClippedLoop) and _clips(loop, name):
                loop = replace(loop, cap=loop.cap - dict(loop.start.coefficients)[name] * passes)
            item = Block(loop, _moved_caps(item.body, name, passes))
        found.append(item)
    return tuple(found)


def _step(index: Affine, steps: Mapping[str, int]) -> int:
    """Return by how much an affine expression grows from one pass to the next."""
    return sum(factor * steps[name] for name, factor in index.coefficients)


def _lag(moves: list[_Move], layout: Layout, line_words: int) -> int:
    """Return within how many passes an element, or a line, of an array is used again."""
    array, steps = moves[0].access.array, moves[0].steps
    if any(move.steps != steps for move in moves):
        raise NotSteady(f"accesses to {array} that move differently")
    if not any(steps):
        return 1
    extents = [max(r[1] for r in ranges) - min(r[0] for r in ranges) for ranges in _by_index(moves)]
    if line_words == 1:
        return min(extent // abs(step) for extent, step in zip(extents, steps, strict=True) if step)
    widths = [greatest - least + 1 for least, greatest in layout.shapes[array]]
    strides = [int(np.prod(widths[i + 1 :])) for i in range(len(widths))]  # words from one index to the next
    step = abs(int(np.dot(steps, strides)))
    if step % line_words:
        raise NotSteady(f"passes that move {array} by {step} words, which is no whole number of lines")
    return int(np.dot(extents, strides) + line_words - 1) // step


def _by_index(moves: list[_Move]) -> list[list[Range]]:
    """Return the ranges of the first index of all accesses, of the second, and so on."""
    return [[move.ranges[i] for move in moves] for i in range(len(moves[0].ranges))]
