"""Where the elements of a program's arrays are in memory: row-major arrays, one after the other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lamcts.movement.costs.affine import Affine
from lamcts.movement.costs.statement import Access, Statement

MOST = 2**31  # words: addresses are kept in 32 bits

Range = tuple[int, int]  # least and greatest value


@dataclass(frozen=True)
class Layout:
    """Addresses in words, counted from the first array."""

    bases: Mapping[str, int]
    shapes: Mapping[str, tuple[Range, ...]]  # of each array, the range of each index
    sizes: Mapping[str, int]
    words: int  # of all arrays

    @classmethod
    def of(cls, statements: Iterable[Statement], sizes: Mapping[str, int], line_words: int = 1) -> "Layout":
        """Return the layout in order of first appearance; each array starts a line.

        An array reaches from the least to the greatest value of each index, by interval arithmetic: for triangular
        ranges it may hold elements that no iteration accesses.
        """
        shapes = _shapes(statements, sizes)
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


def _shapes(statements: Iterable[Statement], sizes: Mapping[str, int]) -> dict[str, tuple[Range, ...]]:
    """Return the range of each index of each array."""
    shapes: dict[str, tuple[Range, ...]] = {}
    for statement in statements:
        ranges = loop_ranges(statement, sizes)
        for access in statement.accesses:
            found = tuple(affine_range(index, ranges) for index in access.indices)
            known = shapes.get(access.array, found)
            shapes[access.array] = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(known, found, strict=True))
    return shapes


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
