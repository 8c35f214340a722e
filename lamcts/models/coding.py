"""Points as a kernel takes them: options of categories, features of permutations, and numbers.

Letters: n rows, p parameters, c categories, w options of all categories, v columns of permutations, q numbers.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lamcts.models.permutation_features import features, widths
from lamcts.spaces.parameters import Mask, Parameters
from lamcts.types import Floats, Rows

INACTIVE_VALUE = 0.5  # of a number's range: the value of an inactive one
NO_OWNER: Rows = np.empty(0, np.int64)  # of rows without categories


@dataclass(frozen=True, eq=False)
class Inputs:
    """Rows for a kernel: the option of each category in `options` [n, c], and `numbers` [n, q].

    An option is its number among the options of all categories. A permutation is several categories, whose features
    (see `permutation_features.py`) are the columns of `orders` [n, v]. owner [w + v]: the category of each option and
    of each column of `orders`.
    """

    options: Rows
    orders: Floats
    numbers: Floats
    owner: Rows

    @classmethod
    def of(cls, numbers: Floats) -> "Inputs":
        """Return the inputs of rows `numbers` [n, q] that have no categories."""
        return cls(np.empty((len(numbers), 0), np.int64), np.empty((len(numbers), 0)), numbers, NO_OWNER)

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def middle(self) -> Floats:
        """The mean of the numbers, [q]."""
        return np.asarray(self.numbers.mean(0))

    @property
    def categories(self) -> int:
        """The number of categories."""
        return int(self.owner[-1]) + 1 if len(self.owner) else 0

    def at(self, rows: Rows) -> "Inputs":
        """Return some of the rows."""
        return Inputs(self.options[rows], self.orders[rows], self.numbers[rows], self.owner)

    def joined(self, other: "Inputs") -> "Inputs":
        """Return the rows, then those of another."""
        options, orders = np.vstack([self.options, other.options]), np.vstack([self.orders, other.orders])
        return Inputs(options, orders, np.vstack([self.numbers, other.numbers]), self.owner)

    def with_numbers(self, numbers: Floats) -> "Inputs":
        """Return the same categories with other numbers [n, q]."""
        return replace(self, numbers=numbers)


class Coding:
    """Makes inputs of codes. A category that is not active has an option of its own for that.

    ordered [q]: the parameters behind the columns of `numbers`. owner: see `Inputs`.

    Where the space has inactive parameters, a number that is not active lies in the middle of its range, and whether it
    is active is one more category.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        moving = parameters.non_constant
        self._categories = np.flatnonzero(parameters.categorical & moving)
        self.ordered: Rows = np.flatnonzero(~parameters.categorical & moving & ~parameters.in_permutation)
        self._orders = [part for part in parameters.permutations if parameters.move_units[part.start]]
        self._switched = self.ordered if parameters.may_be_inactive else self.ordered[:0]
        levels = [own for own in (parameters.levels[i] for i in self._categories) if own is not None]
        counts = [len(own) + 1 for own in levels] + [2] * len(self._switched)
        self._offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        counts += [width for part in self._orders for width in widths(part.stop - part.start)]
        self.owner: Rows = np.repeat(np.arange(len(counts)), counts)
        self.categories = len(counts)
        # most codes of categories are the numbers of their options; the others have to be looked up
        self._looked_up = {k: own for k, own in enumerate(levels) if not np.array_equal(own, np.arange(len(own)))}

    @property
    def numbers(self) -> int:
        return len(self.ordered)

    def __call__(self, z: Floats, active: Mask | None = None) -> Inputs:
        """Return the inputs of codes `z` [n, p]; active [n, p]: None asks the space."""
        active = self._parameters.active(z) if active is None else active
        options = np.hstack([np.where(active[:, self._categories], self._options(z) + 1, 0), active[:, self._switched]])
        groups = [features(z[:, part], active[:, part.start]) for part in self._orders]
        orders = np.hstack(groups) if groups else np.empty((len(z), 0))
        numbers = np.where(active, z, INACTIVE_VALUE)[:, self.ordered]
        return Inputs(self._offsets[:-1] + options, orders, numbers, self.owner)

    def inputs(self, x: Floats) -> Inputs:
        """Return the inputs of valid points `x` [n, d]."""
        return self(self._parameters.codes(x))

    def _options(self, z: Floats) -> Rows:
        """Return the number of each category's option in codes `z` [n, p], [n, c]."""
        options = z[:, self._categories].astype(np.int64)
        for k, levels in self._looked_up.items():
            options[:, k] = np.searchsorted(levels, z[:, self._categories[k]])
        return options
