"""Permutations of items, and their neighbours.

Moves: two items exchanged, one item moved, a stretch reversed. Letters: n rows, k items, m moves.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.base import LISTED, SearchSpace
from lamcts.spaces.choice import Choice
from lamcts.spaces.joint import JointSpace, some_of
from lamcts.spaces.kinds import register
from lamcts.spaces.options import Lookup
from lamcts.spaces.values import MOST_ITEMS, brief, check_items, is_list, items_of, own_copy, read_when, scalar
from lamcts.types import Floats, Point

MOST_COUNTED = 170  # items whose permutations a float can count
MOST_ORDERED = 500  # items: the list of their moves takes 16 k^3 bytes, 2 GB


@register("permutation")
@dataclass(frozen=True, eq=False, repr=False)
class Permutation(JointSpace):
    """All orders of some items, as tuples.

    Parameters
    ----------
    items : int or sequence
        Distinct values of any kind; `Permutation(5)` has the items 0 to 4.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Notes
    -----
    An item's coordinate is its place, scaled to [0, 1]; all coordinates form one parameter. Searches exchange two
    items, move one item, or reverse a stretch. The model compares orders by adjacency, succession, position and
    precedence, and learns the weight of each.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Permutation(["a", "b", "c"])
    >>> space.encode(("c", "a", "b"))
    array([0.5, 1. , 0. ])
    >>> space.size
    6.0
    """

    items: tuple[Point, ...]
    when: Mapping[str, object] | None = field(default=None, kw_only=True)
    _lookup: Lookup = field(init=False, repr=False)

    listed = "items"
    labels = ()

    is_order = True

    def __init__(self, items: int | Sequence[Point], *, when: Mapping[str, object] | None = None) -> None:
        cure = "search for priorities, Box(0, 1, dim=...), and sort the items by them"
        checked = read_items(items, "Permutation([...])", cure, MOST_ORDERED)
        self._set(items=checked, when=read_when(when), _lookup=Lookup(checked))

    @property
    def dim(self) -> int:  # type: ignore[override]
        return len(self.items)

    @property
    def size(self) -> float:
        return float(math.factorial(self.dim)) if self.dim <= MOST_COUNTED else math.inf

    @property
    def levels(self) -> Sequence[Floats]:
        return [places_of(np.arange(self.dim)[None])[0]] * self.dim

    def encode(self, point: Point) -> Floats:
        n = self.dim
        if not is_list(point) or len(point) != n:
            raise ValueError(f"expected a list of {n} items, got {brief(point)}; pass each of them once")
        places = [self._lookup.find(item) for item in point]
        if None in places or len(set(places)) < n:
            odd = next(item for i, item in enumerate(point) if places[i] is None or places[i] in places[:i])
            raise ValueError(
                f"expected each of {brief(list(self.items))} once, got {brief(point)}; look at {brief(odd)}"
            )
        return np.asarray(places_of(np.array([places]))[0])

    def decode(self, x: Floats) -> tuple[Point, ...]:
        return tuple(own_copy(self.items[i]) for i in orders_of(np.asarray(x, np.float64)[None])[0])

    def snap(self, x: Floats) -> Floats:
        """Return the nearest valid rows, the places of sorted coordinates."""
        return places_of(orders_of(x))

    def spread(self, u: Floats) -> Floats:
        return self.snap(u)

    def rows(self) -> Floats | None:
        if self.size * self.dim > LISTED:
            return None
        return places_of(np.array(list(permutations(range(self.dim)))))

    def split(self, point: Point) -> Iterator[tuple[object, SearchSpace, Point]]:
        yield from ((i, Choice(self.items), item) for i, item in enumerate(point, 1))

    def neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Return the rows [m, k] of permutations one move from `x` [k]."""
        moves = _moves(len(x))
        return places_of(orders_of(x[None])[0][moves[some_of(len(moves), rng)]])

    def random_neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        moves = _moves(x.shape[1])
        if not len(moves):
            return x
        drawn = moves[rng.integers(0, len(moves), len(x))]
        return places_of(np.take_along_axis(orders_of(x), drawn, axis=1))


def read_items(items: object, call: str, cure: str, most: int = MOST_ITEMS) -> tuple[Point, ...]:
    """Return a list of items, or the numbers of so many; ValueError for anything else, none, or more than `most`."""
    listed: object = scalar(items)
    if isinstance(listed, int) and not isinstance(listed, bool):
        check_items(listed, cure, most)
        listed = range(listed)
    if not is_list(listed):
        raise ValueError(f"expected a list of items, or their number, got {brief(listed)}; pass {call}")
    check_items(len(listed), cure, most)
    if not (checked := items_of(listed)):
        raise ValueError("expected at least one item, got none; add some, or leave the parameter out")
    return checked


def orders_of(x: Floats) -> NDArray[np.int64]:
    """Return the item at each place, [n, k], in rows of places `x` [n, k]."""
    return np.argsort(x, axis=1, kind="stable")


def places_of(orders: NDArray[np.int64]) -> Floats:
    """Return the places [n, k] of items, from 0 to 1, in orders [n, k]."""
    n, k = orders.shape
    x = np.empty((n, k))
    np.put_along_axis(x, orders, np.broadcast_to(np.arange(k) / max(k - 1, 1), (n, k)), axis=1)
    return x


@lru_cache(maxsize=16)
def _moves(k: int) -> NDArray[np.int64]:
    """Return all moves of k items, each as the permutation that it applies, [m, k]."""
    identity = list(range(k))
    orders = []
    for i in range(k):
        for j in range(i + 1, k):
            swapped = identity.copy()
            swapped[i] = j
            swapped[j] = i
            orders += [swapped, identity[:i] + identity[i : j + 1][::-1] + identity[j + 1 :]]
            orders += [
                [*identity[:i], *identity[i + 1 : j + 1], i, *identity[j + 1 :]],
                [*identity[:i], j, *identity[i:j], *identity[j + 1 :]],
            ]
    moves = np.unique(np.array(orders, np.int64).reshape(-1, k), axis=0)
    moves.flags.writeable = False
    return moves
