"""What the elements that a statement reads say about its tiles: one term for each distinct access."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations

from lamcts.movement.costs.statement import Access, Affine, Statement
from lamcts.movement.costs.volume import least

MOST_ORDERED = 5  # loop variables whose orders are all tried: 120 orders


@dataclass(frozen=True)
class Term:
    """A distinct access that is read: `parts` holds the variables of each independent index, such as those of `i+y`."""

    access: Access
    names: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]

    @property
    def plain(self) -> bool:
        """Whether the element determines all variables in its indices, so that there is no sum."""
        return all(len(part) == 1 for part in self.parts)


@lru_cache(maxsize=256)
def terms_of(statement: Statement) -> tuple[Term, ...]:
    """Return the terms of what a statement reads; elements that never change are left out."""
    distinct = {(read.array, read.indices): read for read in statement.reads}
    terms = [_term(read, statement.names) for read in distinct.values()]
    return tuple(term for term in terms if term.names)


def _term(access: Access, loops: tuple[str, ...]) -> Term:
    names = tuple(name for name in loops if name in access.names)
    found = pivots(access, names)
    if len(found) == len(names):
        return Term(access, names, tuple((name,) for name in names))
    parts = [tuple(name for name in names if name in index.names) for index in access.indices]
    parts = [part for part in parts if part]
    separate = sum(len(part) for part in parts) == len(names)  # no variable in two indices
    return Term(access, names, tuple(parts) if separate else tuple((name,) for name in found))


def pivots(access: Access, order: tuple[str, ...]) -> tuple[str, ...]:
    """Return which variables an element determines once all earlier ones in `order` are known."""
    rows = [[Fraction(dict(index.coefficients).get(name, 0)) for name in order] for index in access.indices]
    found: list[str] = []
    for column in reversed(range(len(order))):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        found.append(order[column])
        rows = [_eliminated(row, pivot, column) for row in rows if row is not pivot]
    return tuple(reversed(found))


def _eliminated(row: list[Fraction], pivot: list[Fraction], column: int) -> list[Fraction]:
    factor = row[column] / pivot[column]
    return [a - factor * b for a, b in zip(row, pivot, strict=True)]


def patterns(terms: Sequence[Term], loops: tuple[str, ...]) -> list[list[tuple[str, ...]]]:
    """Return the distinct ways in which the elements determine variables, over orders of those in sums."""
    summed = [name for name in loops if any(name in term.names and not term.plain for term in terms)]
    rest = tuple(name for name in loops if name not in summed)
    orders = permutations(summed) if len(summed) <= MOST_ORDERED else [tuple(summed), tuple(reversed(summed))]
    found = {tuple(tuple(sorted(pivots(term.access, (*rest, *order)))) for term in terms) for order in orders}
    return [list(pattern) for pattern in sorted(found)]


def clash(one: Access, two: Access, statement: Statement, sizes: Mapping[str, int]) -> bool:
    """Return whether two accesses to a written array may read one version of an element (section 2.2, rule 6)."""
    gaps = [a - b for a, b in zip(one.indices, two.indices, strict=True)]
    if all(not set(gap.names) & set(statement.names) for gap in gaps):
        return True
    return not any(least(gap * sign, statement.loops, sizes) > 0 for gap in gaps for sign in (1, -1))


def fillers(
    access: Access, statement: Statement, statements: Sequence[Statement], sizes: Mapping[str, int]
) -> list[Statement]:
    """Return the other statements that may write an element before a statement reads it."""
    own = (access.array, access.indices) == (statement.target.array, statement.target.indices)
    here, found = next(at for at, other in enumerate(statements) if other is statement), list[Statement]()
    for at, other in enumerate(statements):
        if other is statement:
            continue
        shared = min(one.shared for one in statements[min(at, here) + 1 : max(at, here) + 1])
        names = [loop.name for loop in statement.loops[:shared]]
        before = [one for one in (other.accesses if own else [other.target]) if one.array == access.array]
        if any(_may_precede(one, access, statement, names, sizes, at < here) for one in before):
            found.append(other)
    return found


def _may_precede(
    one: Access, access: Access, statement: Statement, shared: Sequence[str], sizes: Mapping[str, int], first: bool
) -> bool:
    """Return whether an access may come before one of a statement to the same element, by the loops that they share."""
    for name in shared:
        place = next((i for i, index in enumerate(one.indices) if index.coefficients == ((name, 1),)), None)
        if place is None:
            return True
        gap = access.indices[place] - one.indices[place]  # by how many passes of this loop it comes later
        if least(gap, statement.loops, sizes) > 0:
            return False
        if gap != Affine():
            return True
    return first


def overlaps(terms: Sequence[Term], statement: Statement, sizes: Mapping[str, int]) -> Callable[[Term, Term], bool]:
    """Return a test of whether two terms may touch one element of an array in any two iterations."""
    arrays = [term.access.array for term in terms]
    spans = {
        term.access: [_span(aspect, statement, sizes) for aspect in _aspects(term.access)]
        for term in terms
        if arrays.count(term.access.array) > 1
    }

    def meet(one: Term, two: Term) -> bool:
        if one.access.array != two.access.array:
            return False
        pairs = zip(spans[one.access], spans[two.access], strict=True)
        return all(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)

    return meet


def _span(expression: Affine, statement: Statement, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return two numbers that the values of an affine expression lie between."""
    return least(expression, statement.loops, sizes), -least(expression * -1, statement.loops, sizes)


def _aspects(access: Access) -> list[Affine]:
    """Return the indices, and the difference of each two."""
    return [*access.indices, *(a - b for a, b in combinations(access.indices, 2))]
