"""The Pareto front of a run in the user's units, and its knee."""

import csv
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import overload

import numpy as np

from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.hypervolume import default_reference, hypervolume
from lamcts.outcomes.observations import Columns, Observations
from lamcts.text import safe_repr, shortened
from lamcts.types import Floats, Json, Point, Rows, number_of

ROUNDING = 1e-9  # share of a front's range below which distances to the plane of its extremes are equal
MAX_LINES = 20  # points in a repr, which stays readable at a prompt


@dataclass(frozen=True, eq=False)
class FrontPoint:
    """An evaluation on the front, in the user's units.

    Parameters
    ----------
    point : point of the space
        The point.
    values : dict of str to float
        The objectives by name.
    trial : int
        The number of its trial, -1 for a point that the user told.
    constraints : dict of str to float
        The constrained quantities by name, nan if not measured.
    """

    point: Point
    values: dict[str, float]
    trial: int
    constraints: dict[str, float]


class Front(Sequence[FrontPoint]):
    """Evaluations that no other one dominates, as a sequence ordered by the first objective, best first.

    Parameters
    ----------
    points : sequence of FrontPoint
        The evaluations.
    senses : mapping of str to str
        "min" or "max" for each objective by name, in order.
    reference : mapping of str to float or None, default None
        The reference point of hypervolumes by name; None: 10 % of the front's range behind its worst values.

    Examples
    --------
    >>> from lamcts.outcomes.front import Front, FrontPoint
    >>> costs = {(1,): (1.0, 4.0), (2,): (2.0, 1.0), (3,): (4.0, 0.5)}
    >>> points = [FrontPoint(x, dict(zip(("cost", "time"), y)), 0, {}) for x, y in costs.items()]
    >>> front = Front(points, {"cost": "min", "time": "min"})
    >>> front.knee().point
    (2,)
    >>> front.hypervolume({"cost": 5, "time": 5})
    13.5
    """

    def __init__(
        self, points: Sequence[FrontPoint], senses: Mapping[str, str], reference: Mapping[str, float] | None = None
    ):
        self.senses = dict(senses)
        self._signs = signs_of(senses)
        f = self._losses(points)
        self._points: list[FrontPoint] = [points[i] for i in np.lexsort(f.T[::-1])]  # by the first objective, ...
        self._reference = None if reference is None else self._in_order(reference)

    @overload
    def __getitem__(self, index: int) -> FrontPoint: ...
    @overload
    def __getitem__(self, index: slice) -> "Front": ...
    def __getitem__(self, index: int | slice) -> "FrontPoint | Front":
        if isinstance(index, slice):
            return Front(self._points[index], self.senses, self._named(self._reference))
        return self._points[index]

    def __len__(self) -> int:
        return len(self._points)

    @property
    def values(self) -> Floats:
        """The values in the user's units, [k, m], in the order of `senses`."""
        result: Floats = self._signs * self._losses(self._points)
        return result

    @property
    def reference(self) -> dict[str, float] | None:
        """The reference point of `hypervolume` by name: as given, or 10 % of the front's range behind its worst values.

        None for an empty front without a given point.
        """
        if self._reference is None and len(self):
            return self._named(self._signs * default_reference(self._losses(self._points)))
        return self._named(self._reference)

    def hypervolume(self, reference: Mapping[str, float] | Sequence[float] | None = None) -> float:
        """Return the volume between the front and a reference point.

        Parameters
        ----------
        reference : mapping of str to float, sequence of float or None, default None
            A number for each objective, by name or in order: above the points that count where the objective is
            minimised, below them where it is maximised. None: `self.reference`.

        Returns
        -------
        float
            The volume; 0 for an empty front.

        Raises
        ------
        MissingExtra
            For more than four objectives if moocore is not installed.
        """
        point = self.reference if reference is None else reference
        if point is None:
            return 0.0
        return hypervolume(self._losses(self._points), self._signs * self._in_order(point))

    def knee(self) -> FrontPoint:
        """Return the point from which a gain in one objective costs most in the others; see `knee`."""
        if not len(self):
            raise RuntimeError("knee: the front is empty, as no feasible evaluation has succeeded yet")
        return self._points[knee(self._losses(self._points))]

    def rows(self) -> list[Json]:
        """Return a dict for each point: trial, values, constraints, parameters; a list's parameters are x1, x2, ..."""
        return [_row(point) for point in self._points]

    def to_csv(self, path: "str | PathLike[str]") -> None:
        """Write `rows` as a CSV file with a header; the cell of a parameter that a point lacks is empty."""
        rows = self.rows()
        names = dict.fromkeys(name for row in rows for name in row) or ["trial", *self.senses]
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, names)
            table.writeheader()
            table.writerows(rows)

    def __repr__(self) -> str:
        senses = ", ".join(f"{name} ({sense})" for name, sense in self.senses.items())
        return "\n".join([f"<front of {len(self)} point{'s' * (len(self) != 1)}: {senses}>", *self._lines()])

    def _lines(self) -> Iterable[str]:
        """Yield one line for each point: its values in columns, and the point."""
        if not len(self):
            return
        cells = [list(self.senses), *([f"{value:.6g}" for value in row] for row in self.values)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        knee_point = self.knee()
        for row, point in zip(cells[: MAX_LINES + 1], [None, *self._points], strict=False):
            text = "point" if point is None else shortened(safe_repr(point.point))
            numbers = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            yield f"  {numbers}  {text}{'  <- knee' if point is knee_point else ''}"
        if len(self) > MAX_LINES:
            yield f"  ... and {len(self) - MAX_LINES} more"

    def _losses(self, points: Sequence[FrontPoint]) -> Floats:
        values = np.array([[point.values[name] for name in self.senses] for point in points], float)
        losses: Floats = self._signs * values.reshape(len(points), len(self.senses))
        return losses

    def _named(self, numbers: Floats | None) -> dict[str, float] | None:
        return None if numbers is None else dict(zip(self.senses, map(float, numbers), strict=True))

    def _in_order(self, reference: Mapping[str, float] | Sequence[float]) -> Floats:
        """Return a reference as numbers [m]; ValueError unless each objective has a finite number."""
        names = list(self.senses)
        by_name = reference if isinstance(reference, Mapping) else dict(zip(names, reference, strict=False))
        try:
            numbers = np.array([number_of(by_name[name]) for name in names]) if len(reference) == len(names) else None
        except (KeyError, TypeError):
            numbers = None
        if numbers is None or not np.isfinite(numbers).all():
            raise ValueError(
                f"reference: expected a finite number for each of {', '.join(names)}, by name or in order, got "
                f"{safe_repr(reference):.80}"
            )
        return numbers


def signs_of(senses: Mapping[str, str]) -> Floats:
    """Return the factors [m] that turn values into losses and back; ValueError for another sense than min or max."""
    for name, sense in senses.items():
        if sense not in ("min", "max"):
            raise ValueError(f"senses: expected 'min' or 'max' for {name!r}, got {safe_repr(sense):.60}")
    return np.array([-1.0 if sense == "max" else 1.0 for sense in senses.values()])


def knee(f: Floats) -> int:
    """Return the row where the front bends most.

    Parameters
    ----------
    f : array of shape (n, m)
        Losses. Dominated rows and rows that are not finite do not count.

    Returns
    -------
    int
        The number of the row.

    Raises
    ------
    ValueError
        If no row is finite.

    Notes
    -----
    Each column is scaled to the range of the front. The knee has the largest distance to the plane through the corners
    (1, 0, ..., 0) to (0, ..., 0, 1), on the side of the ideal. With two columns the corners are the ends of the front
    [1]_. A front that nowhere goes below the plane has no bend; the row whose worst column is best is returned. Of
    equal rows the most even one is returned, then the first.

    References
    ----------
    .. [1] Das, "On characterizing the knee of the Pareto curve based on normal-boundary intersection", 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.outcomes.front import knee
    >>> knee(np.array([[0.0, 1.0], [0.2, 0.2], [1.0, 0.0]]))
    1
    """
    f = np.asarray(f, float)
    front_rows = np.flatnonzero(non_dominated(np.where(np.isfinite(f), f, np.nan)))
    if not len(front_rows):
        raise ValueError("knee: expected at least one row of finite numbers, got none")
    f = f[front_rows]
    f = f * np.where(np.abs(f).max(0) > 1, 0.25, 1.0)  # a power of 2 is exact, and differences do not overflow
    low = f.min(0)
    extent = f.max(0) - low
    scaled = (f - low) / np.where(extent > 0, extent, 1.0)  # [rows, m], 0 the best
    below = 1 - scaled.sum(1)  # sqrt(m) times the distance to the plane
    bend = np.round(np.maximum(below, 0) / ROUNDING)  # integers, which compare without rounding errors
    worst = np.round(scaled.max(1) / ROUNDING)
    return int(front_rows[np.lexsort((worst, -bend))[0]])


def _row(point: FrontPoint) -> Json:
    row: Json = {"trial": point.trial, **point.values, **point.constraints}
    for name, value in parts_of(point.point):
        row[f"point.{name}" if name in row else name] = value
    return row


def parts_of(point: Point) -> list[tuple[str, object]]:
    """Return the parts of a point by name; those of a list are x1, x2, ..., and a point of one part is "point"."""
    if isinstance(point, Mapping):
        return [(str(name), value) for name, value in point.items()]
    if isinstance(point, (list, tuple, np.ndarray)):
        return [(f"x{i + 1}", value) for i, value in enumerate(point)]
    return [("point", point)]


def unique_rows(rows: Rows, keys: Iterable[Hashable], f: Floats) -> Rows:
    """Return rows [k] without those that repeat an earlier key with equal values f [k, m]."""
    first_rows: dict[Hashable, int] = {}
    for row, key, values in zip(rows.tolist(), keys, f, strict=True):
        first_rows.setdefault((key, values.tobytes()), row)
    return np.array([*first_rows.values()], np.int64)


def front_of(goals: Goals, columns: Observations | Columns, rows: Rows, points: list[Point]) -> Front:
    """Return the front of some rows and their points."""
    names = goals.names
    values = goals.signs * columns.f[rows]
    front_points = [
        FrontPoint(point, dict(zip(names, f, strict=True)), trial, goals.measured(g))
        for point, f, trial, g in zip(
            points, values.tolist(), columns.trial[rows].tolist(), columns.g[rows], strict=True
        )
    ]
    senses = {goal.name: "max" if goal.maximize else "min" for goal in goals.objectives}
    reference = None if goals.reference is None else dict(zip(goals.names, goals.reference, strict=True))
    return Front(front_points, senses, reference)
