"""The user's own table of networks, `nas-table:FILE.csv` among the objectives."""

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from lamcts.neural.nas.base import Point
from lamcts.neural.nas.objective import DIGITS, TableObjective
from lamcts.neural.nas.published import BUDGET
from lamcts.neural.nas.tabled import TabledSpace
from lamcts.neural.nas.tradeoff import TableTradeOff
from lamcts.objectives.base import Entry, family
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.canonical import Canonical, Key
from lamcts.spaces.fixed import OtherValue
from lamcts.spaces.product import Space
from lamcts.study import read_points
from lamcts.types import Floats


@family("nas-table", "networks of your own table, a CSV file with a row for each: nas-table:FILE.csv")
def _entry(path: str) -> Entry:
    return Entry(f"nas-table:{path}", f"networks of {path}", partial(own_table, path), budget=BUDGET)


def own_table(
    path: str | os.PathLike[str],
    objectives: Sequence[str] = (),
    parameters: Sequence[str] = (),
    against: str | None = None,
) -> TableObjective | TableTradeOff:
    """Return the networks of a CSV file as an objective. No network without a row is proposed.

    Parameters
    ----------
    path : path
        A CSV file with a line of names and a row for each network. An empty value is a failed evaluation.
    objectives : list of str, default ()
        The column to minimise, or "-COLUMN": to maximise.
    parameters : list of str, default ()
        The columns that describe a network, or patterns such as "op*". Columns of numbers are ordered, others are
        categorical. Numbers of all other columns are costs.
    against : str or None, default None
        A cost to minimise as second objective.
    """
    if len(objectives) != 1:
        raise ValueError(f"objectives: expected a column, NAME or -NAME, got {', '.join(objectives) or 'none'}")
    value, maximize, name = objectives[0].lstrip("-"), objectives[0].startswith("-"), Path(path).name
    senses = {value: "max" if maximize else "min"} | ({} if against is None else {against: "min"})
    space, points, numbers = read_points(path, senses, parameters)
    searched, settings = numbers.pop(value), {"objective": value, "maximize": maximize}
    costs = {cost: values for cost, values in numbers.items() if np.isfinite(values).any()}
    codes, networks = np.arange(len(points)), OwnSpace(name, space, points)
    made = TableObjective(networks, codes, searched, {}, costs, False, settings, points.__getitem__, maximize)
    return made if against is None else TableTradeOff(made, against, value=value)


class OwnSpace(TabledSpace):
    """The networks of a table with a column for each parameter."""

    def __init__(self, name: str, inner: Space, points: Sequence[Point]) -> None:
        self.name, self._inner = name, inner
        self._rows = {inner.encode(point).tobytes(): row for row, point in enumerate(points)}
        digest = hashlib.sha256(b"".join(self._rows)).hexdigest()[:DIGITS]
        self.space = ListedSpace(inner, self.key, digest, points)

    def invalid(self, point: Point) -> str | None:
        return None if self.code(point) >= 0 else "the table has no row for it"

    def code(self, point: Point) -> int:
        return self._rows.get(self._inner.encode(point).tobytes(), -1)


class ListedSpace(Canonical):
    """Some points of a space, given by a list; the key of others is None."""

    def __init__(self, inner: SearchSpace, key: Key, name: str, points: Sequence[Point]) -> None:
        super().__init__(inner, key, name)
        self.points = points

    def __copy__(self) -> "ListedSpace":  # without its rows, as `fix` changes the space inside
        return ListedSpace(self.inner, self.key, self.name, self.points)

    @cached_property
    def _x(self) -> Floats:
        rows = []
        for point in self.points:
            with suppress(OtherValue):  # under `fix`
                rows.append(self.inner.encode(point))
        if not rows:
            raise ValueError("fix: expected values that a row of the table has, got others; leave one out")
        return np.array(rows)  # [n, d]

    @property
    def size(self) -> float:
        return float(len(self._x))

    def rows(self) -> Floats:
        return self._x

    def spread(self, u: Floats) -> Floats:
        n = len(self._x)
        return self._x[np.minimum(np.floor(u[:, 0] * n), n - 1).astype(np.int64)]
