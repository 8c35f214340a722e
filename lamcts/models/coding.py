"""Points as a kernel takes them: options of categories, features of permutations, and numbers.

Letters: n rows, p parameters, c categories, w options of all categories, v columns of permutations, q numbers.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lamcts.models.permutation_features import features, widths
from lamcts.spaces.parameters import Mask, Parameters
from lamcts.types import Floats, Rows

INACTIVE_VALUE = 0.5  # value of an inactive number: the middle of its range
NO_OWNER: Rows = np.empty(0, np.int64)  # `owner` of rows without categories


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of a kernel: the option of each category in `options` [n, c], and `numbers` [n, q].

    An option is coded by its position among the options of all categories. A permutation is several categories; their
    features (see `permutation_features.py`) are the columns of `orders` [n, v]. owner [w + v]: the category of each
    option and of each column of `orders`.
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
        """Mean of the numbers, [q]."""
        return np.asarray(self.numbers.mean(0))

    @property
    def n_categories(self) -> int:
        """Number of categories."""
        return int(self.owner[-1]) + 1 if len(self.owner) else 0

    def at(self, rows: Rows) -> "Inputs":
        """Return the inputs of `rows`."""
        return Inputs(self.options[rows], self.orders[rows], self.numbers[rows], self.owner)

    def joined(self, other: "Inputs") -> "Inputs":
        """Return these rows followed by those of `other`."""
        options, orders = np.vstack([self.options, other.options]), np.vstack([self.orders, other.orders])
        return Inputs(options, orders, np.vstack([self.numbers, other.numbers]), self.owner)

    def with_numbers(self, numbers: Floats) -> "Inputs":
        """Return the same categories with other numbers [n, q or more]."""
        return replace(self, numbers=numbers)


class Coding:
    """Converts codes to inputs. An inactive category takes an extra option.

    ordered [q]: parameters of the columns of `numbers`. owner: see `Inputs`.

    Where parameters may be inactive, an inactive number lies in the middle of its range. One more category then says
    whether the number is active.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        is_used = parameters.non_constant
        self._categories = np.flatnonzero(parameters.categorical & is_used)
        self.ordered: Rows = np.flatnonzero(~parameters.categorical & is_used & ~parameters.in_permutation)
        self._orders = [part for part in parameters.permutations if parameters.move_units[part.start]]
        self._switched = self.ordered if parameters.may_be_inactive else self.ordered[:0]
        levels = [values for values in (parameters.levels[i] for i in self._categories) if values is not None]
        counts = [len(values) + 1 for values in levels] + [2] * len(self._switched)
        self._offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        counts += [width for part in self._orders for width in widths(part.stop - part.start)]
        self.owner: Rows = np.repeat(np.arange(len(counts)), counts)
        self.n_categories = len(counts)
        # most categories are coded by the positions of their options; the others are looked up
        self._looked_up = {
            k: values for k, values in enumerate(levels) if not np.array_equal(values, np.arange(len(values)))
        }

    @property
    def n_numbers(self) -> int:
        return len(self.ordered)

    def __call__(self, z: Floats, active: Mask | None = None) -> Inputs:
        """Return the inputs of codes `z` [n, p]; active [n, p]: None computes it from the space."""
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
        """Return the position of each category's option in codes `z` [n, p], [n, c]."""
        options = z[:, self._categories].astype(np.int64)
        for k, levels in self._looked_up.items():
            options[:, k] = np.searchsorted(levels, z[:, self._categories[k]])
        return options
