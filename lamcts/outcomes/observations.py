"""Evaluations so far, as columns that only grow, and the pending points."""

from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.constrained_rank import FAILED, OK, ConstrainedRanks, constrained_rank, feasible, rankable
from lamcts.outcomes.measured import Predicted, Sems, StandardErrors
from lamcts.outcomes.related import NO_TASKS, RelatedTasks
from lamcts.types import Floats, Point, Rows

CAPACITY = 16  # initial length of the columns, which doubles
CONFIRMING = -2  # source of re-evaluations; searches have numbers from 0, and the design and the user have -1
Column = TypeVar("Column", Floats, Rows, NDArray[np.bool_])
Keys = Callable[[Floats], Sequence[Hashable | None]]


class Columns(NamedTuple):
    """Columns of observations, as `Observations` has them."""

    x: Floats
    f: Floats
    seconds: Floats
    trial: Rows
    source: Rows
    g: Floats
    kind: Rows

    @property
    def y(self) -> Floats:
        """The first losses, [n]."""
        return self.f[:, 0]

    @classmethod
    def of(cls, seen: Any, first: int) -> "Columns":
        """Return copies of the columns of observations, or of a view of them, from row `first` on."""
        return cls(*(np.array(getattr(seen, name)[first:]) for name in cls._fields))


class IncompleteRow(NamedTuple):
    """Known columns of a pending trial: losses f [m] and violations g [c], nan where pending, and standard errors."""

    f: Floats
    g: Floats
    sems: Sems | None


