"""A space seen as parameters, not as coordinates: what discrete searches and their models work on.

Letters: n rows, d coordinates, p parameters. A row of codes z [p] holds one number a parameter: the number of its
option where it is a category, else its coordinate in [0, 1].
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.base import Space, rows_of
from lamcts.spaces.conditions import middle_of
from lamcts.spaces.finite import Finite
from lamcts.spaces.permutation import Permutation, places_of
from lamcts.spaces.product import Space as ProductSpace
from lamcts.types import Floats

Mask = NDArray[np.bool_]

FEW = 20  # parameters, constants apart (untuned: 12 were looked at; in many more dimensions trust regions do better)


class Table(NamedTuple):
    """Parameters that are the columns of a `Finite` space: together they take one of its `rows` [N, k]."""

    part: slice  # which parameters
    rows: Floats


class Parameters:
    """The parameters of a space, and its rows as codes.

    levels: of each parameter the valid codes in ascending order, [k]; None where it takes any value of [0, 1], or too
        many to list. categorical [p]: which are compared by equality alone: unordered options, and all with two values.
    movable [p]: all but the constants. units [p]: those that a move may begin with: the movable ones, of a table the
        first column, which stands for all of them.
    tables: the `Finite` spaces inside, whose columns are parameters that only move together.
    orders: the same of each `Permutation` inside, whose columns are the places of its items. ordering [p]: which are.
    lapsing: whether there are conditions (`when`), so that what is inactive has one code alone, the middle.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        found = list(_described(space))
        masks = list(_masks(space))
        self._masks = [(part, active) for part, active, _ in masks]
        self._lapses = [(part, active) for part, active, lapsing in masks if lapsing]  # those of `when`
        self.lapsing = bool(self._lapses)
        self._parts = [one.part for one in found]
        self._owners = [one.owner for one in found]
        self.levels: tuple[Floats | None, ...] = tuple(one.levels for one in found)
        widths = self.widths = np.array([part.stop - part.start for part in self._parts])
        self.starts = np.array([part.start for part in self._parts])
        counts = np.array([0 if levels is None else len(levels) for levels in self.levels])
        self.categorical: Mask = (widths > 1) | (counts == 2)
        real = space.continuous
        self.continuous: Mask = np.array([bool(real[part].any()) for part in self._parts])
        self.movable: Mask = counts != 1  # the others are constants
        first = [i for i, one in enumerate(found) if one.table is not None]
        rows = [one.table for one in found if one.table is not None]
        self.tables = tuple(Table(slice(i, i + own.shape[1]), own) for i, own in zip(first, rows, strict=True))
        of_orders = [i for i, one in enumerate(found) if one.items]
        self.orders = tuple(slice(i, i + found[i].items) for i in of_orders)
        self.ordering: Mask = np.zeros(len(found), bool)
        self.units: Mask = self.movable.copy()
        for part in self.orders:
            self.ordering[part], self.categorical[part] = True, False
            self.units[part] = False
            self.units[part.start] = part.stop - part.start > 1
        for table in self.tables:
            self.units[table.part] = False
            self.units[table.part.start] = len(table.rows) > 1

    @property
    def conditional(self) -> bool:
        """Whether the space, or one inside it, says which parameters are active."""
        return bool(self._masks)

    @property
    def count(self) -> int:
        return len(self._parts)

    @property
    def mostly_discrete(self) -> bool:
        """Whether half of the parameters or more are discrete, constants apart."""
        return 2 * int(np.count_nonzero(~self.continuous & self.movable)) >= int(np.count_nonzero(self.movable))

    @property
    def partly_discrete(self) -> bool:
        """Whether some parameters are discrete but most real, and they are few: a model of all may begin."""
        few = int(np.count_nonzero(self.movable)) <= FEW
        return few and not self.mostly_discrete and bool((~self.continuous & self.movable).any())

    def codes(self, x: Floats) -> Floats:
        """Return the codes [n, p] of valid rows `x` [n, d]."""
        if self._narrow:
            return x
        return np.column_stack(
            [x[:, part].argmax(1) if part.stop - part.start > 1 else x[:, part.start] for part in self._parts]
        ).astype(np.float64)

    def rows(self, z: Floats) -> Floats:
        """Return the valid rows [n, d] of codes `z` [n, p], the nearest where they are not valid."""
        if self._narrow:
            return self.space.snap(z)
        x = np.zeros((len(z), self.space.dim))
        for i, part in enumerate(self._parts):
            if part.stop - part.start > 1:
                x[np.arange(len(z)), part.start + z[:, i].astype(np.int64)] = 1.0
            else:
                x[:, part.start] = z[:, i]
        return self.space.snap(x)

    def active(self, z: Floats) -> Mask:
        """Return which parameters have a say in the rows of codes `z` [n, p], [n, p]: those that no space rules out."""
        return _both(self._masks, z)

    def entered(self, z: Floats, before: Mask, rng: np.random.Generator) -> Floats:
        """Return codes `z` [n, p] with drawn values for what is active there and was not `before` [n, p].

        What is no longer active is in its middle. Without `when`, the codes as they are.
        """
        if not self.lapsing:
            return z
        z, held = z.copy(), before
        while (new := self.active(z) & ~held).any():  # a value that is drawn may make others active
            drawn = self._any_codes(len(z), rng)
            z[new], held = drawn[new], held | new
        np.copyto(z, self._middle, where=~_both(self._lapses, z))
        return z

    @cached_property
    def _middle(self) -> Floats:
        """The codes of a space all of which is inactive, [p]."""
        middle: Floats = self.codes(middle_of(_bare(self.space))[None])[0]
        return middle

    def _any_codes(self, n: int, rng: np.random.Generator) -> Floats:
        """Return codes [n, p] drawn for every parameter, as if all were active."""
        z = rng.random((n, self.count))
        for i, levels in enumerate(self.levels):
            z[:, i] = self.valid(i, z[:, i]) if levels is None else levels[(z[:, i] * len(levels)).astype(np.int64)]
        for table in self.tables:
            z[:, table.part] = table.rows[rng.integers(0, len(table.rows), n)]
        for part in self.orders:
            z[:, part] = places_of(rng.permuted(np.tile(np.arange(part.stop - part.start), (n, 1)), axis=1))
        return z

    def valid(self, i: int, values: Floats) -> Floats:
        """Return the valid codes nearest to some values of [0, 1] for parameter `i`, which has no list of levels."""
        owner = self._owners[i]
        return values if owner is None else np.asarray(owner.snap(values[:, None])[:, 0], np.float64)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Return the codes of `n` valid rows drawn uniformly, [n, p]."""
        return self.codes(self.space.sample(n, rng))

    @cached_property
    def _narrow(self) -> bool:
        """Whether codes and coordinates are the same."""
        return all(part.stop - part.start == 1 for part in self._parts)


class _Parameter(NamedTuple):
    """Coordinates and levels; of a table's first column its rows; of a number with too many levels the space.

    items: of an order's first column, how many items it has.
    """

    part: slice
    levels: Floats | None
    table: Floats | None = None
    owner: Any = None
    items: int = 0


def _bare(space: Any) -> Any:
    """Return the space without what only adds something to another, such as keys."""
    while hasattr(space, "inner"):
        space = space.inner
    return space


def _masks(space: Any, start: int = 0) -> Iterator[tuple[slice, Callable[[Floats], Any], bool]]:
    """Yield what says which parameters are active, of a space and of all inside it: whose, how, whether by `when`."""
    space = _bare(space)
    if (active := getattr(space, "active", None)) is not None:
        yield slice(start, start + len(list(_described(space)))), active, getattr(space, "conditions", None) is not None
    for member in space.members if isinstance(space, ProductSpace) else ():
        yield from _masks(member, start)
        start += len(list(_described(member)))


def _both(masks: Iterable[tuple[slice, Callable[[Floats], Any]]], z: Floats) -> Mask:
    """Return which parameters are active in codes `z` [n, p] by all masks, [n, p]."""
    result = np.ones(z.shape, bool)
    for part, active in masks:
        result[:, part] &= np.asarray(active(z[:, part]), bool)
    return result


def _lapsing(space: Any) -> bool:
    """Return whether a space, or one inside it, has conditions of its own."""
    space = _bare(space)
    if not isinstance(space, ProductSpace):
        return False
    return space.conditions is not None or any(map(_lapsing, space.members))


def active_coordinates(space: Space, x: Floats) -> Mask:
    """Return which coordinates belong to what is active in valid rows `x` [n, d], [n, d]; all without `when`."""
    if not _lapsing(space):
        return np.ones(x.shape, bool)
    parameters = Parameters(space)
    return np.repeat(parameters.active(parameters.codes(x)), parameters.widths, axis=1)


def _described(space: Any) -> Iterator[_Parameter]:
    """Yield the parameters of a space in the order of their coordinates."""
    space = _bare(space)
    if isinstance(space, ProductSpace):
        for member, part in zip(space.members, space.parts, strict=True):
            for own in _described(member):
                yield own._replace(part=slice(part.start + own.part.start, part.start + own.part.stop))
    elif isinstance(space, Finite):
        for column in range(space.dim):
            levels = np.unique(space.x[:, column])
            yield _Parameter(slice(column, column + 1), levels, None if column else space.x)
    elif isinstance(space, Permutation):
        levels = places_of(np.arange(space.dim)[None])[0]
        for item in range(space.dim):
            yield _Parameter(slice(item, item + 1), levels, items=0 if item else space.dim)
    else:
        yield from _simple(space)


def _simple(space: Any) -> Iterator[_Parameter]:
    for block in space.blocks:
        width = block.stop - block.start
        if width > 1 and len(space.blocks) == 1 and space.size == width:  # one coordinate an option
            yield _Parameter(block, np.arange(width, dtype=np.float64))
        elif space.continuous[block].any() or width > 1 or len(space.blocks) > 1:
            yield from (_Parameter(slice(i, i + 1), None) for i in range(block.start, block.stop))
        else:
            rows = rows_of(space)
            yield _Parameter(block, None, owner=space) if rows is None else _Parameter(block, np.sort(rows[:, 0]))
