"""What a journal holds, read back and checked: values of the wrong kind or size are errors, never taken over."""

import hashlib
import json
import sqlite3
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamcts.journal import tables
from lamcts.journal.events import read_events
from lamcts.journal.intermediate_values import read_reports
from lamcts.journal.settings import shown
from lamcts.journal.state import Core, Mark, SearchState, State, Waiting
from lamcts.journal.table import damaged, pack
from lamcts.outcomes.constrained_rank import FEASIBLE, KINDS, constrained_rank, feasible, total_violation
from lamcts.outcomes.front import Front, front_of, unique_rows
from lamcts.outcomes.goals import VALUE, Goals
from lamcts.outcomes.measured import Predicted, Sems
from lamcts.outcomes.metrics import Metrics
from lamcts.outcomes.observations import Columns
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.exact import exact_points
from lamcts.types import MAX_SIZE, Floats, Json, JsonValue, Point, Rows

FRONT = "front"  # the rows that no other one dominates
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")


@dataclass(frozen=True, eq=False)
class Recorded:
    """The content of a journal.

    Rows are finished evaluations in order of arrival, [n]; losses are lower for better rows.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.journal import Journal
    >>> opt = lamcts.Optimizer([(0, 1)] * 2, seed=0)
    >>> with Journal.open(":memory:", opt.fingerprint()) as journal:
    ...     opt.tell(opt.ask(3), [3.0, 1.0, 2.0])
    ...     journal.write(opt.delta(journal.mark))
    ...     run = journal.recorded()
    >>> run.values.tolist(), run.best[1:]
    ([3.0, 1.0, 2.0], (1.0, 1))
    """

    path: str
    fingerprint: Json  # space, maximize, sampler, tree, seed, ...
    about: Json  # what the run said of itself
    version: str  # of lamcts
    created: str  # ISO 8601
    core: Core | None  # None: nothing was recorded yet
    columns: Columns
    failures: dict[int, str]
    pending: list[Waiting]
    searches: dict[int, SearchState]
    leaders: list[tuple[int, JsonValue]]  # row and point (as JSON values) of each improvement
    times: Floats  # [n], seconds since 1970 at which a row was written
    asks: int  # how often new points were asked for
    memory: JsonValue = None  # what evaluations have learned, where the objective learns (JSON values)
    proposers: dict[int, str] = field(default_factory=dict)  # row -> the part of its search that proposed it, as an arm
    predicted: dict[int, Predicted] = field(default_factory=dict)  # pruned row -> its predicted final losses
    curves: tuple[dict[int, dict[int, float]], ...] = ({},)  # by objective: trial -> step -> loss there (nan: inf)
    lost: list[Waiting] = field(default_factory=list)  # pending trials without a point
    exact: dict[int, JsonValue] = field(default_factory=dict)  # row -> its point as told, where decoding rounds
    metrics: dict[int, Metrics] = field(default_factory=dict)  # row -> what was told next to its value
    sems: dict[int, Sems] = field(default_factory=dict)  # row -> standard errors of its losses

    @property
    def run_id(self) -> str:
        """Eight letters that tell the run from others: no spreadsheet takes them for a number."""
        code = hashlib.sha256(pack([self.fingerprint, self.created], "the settings").encode()).hexdigest()
        return code[:8].translate(LETTERS)

    @property
    def incomplete(self) -> int:
        """Number of pending trials of which some values are known."""
        return 0 if self.core is None else len(self.core.incomplete)

    @property
    def n(self) -> int:
        return len(self.columns.x)

    @property
    def reports(self) -> dict[int, dict[int, float]]:
        """The losses that trials reported by step, inf for nan: of the first objective; `curves` has each."""
        return self.curves[0]

    @property
    def x(self) -> Floats:
        """The points in the unit cube, [n, d]."""
        return self.columns.x

    @property
    def sampler(self) -> str:
        """The sampler as the call that makes it, with the settings that differ from their defaults."""
        return shown(self.fingerprint.get("sampler"))

    @property
    def goals(self) -> Goals:
        """The objectives and constraints of the run.

        `about` has the name of a single one without constraints, and the reference point.
        """
        goals = Goals.from_signature(self.fingerprint, self.maximize)
        names, given = (self.about.get(name) for name in ("objectives", "reference"))
        if isinstance(given, list) and len(given) == len(goals.names) and all(map(_is_bounded, given)):
            goals = replace(goals, reference=tuple(map(float, given)))
        if not (goals.plain and isinstance(names, list) and len(names) == 1 and isinstance(names[0], str)):
            return goals
        return replace(goals, objectives=(replace(goals.objectives[0], name=names[0] or VALUE),))

    @cached_property
    def y(self) -> Floats:
        """What rows are compared by, [n]: the losses where there is one and no constraint; nan for failures."""
        return constrained_rank(self.columns.f, self.columns.g, self.columns.kind)

    @property
    def seconds(self) -> Floats:
        return self.columns.seconds

    @property
    def trial(self) -> Rows:
        return self.columns.trial

    @property
    def source(self) -> Rows:
        return self.columns.source

    @property
    def maximize(self) -> bool:
        return bool(self.fingerprint.get("maximize", False))

    @property
    def values(self) -> Floats:
        """The values in the user's sign, [n], with several objectives [n, m]; nan for failures."""
        values: Floats = self.goals.signs * self.columns.f
        return values if values.shape[1] > 1 else values[:, 0]

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Which rows were evaluated and keep all constraints, [n]."""
        return feasible(self.columns.g, self.columns.kind)

    def rows_of_kind(self, kind: str | None) -> Rows:
        """Return the rows of one of KINDS, "feasible" or "front", or all (None)."""
        if kind == FRONT:
            return self.front_rows[np.lexsort(self.columns.f[self.front_rows].T[::-1])]
        if kind not in (None, *KINDS, FEASIBLE):
            raise ValueError(f"only: expected {', '.join(KINDS)} or {FEASIBLE}, got {kind!r}")
        if kind is None:
            return np.arange(self.n)
        kept: Rows = np.flatnonzero(self.feasible if kind == FEASIBLE else self.columns.kind == KINDS.index(kind))
        return kept

    @property
    def constraints(self) -> Floats:
        """How far beyond its bound each constraint of `goals` is, [n, c]: at most 0 where it is kept."""
        return self.goals.per_constraint(self.columns.g)

    @property
    def violation(self) -> Floats:
        """By how much constraints are broken in sum, [n]; nan where none was measured."""
        return total_violation(self.columns.g)

    @property
    def best(self) -> tuple[JsonValue, float, int] | None:
        """The best point (JSON values in the user's units), its value in the user's sign, and its row.

        Before a feasible one, the least infeasible. With several objectives, the first of those that no other one is
        better than, and its first value.
        """
        y = self.y
        if not self.leaders or np.isnan(y).all():
            return None
        row = int(np.nanargmin(y))
        return dict(self.leaders).get(row), float(self.goals.signs[0] * self.columns.y[row]), row

    @property
    def lead(self) -> int | None:
        """The row of the best evaluation; with several objectives, of the front's knee."""
        if len(self.goals.objectives) == 1 or not len(front := self.front):
            return None if self.best is None else self.best[2]
        rows = np.flatnonzero(self.trial == (trial := front.knee().trial))
        return int(rows[-1]) if trial >= 0 else None

    @property
    def metric_names(self) -> list[str]:
        """The names of all metrics, in order of arrival."""
        return list(dict.fromkeys(name for row in sorted(self.metrics) for name in self.metrics[row]))

    @property
    def front(self) -> Front:
        """The feasible evaluations that no other one dominates, with points as JSON values in the user's units."""
        points, rows = dict(self.leaders), self.front_rows
        return front_of(self.goals, self.columns, rows, [points.get(row) for row in rows.tolist()])

    @cached_property
    def front_rows(self) -> Rows:
        """The rows of `front`, in order of arrival."""
        points, y = dict(self.leaders), self.y
        rows = np.flatnonzero(self.feasible & (y == np.nanmin(y, initial=np.inf)))
        return unique_rows(rows, (json.dumps(points.get(row)) for row in rows.tolist()), self.columns.f[rows])

    def points(self, space: SearchSpace) -> list[Point]:
        """Return the points in the user's units, as they were told; `space` is the run's."""
        told = exact_points(space, self.x, self.exact)
        return [told[row] if row in told else space.decode(x) for row, x in enumerate(self.x)]

    @property
    def state(self) -> State:
        """What `Optimizer.restore` takes; RuntimeError where nothing was recorded yet."""
        if self.core is None:
            raise RuntimeError("state: nothing was recorded in this journal yet; write a delta first")
        parts = self.columns, self.failures, [*self.pending, *self.lost], self.searches, self.predicted, self.exact
        return State(self.fingerprint, self.core, *parts, self.metrics, self.sems)

    @property
    def mark(self) -> Mark:
        """The moment up to which the journal goes; it does not say how far each search was by then."""
        pending = frozenset(trial.id for trial in [*self.pending, *self.lost])
        best = self.leaders[-1][0] if self.leaders else None
        return Mark(self.n, self.core.trials if self.core else 0, pending, best)


def load(db: sqlite3.Connection, path: str) -> Recorded:
    """Read a whole journal of the present format; JournalError where anything is not as it was written."""
    meta = tables.read_meta(db, path)
    columns, failures, notes = tables.read_rows(db, path, meta)
    times, asks, proposers = read_events(db, path, len(columns.x))
    pending, core = tables.read_pending(db, path), _core(path, meta["core"]) if "core" in meta else None
    if core is None and (len(columns.x) or asks):
        raise damaged(path, "expected an entry core, got none beside rows and events")
    leaders = tables.read_leaders(db, path, len(columns.x))
    if core is not None:
        columns, failed = tables.read_checks(db, path, columns, core.trials)
        again, failures = len(columns.x) - len(times), failures | failed
        times, core = np.append(times, np.full(again, np.nan)), replace(core, trials=core.trials + again)
    return Recorded(
        path=path,
        fingerprint=meta["fingerprint"],
        about=meta["about"],
        version=meta["version"],
        created=meta["created"],
        core=core,
        columns=columns,
        failures=failures,
        pending=[trial for trial in pending if trial.possible],
        searches=tables.read_searches(db, path),
        leaders=leaders,
        times=times,
        asks=asks,
        memory=meta.get("memory"),
        proposers=proposers,
        predicted=notes.predicted,
        exact=notes.points,
        metrics=notes.metrics,
        sems=notes.sems,
        curves=read_reports(db, path, meta["widths"]["losses"]),
        lost=[trial for trial in pending if not trial.possible],
    )


def _is_bounded(number: JsonValue) -> bool:
    return type(number) in (int, float) and abs(number) < MAX_SIZE


def _core(path: str, core: JsonValue) -> Core:
    try:
        return Core.of(core)
    except ValueError as error:
        raise damaged(path, f"the entry core is not as it was written: {error}") from None
