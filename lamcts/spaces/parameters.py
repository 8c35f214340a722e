"""A space seen as parameters, not as coordinates: what discrete searches and their models work on.

Letters: n rows, d coordinates, p parameters. A row of codes z [p] holds one number a parameter: the number of its
option where it is a category, else its coordinate in [0, 1].
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.base import Space
from lamcts.spaces.finite import Finite
from lamcts.spaces.product import Space as ProductSpace
from lamcts.types import Floats

Mask = NDArray[np.bool_]


class Parameters:
    """The parameters of a space, and its rows as codes.

    levels: of each parameter the valid codes in ascending order, [k]; None where it takes any value of [0, 1], or too
        many to list. categorical [p]: which are compared by equality alone: unordered options, and all with two values.
    table: the codes of a `Finite` space [N, p], whose columns are its parameters; None for all other spaces.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        found = list(_described(space))
        self._parts = [part for part, _ in found]
        self.levels: tuple[Floats | None, ...] = tuple(levels for _, levels in found)
        widths = self.widths = np.array([part.stop - part.start for part in self._parts])
        counts = np.array([0 if levels is None else len(levels) for levels in self.levels])
        self.categorical: Mask = (widths > 1) | (counts == 2)
        self.continuous: Mask = np.array([bool(space.continuous[part].any()) for part in self._parts])
        self.movable: Mask = counts != 1  # the others are constants
        self.table: Floats | None = space.x if isinstance(space, Finite) else None

    @property
    def conditional(self) -> bool:
        """Whether the space says which parameters are active."""
        return hasattr(self.space, "active")

    @property
    def count(self) -> int:
        return len(self._parts)

    @property
    def mostly_discrete(self) -> bool:
        """Whether half of the parameters or more are discrete."""
        return 2 * int(np.count_nonzero(~self.continuous)) >= self.count

    def codes(self, x: Floats) -> Floats:
        """Return the codes [n, p] of valid rows `x` [n, d]."""
        if self._narrow:
            return x
        return np.column_stack(
            [x[:, part].argmax(1) if part.stop - part.start > 1 else x[:, part.start] for part in self._parts]
        ).astype(np.float64)

    def rows(self, z: Floats) -> Floats:
        """Return the valid rows [n, d] of codes `z` [n, p]; of a table's the nearest."""
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
        """Return which parameters have a say in the rows of codes `z` [n, p], [n, p]: all, where the space says no."""
        space: Any = self.space
        return np.asarray(space.active(z), bool) if self.conditional else np.ones(z.shape, bool)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Return the codes of `n` valid rows drawn uniformly, [n, p]."""
        return self.codes(self.space.sample(n, rng))

    @cached_property
    def _narrow(self) -> bool:
        """Whether codes and coordinates are the same."""
        return all(part.stop - part.start == 1 for part in self._parts)


def _described(space: Any) -> Any:
    """Yield the coordinates and the levels of each parameter."""
    inner = getattr(space, "inner", None)  # of a space that only adds something to another
    if inner is not None:
        yield from _described(inner)
    elif isinstance(space, ProductSpace):
        for member, part in zip(space.members, space.parts, strict=True):
            for own, levels in _described(member):
                yield slice(part.start + own.start, part.start + own.stop), levels
    elif isinstance(space, Finite):
        for column in range(space.dim):
            yield slice(column, column + 1), np.unique(space.x[:, column])
    else:
        yield from _simple(space)


def _simple(space: Any) -> Any:
    for block in space.blocks:
        width = block.stop - block.start
        if width > 1 and len(space.blocks) == 1 and space.size == width:  # one coordinate an option
            yield block, np.arange(width, dtype=np.float64)
        elif space.continuous[block].any() or width > 1 or len(space.blocks) > 1:
            yield from ((slice(i, i + 1), None) for i in range(block.start, block.stop))
        else:
            rows = getattr(space, "rows", lambda: None)()
            yield block, None if rows is None else np.sort(rows[:, 0])
