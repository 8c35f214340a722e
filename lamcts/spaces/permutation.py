"""Orders of items: each of them once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.coded import LISTED, Coded, text_of
from lamcts.spaces.conditions import read_when
from lamcts.spaces.values import Lookup, brief, is_list, plain, scalar
from lamcts.types import Floats

LARGEST = 170  # items whose orders a float can count


@dataclass(frozen=True, eq=False)
class Permutation(Coded):
    """The items in any order, as a tuple; `Permutation(5)` stands for the items 0 to 4.

    items: any values that differ from each other, as in `Choice`. when: as of `Float`.

    An item's coordinate is its place, from 0 to 1; all of them are one parameter. Searches move by exchanges of two
    items, by one item to another place, and by a stretch turned round; their model looks at who is beside whom, who
    stands where, and who comes before whom, and learns which of these counts.
    """

    items: tuple[Any, ...]
    when: Mapping[str, Any] | None = field(default=None, kw_only=True)
    _lookup: Lookup = field(init=False, repr=False)

    __repr__ = text_of

    def __init__(self, items: int | Sequence[Any], *, when: Mapping[str, Any] | None = None) -> None:
        given: Any = scalar(items)
        given = range(given) if isinstance(given, int) and not isinstance(given, bool) else given
        if not is_list(given):
            raise ValueError(f"expected a list of items, or their number, got {brief(given)}; pass Permutation([...])")
        kept = tuple(given.tolist() if isinstance(given, np.ndarray) else map(scalar, given))
        if not kept:
            raise ValueError("expected at least one item, got none; add some, or leave the parameter out")
        for name, value in (("items", kept), ("when", read_when(when)), ("_lookup", Lookup(kept))):
            object.__setattr__(self, name, value)

    @property
    def dim(self) -> int:  # type: ignore[override]
        return len(self.items)

    @property
    def size(self) -> float:
        return float(math.factorial(self.dim)) if self.dim <= LARGEST else math.inf

    def encode(self, point: Any) -> Floats:
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

    def decode(self, x: Floats) -> tuple[Any, ...]:
        return tuple(self.items[i] for i in orders_of(np.asarray(x, np.float64)[None])[0])

    def snap(self, x: Floats) -> Floats:
        """Return the nearest valid rows: the places of sorted coordinates are the nearest of all."""
        return places_of(orders_of(x))

    def spread(self, u: Floats) -> Floats:
        return self.snap(u)

    def rows(self) -> Floats | None:
        if self.size * self.dim > LISTED:
            return None
        return places_of(np.array(list(permutations(range(self.dim)))))

    def signature(self) -> dict[str, Any]:
        return {"kind": "permutation", "items": plain(self.items)} | self._condition()

    @cached_property
    def numbered(self) -> bool:
        """Whether the items are 0 to n - 1."""
        return all(type(item) is int and item == i for i, item in enumerate(self.items))


def orders_of(x: Floats) -> NDArray[np.int64]:
    """Return which item stands where [n, k] in rows of places `x` [n, k]; of equal ones the first item comes first."""
    return np.argsort(x, axis=1, kind="stable")


def places_of(orders: NDArray[np.int64]) -> Floats:
    """Return the places [n, k] of items, from 0 to 1, in orders [n, k]."""
    n, k = orders.shape
    x = np.empty((n, k))
    np.put_along_axis(x, orders, np.broadcast_to(np.arange(k) / max(k - 1, 1), (n, k)), axis=1)
    return x
