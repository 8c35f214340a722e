"""A table of points."""

import hashlib
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.spaces.base import SearchSpace
from lamcts.spaces.float import Float
from lamcts.spaces.joint import JointSpace
from lamcts.spaces.options import Lookup, labelled
from lamcts.spaces.values import List, brief, freeze, is_list, own_copy, plain, read_when
from lamcts.types import Floats, Json, Point, array_of

if TYPE_CHECKING:
    from scipy.spatial import KDTree

FEW_COLUMNS = 12  # up to here a k-d tree beat brute force at N = 10,000 and 400,000 uniform rows (2000 queries)
NEAREST = 32  # neighbours of a row: more cost predictions of the model, fewer narrow the search
CHUNK = 2000  # rows of the table, or queries, at a time: a block of distances takes 32 MB


class Finite(JointSpace):
    """The points of a list; no other point is proposed.

    Parameters
    ----------
    points : sequence, or array of shape (N,) or (N, k)
        Distinct values of any kind, found by equality as in `Choice`.
    features : array_like of shape (N, k), optional
        Numbers that tell which points are similar, scaled to the unit cube column by column; by default the points
        themselves. A row x decodes to the point with the nearest features.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Finite(["small", "medium", "large"], features=[[1, 10], [2, 20], [4, 50]])
    >>> space.encode("large")
    array([1., 1.])
    >>> space.decode([0.3, 0.2])
    'medium'
    """

    def __init__(
        self,
        points: List,
        features: ArrayLike | None = None,
        *,
        when: Mapping[str, object] | None = None,
    ) -> None:
        self.when = read_when(when)
        if not is_list(points):
            raise ValueError(f"expected a list of points, got {brief(points)}; pass Finite([...])")
        if not len(points):
            raise ValueError("expected at least one point, got none; pass the table's rows")
        self.points = _kept(points)
        table = _table(points if features is None else features, len(points), features is None)
        low = table.min(axis=0)
        with np.errstate(over="ignore"):
            width = table.max(axis=0) - low  # [k]
        if np.isinf(width).any():
            raise ValueError(f"expected features less than 1.8e308 apart, got column {np.argmax(width)}; scale it down")
        self.x: Floats = (table - low) / np.where(width > 0, width, 1.0) + 0.0  # [N, k]
        self.x.flags.writeable = False
        self.dim = self.x.shape[1]
        numeric = isinstance(self.points, np.ndarray) and self.points.dtype.kind in "iufb"
        self._places = Lookup(self.points, _bytes if numeric else freeze)
        try:
            Lookup(self.x, _bytes)
        except ValueError as error:
            raise ValueError(f"points must differ in their features: {error}, or add a feature") from None
        self._rows = {key: place for place, key in enumerate(_keys(self.x))}

    @property
    def size(self) -> float:
        return float(len(self.points))

    @property
    def levels(self) -> list[Floats]:
        return [np.unique(column) for column in self.x.T]

    def rows(self) -> Floats:
        return self.x

    def encode(self, point: Point) -> Floats:
        try:
            place = self._places.find(point)
        except Exception:  # a point of the user may raise anything
            place = None
        if place is None:
            raise ValueError(f"expected one of the {len(self.points)} points of the table, got {brief(point)}; add it")
        x: Floats = self.x[place].copy()
        return x

    def decode(self, x: Floats) -> Point:
        return own_copy(self.points[int(self.nearest(np.asarray(x)[None])[0])])

    def snap(self, x: Floats) -> Floats:
        return self.x[self.nearest(x)]

    def spread(self, u: Floats) -> Floats:
        n = len(self.points)
        return self.x[np.minimum(np.floor(u[:, 0] * n), n - 1).astype(np.int64)]

    def nearest(self, x: Floats) -> NDArray[np.int64]:
        """Return the table's row numbers [n] nearest to the rows of `x` [n, dim]."""
        position_of = self._rows.get  # a valid row, the usual case, needs no search
        places = np.array([position_of(key, -1) for key in _keys(x)], np.int64)
        invalid = np.flatnonzero(places < 0)
        if len(invalid):
            places[invalid] = self._search(np.clip(x[invalid], 0.0, 1.0))
        return places

    def _search(self, x: Floats) -> NDArray[np.int64]:
        if self.dim <= FEW_COLUMNS:
            return np.asarray(self._tree.query(x)[1], np.int64)
        return np.concatenate([_brute(x[i : i + CHUNK], self.x, self._half_norms) for i in range(0, len(x), CHUNK)])

    @cached_property
    def _tree(self) -> "KDTree":
        from scipy.spatial import KDTree

        return KDTree(self.x)

    @cached_property
    def _half_norms(self) -> Floats:
        return np.asarray(np.einsum("nk,nk->n", self.x, self.x) / 2, np.float64)

    def neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Return the rows of the table that differ from `x` [k] in one column, and near ones."""
        n_different = (self.x != x).sum(1)
        near: Floats = self.x[n_different == 1]
        others = np.flatnonzero(n_different > 1)
        missing = min(NEAREST - len(near), len(others))
        if missing <= 0:
            return near
        squares = np.square(self.x[others] - x).sum(1)
        radius = np.partition(squares, missing - 1)[missing - 1]  # cheaper than to sort a large table
        candidates = np.flatnonzero(squares <= radius)
        nearest = others[candidates[np.argsort(squares[candidates], kind="stable")[:missing]]]
        return np.vstack([near, self.x[nearest]])

    def random_neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        result = x.copy()
        starts, owner = np.unique(x, axis=0, return_inverse=True)
        for number, start in enumerate(starts):
            rows = np.flatnonzero(owner.ravel() == number)
            near = self.neighbours(start, rng)
            result[rows] = near[rng.integers(0, len(near), len(rows))]
        return result

    def split(self, point: Point) -> Iterator[tuple[object, SearchSpace, Point]]:
        """Yield the columns of a table of numbers as ranges; nothing of another table."""
        try:
            rows = [[float(number) for number in _row(row_point)] for row_point in (point, *self.points)]
        except (TypeError, ValueError):
            return
        for i, (value, *column) in enumerate(zip(*rows, strict=True), 1):
            yield i, Float(min(column), max(column)), value

    def signature(self) -> Json:
        settings = {"kind": "finite", "size": len(self.points), "dim": self.dim, "sha256": self._digest}
        return settings | self._condition()

    @cached_property
    def _digest(self) -> str:
        content = hashlib.sha256(self.x.tobytes())
        points = self.points.tolist() if isinstance(self.points, np.ndarray) else self.points
        for point in points:
            content.update(json.dumps(plain(point, labelled), sort_keys=True).encode())
        return content.hexdigest()

    def __repr__(self) -> str:
        return f"Finite({len(self.points)} points, dim={self.dim}{self._ending()})"


def _kept(points: List) -> tuple[Point, ...] | NDArray[Any]:
    """Return a copy of the points that later changes of the user's list do not affect."""
    if not isinstance(points, np.ndarray):
        return tuple(map(own_copy, points))
    if points.ndim == 1:
        return tuple(points.tolist())
    table = points.copy()
    table.flags.writeable = False
    return table


