"""An objective that looks up networks in a table: one value is searched, others are reported."""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.neural.nas.base import Point
from lamcts.neural.nas.tabled import TabledSpace
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.canonical import Canonical
from lamcts.types import Floats, Json

if TYPE_CHECKING:
    from lamcts.neural.nas.tradeoff import TableTradeOff

DIGITS = 16  # hexadecimal, of a fingerprint: 64 bits, which no two tables share by chance

Columns = Mapping[str, ArrayLike]


@dataclass(frozen=True, eq=False)
class TableObjective:
    """The value of a network from a table.

    Parameters
    ----------
    architectures : TabledSpace
        The space of networks, with texts, pictures and keys.
    codes : array (n,)
        The number of the network in each row; all are different.
    searched : array (n,)
        The value that a call returns, nan if it is missing.
    reported, others : mapping of str to array (n,)
        Further values by name, units in the names: `report` returns the first, `cost` the second.
    keyed : bool, default False
        Whether points of one network count as one, and invalid points are never proposed.
    settings : mapping, default {}
        JSON values that distinguish this objective from others on the same table.
    networks : callable or None, default None
        Returns the point of a row; None: `architectures.point_of` its code.
    maximize : bool, default True
        Whether higher values are better.

    Raises
    ------
    RuntimeError
        By a call, a failed evaluation, for a point that is no valid network or has no row.

    Examples
    --------
    >>> from lamcts import objectives
    >>> f = objectives.make("digits4096")
    >>> len(f), round(f.optimum, 2), round(f(f.best()), 2)
    (4096, 99.07, 99.07)
    """

    architectures: TabledSpace
    codes: NDArray[Any]
    searched: Floats
    reported: Columns
    others: Columns
    keyed: bool = False
    settings: Json = field(default_factory=dict)
    networks: Callable[[int], Point] | None = None
    maximize: bool = True

    x0 = None

    def __post_init__(self) -> None:
        ordered = self.codes[self._order]
        twice = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(twice):
            rows = sorted(map(int, self._order[twice[0] : twice[0] + 2]))
            raise ValueError(f"{self.name}: expected one row a network, got rows {rows} of the same: drop one")
        if not np.isfinite(self.searched).any():
            raise ValueError(f"{self.name}: expected values to search for, got none that is finite")

    @property
    def name(self) -> str:
        return self.architectures.name

    @cached_property
    def space(self) -> SearchSpace:
        inner = self.architectures.space
        return Canonical(inner, self.architectures.key, name=self.name) if self.keyed else inner

    @property
    def optimum(self) -> float:
        """The best of the searched values."""
        return float((np.nanmax if self.maximize else np.nanmin)(self.searched))

    def __len__(self) -> int:
        return len(self.codes)

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        """Return the searched value; `seed` has no effect, since the values have no noise."""
        return float(self.searched[self.row(point)])

    def report(self, point: Point) -> dict[str, float]:
        """Return the reported values of a network, units in the names."""
        return self._values(self.reported, point)

    def cost(self, point: Point) -> dict[str, float]:
        """Return the other columns of the table, units in the names: size, operations, latency; nan if unknown."""
        return self._values(self.others, point)

    def against(self, cost: str) -> "TableTradeOff":
        """Return the value and a cost as two objectives; ValueError if the table has no such cost."""
        from lamcts.neural.nas.tradeoff import TableTradeOff

        return TableTradeOff(self, cost)

    def row(self, point: Point) -> int:
        """Return the row of a network; RuntimeError if `failure` gives a reason."""
        row, reason = self._found(point)
        if reason is not None:
            raise RuntimeError(f"{self.name}: {reason}")
        return row

    def failure(self, point: Point) -> str | None:
        """Return why a point has no value, or None if it has one."""
        return self._found(point)[1]

    def cell(self, row: int) -> Point:
        """Return a point of the network of a row."""
        return self.networks(row) if self.networks else self.architectures.point_of(int(self.codes[row]))

    def cells(self) -> Iterator[Point]:
        """Yield a point of each network of the table, row by row."""
        return map(self.cell, range(len(self)))

    def best(self) -> Point:
        """Return a point with the best of the searched values."""
        return self.cell(int((np.nanargmax if self.maximize else np.nanargmin)(self.searched)))

    def fingerprint(self) -> Json:
        """Return what two runs must share for one to continue the other, as JSON values."""
        return {"table": self.name, **self.settings, "values": self._digest}

    def _values(self, columns: Columns, point: Point) -> dict[str, float]:
        row = self.row(point)
        return {name: float(np.asarray(values)[row]) for name, values in columns.items()}

    def _found(self, point: Point) -> tuple[int, str | None]:
        """Return the row of a point or -1, and why it has no value or None."""
        reason = self.architectures.invalid(point)
        if reason is not None:
            return -1, f"no valid network: {reason}"
        code = np.asarray(self.architectures.code(point), self.codes.dtype)
        place = int(self._sorted.searchsorted(code))
        if place == len(self) or self._sorted[place] != code:
            return -1, f"no row in the table for {self.architectures.text(point)}"
        row = int(self._order[place])
        return row, f"row {row} of the table has no value" if math.isnan(self.searched[row]) else None

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def _sorted(self) -> NDArray[Any]:
        return self.codes[self._order]

    @cached_property
    def _digest(self) -> str:
        content = hashlib.sha256(np.ascontiguousarray(self.codes[self._order], np.uint64).tobytes())
        content.update(np.ascontiguousarray(self.searched[self._order], np.float64).tobytes())
        return content.hexdigest()[:DIGITS]
