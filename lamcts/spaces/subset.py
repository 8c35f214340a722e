"""Subsets of a given size, and the subsets with one item exchanged.

Letters: n rows, d items, m moves.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from lamcts.spaces.base import LISTED, SearchSpace
from lamcts.spaces.choice import Bool
from lamcts.spaces.joint import JointSpace, some_of
from lamcts.spaces.kinds import register
from lamcts.spaces.options import Lookup
from lamcts.spaces.permutation import read_items
from lamcts.spaces.values import brief, is_list, own_copy, read_when, whole
from lamcts.types import Floats, Point, Rows


@register("subset")
@dataclass(frozen=True, eq=False, repr=False)
class Subset(JointSpace):
    """All ways to choose `k` of some items, as tuples in the order of the items.

    Parameters
    ----------
    items : int or sequence
        Distinct values of any kind; `Subset(5, 2)` has the items 0 to 4.
    k : int
        Number of items in a subset, from 1 to the number of items.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Notes
    -----
    A coordinate is 1 where the item is chosen and 0 elsewhere. Searches exchange an item of the subset for one outside
    it. The model learns the weight of each item. An order of the items in a point of yours does not count.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Subset(["a", "b", "c", "d"], 2)
    >>> space.encode(("d", "a"))
    array([1., 0., 0., 1.])
    >>> space.decode([0.2, 0.9, 0.1, 0.3]), space.size
    (('b', 'd'), 6.0)
    """

    items: tuple[Point, ...]
    k: int
    when: Mapping[str, object] | None = field(default=None, kw_only=True)
    _lookup: Lookup = field(init=False, repr=False)

    listed = "items"
    labels = ()

    def __init__(self, items: int | Sequence[Point], k: int, *, when: Mapping[str, object] | None = None) -> None:
        checked = read_items(items, "Subset([...], k)", "choose among groups of items")
        count = whole(k, "k", "pass the number of items in a subset")
        if not 1 <= count <= len(checked):
            raise ValueError(
                f"k: expected 1 to {len(checked)}, the number of items, got {count}; choose fewer, or add some"
            )
        self._set(items=checked, k=count, when=read_when(when), _lookup=Lookup(checked))

    @property
    def dim(self) -> int:  # type: ignore[override]
        return len(self.items)

    @property
    def size(self) -> float:
        try:
            return float(math.comb(self.dim, self.k))
        except OverflowError:
            return math.inf

    @property
    def levels(self) -> Sequence[Floats]:
        return [np.array([0.0, 1.0]) if self.k < self.dim else np.array([1.0])] * self.dim

    def encode(self, point: Point) -> Floats:
        if not is_list(point) or len(point) != self.k:
            raise ValueError(f"expected a list of {self.k} items, got {brief(point)}; pass each of them once")
        x = np.zeros(self.dim)
        for item in point:
            place = self._lookup.find(item)
            if place is None or x[place]:
                odd = f"got {brief(point)}; look at {brief(item)}"
                raise ValueError(f"expected {self.k} distinct items of {brief(list(self.items))}, {odd}")
            x[place] = 1.0
        return x

    def decode(self, x: Floats) -> tuple[Point, ...]:
        return tuple(own_copy(self.items[i]) for i in np.flatnonzero(self.snap(np.asarray(x, np.float64)[None])[0]))

    def snap(self, x: Floats) -> Floats:
        """Return the nearest subsets, of the largest coordinates; of equal ones the first."""
        return _indicators(np.argsort(-x, axis=1, kind="stable")[:, : self.k], self.dim)

    def spread(self, u: Floats) -> Floats:
        return self.snap(u)

    def rows(self) -> Floats | None:
        if self.size * self.dim > LISTED:
            return None
        return _indicators(np.array(list(combinations(range(self.dim), self.k))), self.dim)

    def split(self, point: Point) -> Iterator[tuple[object, SearchSpace, Point]]:
        yield from ((i, Bool(), bool(chosen)) for i, chosen in enumerate(self.encode(point), 1))

    def neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        inside = np.flatnonzero(x > 0.5)
        outside = np.flatnonzero(x <= 0.5)
        pairs = some_of(len(inside) * len(outside), rng)
        near = np.repeat(x[None], len(pairs), axis=0)
        if len(pairs):
            near[np.arange(len(pairs)), inside[pairs // len(outside)]] = 0.0
            near[np.arange(len(pairs)), outside[pairs % len(outside)]] = 1.0
        return near

    def random_neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        if self.k == self.dim:
            return x
        keys = rng.random(x.shape)
        rows = np.arange(len(x))
        result = x.copy()
        result[rows, np.where(x > 0.5, keys, -1.0).argmax(1)] = 0.0
        result[rows, np.where(x > 0.5, -1.0, keys).argmax(1)] = 1.0
        return result


def _indicators(chosen: Rows, dim: int) -> Floats:
    """Return rows [n, d] that are 1 at the `chosen` places [n, k] and 0 elsewhere."""
    x = np.zeros((len(chosen), dim))
    np.put_along_axis(x, chosen, 1.0, axis=1)
    return x
