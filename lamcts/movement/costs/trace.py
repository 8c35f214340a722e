"""Address traces of loop nests: each access in program order, in pieces of numpy arrays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.statement import Access, Affine, Block, Loop, Statement
from lamcts.types import Rows

MOST = 2**31  # words: addresses are kept in 32 bits
Range = tuple[int, int]  # least and greatest value
PIECE = 2**18  # addresses at once, about
ZERO = Affine()
Body = Sequence[Block | Statement]
Values = Mapping[str, Any]  # of each size and loop variable, a number, or an array of one for each execution


@dataclass(frozen=True)
class Layout:
    """Addresses in words, counted from the first array."""

    bases: Mapping[str, int]
    shapes: Mapping[str, tuple[Range, ...]]  # of each array, the range of each index
    sizes: Mapping[str, int]
    words: int  # of all arrays

    @classmethod
    def of(cls, statements: Iterable[Statement], sizes: Mapping[str, int], line_words: int = 1) -> "Layout":
        """Return the layout in order of first appearance; each array starts a line."""
        shapes: dict[str, tuple[Range, ...]] = {}
        for statement in statements:
            ranges = loop_ranges(statement, sizes)
            for access in statement.accesses:
                found = tuple(affine_range(index, ranges) for index in access.indices)
                known = shapes.get(access.array, found)
                shapes[access.array] = tuple(
                    (min(a, c), max(b, d)) for (a, b), (c, d) in zip(known, found, strict=True)
                )
        bases, words = {}, 0
        for array, shape in shapes.items():
            bases[array] = words
            words += -(-_volume(shape) // line_words) * line_words
        if words > MOST:
            raise ValueError(f"arrays: expected at most 2^31 words in all, got {words:.3g}; use smaller sizes")
        return cls(bases, shapes, sizes, words)

    def elements(self, array: str) -> int:
        """Return the number of elements of an array."""
        return _volume(self.shapes[array])

    def address(self, access: Access) -> Affine:
        """Return the address as an affine expression of loop variables."""
        found = Affine()
        for index, (least, greatest) in zip(access.indices, self.shapes[access.array], strict=True):
            found = found * (greatest - least + 1) + index.put(self.sizes) - least
        return found + self.bases[access.array]


def loop_ranges(statement: Statement, sizes: Mapping[str, int]) -> dict[str, Range]:
    """Return the least and greatest value of each size and loop variable."""
    ranges = {name: (size, size) for name, size in sizes.items()}
    for loop in statement.loops:
        least, greatest = affine_range(loop.start, ranges)[0], affine_range(loop.stop, ranges)[1] - 1
        ranges[loop.name] = least, max(least, greatest)
    return ranges


def affine_range(index: Affine, ranges: Mapping[str, Range]) -> Range:
    """Return the least and greatest value of an affine expression."""
    ends = [sorted(factor * end for end in ranges[name]) for name, factor in index.coefficients]
    return index.constant + sum(low for low, _ in ends), index.constant + sum(high for _, high in ends)


def _volume(shape: tuple[Range, ...]) -> int:
    """Return the number of elements of an array."""
    elements = 1
    for least, greatest in shape:
        elements *= greatest - least + 1
    return elements


@dataclass(frozen=True)
class ClippedLoop(Loop):
    """A loop that also ends before `cap`, as the loop over the points of a tile at the border."""

    cap: Affine = ZERO

    @property
    def range_names(self) -> frozenset[str]:
        """The names in the ends and in the cap."""
        return super().range_names | {*self.cap.names}


def trace(body: Body, layout: Layout, registers: frozenset[str] = frozenset()) -> Iterator[NDArray[np.int32]]:
    """Yield the addresses of all accesses in program order, but for those to arrays in registers."""
    addresses = _Addresses(layout, registers)
    yield from addresses.walk(body, layout.sizes)


def length(body: Body, sizes: Mapping[str, int], registers: frozenset[str] = frozenset()) -> int:
    """Return the number of accesses, but for those to arrays in registers."""
    return int(_lengths(body, sizes, 1, registers).sum())


class _Addresses:
    """Writes the accesses of executions of a body, as many as fit in a piece at once."""

    def __init__(self, layout: Layout, registers: frozenset[str]) -> None:
        self._layout, self._registers = layout, registers

    def walk(self, body: Body, values: Mapping[str, int]) -> Iterator[NDArray[np.int32]]:
        """Yield the addresses of one execution of a body."""
        lengths = _lengths(body, values, 1, self._registers)
        if lengths[0] <= PIECE:
            yield self._written(body, values, lengths)
            return
        for item in body:
            if isinstance(item, Block):
                yield from self._passes(item, values)
            else:
                yield self._written([item], values, _lengths([item], values, 1, self._registers))

    def _passes(self, block: Block, values: Mapping[str, int]) -> Iterator[NDArray[np.int32]]:
        """Yield the addresses of a loop, in batches of passes."""
        name, (start, stop) = block.loop.name, ends(block.loop, values)
        passes = np.arange(int(start), int(stop))
        lengths = _lengths(block.body, {**values, name: passes}, len(passes), self._registers)
        done = np.cumsum(lengths)
        first = 0
        while first < len(passes):
            before = done[first] - lengths[first]
            last = max(first + 1, int(np.searchsorted(done, before + PIECE, side="right")))
            if lengths[first] > PIECE:
                yield from self.walk(block.body, {**values, name: int(passes[first])})
            else:
                yield self._written(block.body, {**values, name: passes[first:last]}, lengths[first:last])
            first = last

    def _written(self, body: Body, values: Values, lengths: Rows) -> NDArray[np.int32]:
        """Return the addresses of one execution of a body for each of the values."""
        out = np.empty(int(lengths.sum()), np.int32)
        self._write(body, values, np.cumsum(lengths) - lengths, out)
        return out

    def _write(self, body: Body, values: Values, places: Rows, out: NDArray[np.int32]) -> None:
        """Write the addresses of executions that begin at `places` of `out`."""
        for item in body:
            if isinstance(item, Statement):
                places = places.copy()
                for access in item.accesses:
                    if access.array not in self._registers:
                        out[places] = self._layout.address(access).value(values)
                        places += 1
            else:
                inner, owner, lengths = _expanded(item, values, len(places), self._registers)
                before = np.cumsum(lengths) - lengths
                total = _summed(lengths, owner, len(places))
                first = np.cumsum(total) - total
                self._write(item.body, inner, before + (places - first)[owner], out)
                places = places + total


def _expanded(block: Block, values: Values, n: int, registers: frozenset[str]) -> tuple[Values, Rows, Rows]:
    """Return the values of all passes of `n` loops, to which loop each belongs, and the lengths of the passes."""
    start, stop = (np.broadcast_to(end, n) for end in ends(block.loop, values))
    counts = np.maximum(stop - start, 0)
    owner = np.repeat(np.arange(n), counts)
    first = np.cumsum(counts) - counts
    inner = {name: value[owner] if isinstance(value, np.ndarray) else value for name, value in values.items()}
    inner[block.loop.name] = np.arange(len(owner)) + (start - first)[owner]
    return inner, owner, _lengths(block.body, inner, len(owner), registers)


def _lengths(body: Body, values: Values, n: int, registers: frozenset[str]) -> Rows:
    """Return the number of accesses of `n` executions of a body, [n]."""
    total = np.zeros(n, np.int64)
    for item in body:
        if isinstance(item, Statement):
            total += sum(access.array not in registers for access in item.accesses)
        elif uses(item.body, item.loop.name):
            _, owner, lengths = _expanded(item, values, n, registers)
            total += _summed(lengths, owner, n)
        else:
            start, stop = ends(item.loop, values)
            total += np.maximum(stop - start, 0) * _lengths(item.body, values, n, registers)
    return total


def _summed(lengths: Rows, owner: Rows, n: int) -> Rows:
    """Return the sum of the lengths of each owner, [n]."""
    return np.bincount(owner, lengths, minlength=n).astype(np.int64)


def ends(loop: Loop, values: Values) -> tuple[Any, Any]:
    """Return the start and the stop of a loop."""
    stop = loop.stop.value(values)
    return loop.start.value(values), np.minimum(stop, loop.cap.value(values)) if isinstance(loop, ClippedLoop) else stop


def uses(body: Body, name: str) -> bool:
    """Return whether a range in a body depends on a loop variable."""
    return any(name in item.loop.range_names or uses(item.body, name) for item in body if isinstance(item, Block))