def _table(features: object, n: int, from_points: bool) -> Floats:
    """Return the features as [n, k]."""
    cure = "pass features=..., one row of numbers a point"
    try:
        table = array_of(features)
    except TypeError:  # ragged, say
        table = np.asarray(None)
    if table.dtype.kind not in "iufb":
        what = "points" if from_points else "features"
        raise ValueError(f"expected {what} that are rows of numbers, got {brief(features)}; {cure}")
    table = table.astype(np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n or not table.shape[1]:
        raise ValueError(f"expected features of shape ({n}, k), got shape {table.shape}; {cure}")
    if not np.isfinite(table).all():
        raise ValueError(f"expected finite features, got {brief(table[~np.isfinite(table).all(1)][0])}; fill the gaps")
    return table


def _row(point: Point) -> Iterable[Any]:
    return point if hasattr(point, "__iter__") and not isinstance(point, (str, Mapping)) else [point]


def _brute(x: Floats, table: Floats, half_norms: Floats) -> NDArray[np.int64]:
    """Return the row numbers of `table` [N, k] nearest to the rows of `x` [n, k]."""
    best = np.full(len(x), np.inf)
    places = np.zeros(len(x), np.int64)
    for start in range(0, len(table), CHUNK):
        scores = half_norms[start : start + CHUNK] - x @ table[start : start + CHUNK].T  # [n, chunk]
        positions = scores.argmin(axis=1)
        lowest = scores[np.arange(len(x)), positions]
        is_closer = lowest < best
        best[is_closer] = lowest[is_closer]
        places[is_closer] = positions[is_closer] + start
    return places


def _keys(x: Floats) -> list[bytes]:
    """Return a key for each row of `x` [n, dim] that equal rows share."""
    content = (x + 0.0).astype(np.float64, copy=False).tobytes()  # + 0.0 turns -0.0 into 0.0
    width = 8 * x.shape[1]
    return [content[i : i + width] for i in range(0, len(content), width)]


def _bytes(row: object) -> Hashable:
    numbers = array_of(row)
    if numbers.dtype.kind == "c":
        raise TypeError("expected real numbers, got complex ones")
    return (numbers.astype(np.float64, copy=False) + 0.0).tobytes()  # + 0.0 turns -0.0 into 0.0