class Observations:
    """Finished evaluations in order of arrival, one row each, and the pending points.

    Columns (read-only views): `x` [n, d] in the unit cube; `f` [n, m] losses (lower is better, nan if failed); `g`
    [n, c] constraint violations (at most 0: satisfied); `kind` [n] (see `constrained_rank`); `seconds` [n] (nan if
    unknown); `trial` [n] (-1: unsolicited); `source` [n], the session that proposed the row (-1: design or user).
    `y` [n] orders the rows: the loss of a single objective without constraints, else the constrained rank, which
    changes as rows arrive; nan for a failed row. Other columns never change. With `repeat`, every point is unseen.
    `keys` maps rows x [n, d] to keys [n] that equal points share, None for an invalid point (`spaces/point_keys.py`);
    without it, points are equal where their codes are. `known` are keys of further points that are not unseen.
    """

    def __init__(
        self,
        dim: int,
        repeat: bool = False,
        keys: Keys | None = None,
        losses: int = 1,
        constraints: int = 0,
        known: Iterable[Hashable] = (),
    ) -> None:
        self.dim = dim
        self.repeat = repeat
        self.plain = losses == 1 and not constraints  # whether losses order the rows
        self.keyed = keys is not None  # whether different codes may be equal points, or invalid
        self._keys: Keys = keys or _bytes
        self._shape = (losses, constraints)
        self._initial_keys = tuple(known)
        self.clear()

    def clear(self) -> None:
        """Forget all rows and pending points; views of columns stay unchanged."""
        losses, constraints = self._shape
        self._n = 0
        self._n_good = 0
        self._x = np.empty((CAPACITY, self.dim))
        self._f = np.empty((CAPACITY, losses))
        self._g = np.empty((CAPACITY, constraints))
        self._kind = np.empty(CAPACITY, np.int64)
        self._seconds = np.empty(CAPACITY)
        self._trial = np.empty(CAPACITY, np.int64)
        self._source = np.empty(CAPACITY, np.int64)
        self._good = np.empty(CAPACITY, np.int64)
        self._feasible = np.empty(CAPACITY, bool)
        self._infeasible = np.empty(CAPACITY, bool)  # ranked rows that are not feasible
        self._best: int | None = None
        self._ranks = ConstrainedRanks(losses, constraints)  # of several columns
        self._known: dict[Hashable, int] = dict.fromkeys(self._initial_keys, 1)  # key -> number of its points
        self._remaining: Remaining | None = None  # points of a finite space, from the first request on
        self.predicted: dict[int, Predicted] = {}  # pruned row -> predicted final losses
        self.sems = StandardErrors()  # row -> standard errors of its losses
        self.exact: dict[int, Point] = {}  # row -> its point as told, where decoding x gives other last digits
        self.related: RelatedTasks = NO_TASKS  # evaluations of other tasks
        self.pending: dict[int, Floats] = {}  # trial number -> x [d], in order of issue
        self.incomplete: dict[int, IncompleteRow] = {}  # number of a pending trial -> its known columns

    def __len__(self) -> int:
        return self._n

    @property
    def x(self) -> Floats:
        return _frozen(self._x[: self._n])

    @property
    def y(self) -> Floats:
        return _frozen(self._f[: self._n, 0] if self.plain else self._constrained_ranks())

    @property
    def f(self) -> Floats:
        return _frozen(self._f[: self._n])

    @property
    def g(self) -> Floats:
        return _frozen(self._g[: self._n])

    @property
    def kind(self) -> Rows:
        return _frozen(self._kind[: self._n])

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Which rows were evaluated and satisfy all constraints, [n]."""
        return _frozen(self._feasible[: self._n])

    def constrained_rank(self, rows: Rows) -> Floats:
        """Return the constrained rank of rows [k] among themselves, [k]; the loss if losses order the rows."""
        if self.plain:
            return np.asarray(self._f[rows, 0])
        return constrained_rank(self._f[rows], self._g[rows], self._kind[rows])

    @property
    def seconds(self) -> Floats:
        return _frozen(self._seconds[: self._n])

    @property
    def trial(self) -> Rows:
        return _frozen(self._trial[: self._n])

    @property
    def source(self) -> Rows:
        return _frozen(self._source[: self._n])

    @property
    def good(self) -> Rows:
        """Ranked rows in order of arrival: successful rows, and checked rows that violate a constraint."""
        return _frozen(self._good[: self._n_good])

    @property
    def best(self) -> int | None:
        """The earliest row of the lowest `y`, None before the first success."""
        if self.plain or not self._n_good:
            return self._best
        return int(self.good[np.argmin(self.y[self.good])])

    @property
    def front(self) -> Rows:
        """The feasible rows that no other feasible row dominates, in order of arrival."""
        return level_front(self.feasible, self.y)

    def best_row(self, rows: Iterable[int], current: int | None = None) -> int | None:
        """Return the first row of the lowest `y` among `current` and `rows`, None without a success."""
        return best_of(self.y, rows, current)

    def append(
        self,
        x: Floats,
        f: Floats,
        seconds: Floats,
        trial: Rows,
        source: Rows,
        g: Floats | None = None,
        kind: Rows | None = None,
    ) -> Rows:
        """Add rows and return their numbers.

        x [k, d], f [k, m] (or [k], where m is 1), g [k, c] (None: not measured), the others [k]. A loss that is not
        finite is stored as nan, and its row has failed unless `kind` is given.
        """
        n_added = len(x)
        self._reserve(self._n + n_added)
        added = slice(self._n, self._n + n_added)
        self._x[added] = x
        self._seconds[added] = seconds
        self._trial[added] = trial
        self._source[added] = source
        f = np.asarray(f, float).reshape(n_added, self._f.shape[1])
        self._f[added] = np.where(np.isfinite(f), f, np.nan)
        self._g[added] = np.nan if g is None else g
        self._kind[added] = np.where(np.isfinite(f).all(1), OK, FAILED) if kind is None else kind
        rows = np.arange(self._n, self._n + n_added)
        self._n += n_added
        self._compare(rows)
        self._count(self._x[added], 1)
        return rows

    def _compare(self, rows: Rows) -> None:
        """Update the ranked rows, and the best row where losses order the rows."""
        is_ranked = rankable(self._g[rows], self._kind[rows])
        is_feasible = feasible(self._g[rows], self._kind[rows])
        self._feasible[rows] = is_feasible
        self._infeasible[rows] = is_ranked & ~is_feasible
        ranked = rows[is_ranked]
        self._good[self._n_good : self._n_good + len(ranked)] = ranked
        self._n_good += len(ranked)
        if not self.plain:
            self._ranks.append(self._f[rows], self._g[rows], is_feasible, is_ranked & ~is_feasible)
        elif len(ranked):
            best_row = int(ranked[np.argmin(self._f[ranked, 0])])
            if self._best is None or self._f[best_row, 0] < self._f[self._best, 0]:
                self._best = best_row

    def _constrained_ranks(self) -> Floats:
        n = self._n
        return self._ranks.of(self._f[:n], self._feasible[:n], self._infeasible[:n])[:]

    def columns(self, first: int = 0) -> Columns:
        """Return copies of the columns from row `first` on."""
        return Columns.of(self, first)

    def point(self, row: int, space: Any) -> Point:
        """Return the point of a row in the user's units, as told."""
        return deepcopy(self.exact[row]) if row in self.exact else space.decode(self._x[row])

    def expect(self, trial: int, x: Floats) -> None:
        """Note that `trial` is pending at `x` [d]; ValueError if it already is."""
        if trial in self.pending:
            raise ValueError(f"expected a trial that is not out, got trial {trial}, which is pending; close it first")
        self.pending[trial] = _frozen(np.array(x))  # a copy: a change of the caller's array would change the key
        self._count(x[None], 1)

    def close(self, trials: Iterable[int]) -> None:
        """Note that these trials are no longer pending; KeyError, before any is closed, if one is not pending."""
        points = {trial: self.pending[trial] for trial in trials}
        for trial, x in points.items():
            self._count(x[None], -1)
            del self.pending[trial]
            self.incomplete.pop(trial, None)

    @property
    def distinct(self) -> int:
        """Number of distinct points, evaluated or pending."""
        return len(self._known)

    def pending_x(self) -> Floats:
        """Return the pending points, [p, d], in order of issue."""
        return np.array(list(self.pending.values())).reshape(len(self.pending), self.dim)

    def unseen(self, x: Floats) -> NDArray[np.bool_]:
        """Return which rows of `x` [k, d] are neither evaluated nor pending, nor equal to an earlier row of `x`."""
        is_unseen = np.ones(len(x), bool)
        if self.repeat and not self.keyed:
            return is_unseen
        earlier: set[Hashable] = set()
        for i, key in enumerate(self._keys(x)):
            if key is None:
                is_unseen[i] = False
            elif not self.repeat:
                is_unseen[i] = key not in self._known and key not in earlier
                earlier.add(key)
        return is_unseen

    def remaining(self, list_rows: Callable[[], Floats | None]) -> Floats | None:
        """Return the unseen points of a finite space, [k, d], in listing order; None if `list_rows` returns None."""
        if self._remaining is None:
            if (rows := list_rows()) is None:
                return None
            self._remaining = Remaining(rows, self._keys(rows), self._known)
        return self._remaining.rows()

    def _count(self, x: Floats, step: int) -> None:
        """Add `step`, 1 or -1, to the counts of points [k, d]."""
        for key, code in zip(self._keys(x), _bytes(x), strict=True):
            key = code if key is None else key
            count = self._known.get(key, 0) + step
            if count:
                self._known[key] = count
            else:
                del self._known[key]
            if self._remaining is not None:
                (self._remaining.take if count else self._remaining.give_back)(key)

    def _reserve(self, n: int) -> None:
        size = len(self._kind)
        if n <= size:
            return
        size = max(n, 2 * size)
        for name in ("_x", "_f", "_g", "_kind", "_seconds", "_trial", "_source", "_good", "_feasible", "_infeasible"):
            old = getattr(self, name)
            new = np.empty((size, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)


def best_of(y: Floats, rows: Iterable[int], current: int | None) -> int | None:
    """Return the first row of the lowest `y` [n] among `current` and `rows`, None without a success."""
    rows = np.fromiter(rows, np.int64)
    rows = rows[np.isfinite(y[rows])]
    if not len(rows):
        return current
    best = int(rows[np.argmin(y[rows])])
    return best if current is None or y[best] < y[current] else current


def level_front(feasible: NDArray[np.bool_], y: Floats) -> Rows:
    """Return the feasible rows of the lowest `y` [n]: all rows of a front have equal constrained ranks."""
    good: Rows = np.flatnonzero(feasible)
    front: Rows = good[y[good] == y[good].min(initial=np.inf)]
    return front


def _bytes(x: Floats) -> list[bytes]:
    """Return the codes of points [n, d] as keys."""
    return [row.tobytes() for row in x + 0.0]  # + 0.0 turns -0.0 into 0.0


def _frozen(column: Column) -> Column:
    column.flags.writeable = False
    return column


class Remaining:
    """Rows [n, d] whose keys are not in `known`; None keys are skipped, equal keys counted once."""

    def __init__(self, rows: Floats, keys: Iterable[Hashable | None], known: Container[Hashable]) -> None:
        self._dim = rows.shape[1]
        self._rows_by_key = {key: row for key, row in zip(keys, rows, strict=True) if key is not None}
        self._positions = {key: i for i, key in enumerate(self._rows_by_key)}
        self._remaining = {key for key in self._rows_by_key if key not in known}

    def rows(self) -> Floats:
        """Return the remaining points in listing order, [k, d]."""
        keys = sorted(self._remaining, key=self._positions.__getitem__)
        return np.array([self._rows_by_key[key] for key in keys]).reshape(len(keys), self._dim)

    def take(self, key: Hashable) -> None:
        self._remaining.discard(key)

    def give_back(self, key: Hashable) -> None:
        if key in self._rows_by_key:
            self._remaining.add(key)
