"""The state of an optimizer as data: the whole `State`, and a `Delta` of changes since a `Mark`.

An optimizer gives them and takes a state; a journal writes deltas and reads a state, and neither knows the other.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from operator import index

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.constrained_rank import FAILED, KINDS, OK, PARTIAL, PRUNED, WITH_LOSSES
from lamcts.outcomes.measured import Predicted, Sems, predicted_of, predicted_to_json, sems_of, sems_to_json
from lamcts.outcomes.metrics import Metrics, metrics_of
from lamcts.outcomes.observations import Columns
from lamcts.rng import restore
from lamcts.spaces.values import brief, plain
from lamcts.types import Floats, Json, JsonValue, Note, Point

FORMAT = 4  # raised with every change of what is saved
MOST = 2**53  # of a count: sums of counts of many runs stay below 2**63


@dataclass(frozen=True)
class Waiting:
    """A trial that is out: its number, its point x [d] in the unit cube, who asked for it, and the asker's note."""

    id: int
    x: Floats
    session: int
    note: Note

    @property
    def possible(self) -> bool:
        """Whether its coordinates are numbers within [0, 1]."""
        return bool(((self.x >= 0) & (self.x <= 1)).all())


@dataclass(frozen=True)
class SearchState:
    """A live search: its session's state, and the entries of its log from number `logged` on."""

    session: Json
    logged: int
    log: list[JsonValue]


@dataclass(frozen=True)
class Core:
    """The small state that belongs to no row and no single search."""

    trials: int  # issued so far
    designed: int  # points of the design that were issued or skipped
    rng: Json
    searches: int  # begun so far
    converged: list[int]  # rows at which searches have converged
    incomplete: dict[str, Json] = field(default_factory=dict)  # number of a pending trial -> what is known of it

    def to_json(self) -> Json:
        """Return JSON values, without incomplete results where there are none."""
        return {name: entry for name, entry in vars(self).items() if name != "incomplete" or entry}

    @classmethod
    def of(cls, entries: JsonValue) -> "Core":
        """Return the core whose `vars` are given; ValueError where they are none."""
        try:
            core = cls(**{name: entry for name, entry in entries.items() if name != "placements"})  # of older versions
            counts = [core.trials, core.designed, core.searches, *core.converged, *map(int, core.incomplete)]
            if not all(type(count) is int and 0 <= count <= MOST for count in counts):
                raise ValueError(f"expected whole numbers, got {brief(counts)}")
            restore(core.rng)
        except (TypeError, AttributeError, KeyError, OverflowError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from None
        return core


@dataclass(frozen=True)
class State:
    """Everything that goes on bit for bit after a restart."""

    fingerprint: Json
    core: Core
    columns: Columns
    failures: dict[int, str]  # row -> what went wrong
    pending: list[Waiting]
    searches: dict[int, SearchState]
    predicted: dict[int, Predicted] = field(default_factory=dict)  # pruned row -> its predicted final losses
    points: dict[int, Point] = field(default_factory=dict)  # row -> its point as told, where decoding rounds it
    metrics: dict[int, Metrics] = field(default_factory=dict)  # row -> what was told next to its value
    sems: dict[int, Sems] = field(default_factory=dict)  # row -> standard errors of its losses

    def to_json(self) -> Json:
        """Return a copy as JSON values."""
        return deepcopy(
            {
                "format": FORMAT,
                "fingerprint": self.fingerprint,
                "core": self.core.to_json(),
                "columns": _lists(self.columns),
                "failures": {str(row): message for row, message in self.failures.items()},
                "pending": [vars(trial) | {"x": trial.x.tolist()} for trial in self.pending],
                "searches": {str(number): vars(search) for number, search in self.searches.items()},
                "predicted": {str(row): predicted_to_json(each) for row, each in self.predicted.items()},
                "points": {str(row): plain(point) for row, point in self.points.items()},
                "metrics": {str(row): dict(each) for row, each in self.metrics.items()},
                "sems": {str(row): sems_to_json(each) for row, each in self.sems.items()},
            }
        )

    @classmethod
    def of(cls, state: JsonValue, dim: int, losses: int = 1, constraints: int = 0) -> "State":
        """Return the state that `to_json` made for points of `dim` numbers, losses and constraints.

        ValueError for anything else.
        """
        state = deepcopy(state)
        try:
            if state["format"] != FORMAT:
                raise ValueError(f"format {state['format']!r}, this lamcts takes {FORMAT}")
            return cls(
                fingerprint=dict(state["fingerprint"]),
                core=Core.of(state["core"]),
                columns=_columns(state["columns"], dim, losses, constraints),
                failures={int(row): str(message) for row, message in state["failures"].items()},
                pending=[_waiting(trial, dim) for trial in state["pending"]],
                searches={int(number): _search(search) for number, search in state["searches"].items()},
                predicted={int(row): predicted_of(each, losses) for row, each in state.get("predicted", {}).items()},
                points={int(row): point for row, point in state["points"].items()},
                metrics={int(row): metrics_of(each) for row, each in state.get("metrics", {}).items()},
                sems={int(row): sems_of(each, losses) for row, each in state.get("sems", {}).items()},
            )
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
            raise ValueError(
                f"state: expected what state_dict() returned, got {_short(state)} ({_said(error)})"
            ) from None

    @property
    def out(self) -> list[Waiting]:
        """The pending trials that can be evaluated."""
        return [trial for trial in self.pending if trial.possible]

    @property
    def lost(self) -> list[Waiting]:
        """The pending trials without a point: older versions wrote some to journals."""
        return [trial for trial in self.pending if not trial.possible]

    def widened(self, dim: int) -> "State":
        """Return the state for points of `dim` numbers: a journal without rows does not store their width."""
        x = self.columns.x
        return self if len(x) else replace(self, columns=self.columns._replace(x=x.reshape(0, dim)))


def _lists(columns: Columns) -> Json:
    """Return the columns by name; where there is one loss and no constraint it is `y`, and says which rows failed.

    With one loss, `kind` is kept only if a row was pruned, or is below full fidelity.
    """
    lists = {name: column.tolist() for name, column in columns._asdict().items()}
    if columns.f.shape[1] == 1 and not columns.g.shape[1]:
        pruned = ("kind",) if np.isin(columns.kind, (PARTIAL, PRUNED)).any() else ()
        return {name: lists[name] for name in ("x", "seconds", "trial", "source", *pruned)} | {"y": columns.y.tolist()}
    return lists


def _columns(columns: Json, dim: int, losses: int, constraints: int) -> Columns:
    x = _numbers(columns, "x").reshape(-1, dim)
    n, plain = len(x), losses == 1 and not constraints
    f = _numbers(columns, "y" if plain else "f").reshape(n, losses)
    g = np.empty((n, 0)) if plain else _numbers(columns, "g").reshape(n, constraints)
    known = plain and columns.get("kind") is None
    kind = np.where(np.isfinite(f[:, 0]), OK, FAILED) if known else _integers(columns, "kind").reshape(n)
    trial, source = (_integers(columns, name).reshape(n) for name in ("trial", "source"))
    return Columns(x, f, _numbers(columns, "seconds").reshape(n), trial, source, g, kind)


def _numbers(columns: Json, name: str) -> Floats:
    found = np.asarray(columns[name])
    if found.dtype.kind not in "fiu":
        raise ValueError(f"{name}: expected numbers, got {found.dtype}")
    return found.astype(float)


def _integers(columns: Json, name: str) -> NDArray[np.int64]:
    found = np.asarray(columns[name])
    numbers = found.astype(np.int64) if found.dtype.kind in "iu" else np.empty(0, np.int64)
    if not np.array_equal(numbers, found):
        raise ValueError(f"{name}: expected whole numbers, got {brief(found)}")
    return numbers


def _waiting(trial: Json, dim: int) -> Waiting:
    x = _numbers(trial, "x").reshape(dim)
    waiting = Waiting(index(trial["id"]), x, index(trial["session"]), trial["note"])
    if not waiting.possible:
        raise ValueError(f"pending trial {waiting.id}: expected coordinates within [0, 1], got {brief(x.tolist())}")
    return waiting


def _search(search: Json) -> SearchState:
    return SearchState(search["session"], search["logged"], search["log"])


def _short(state: JsonValue) -> str:
    """Return the text of a wrong state: the keys of a dict, or the value."""
    return f"a dict of {brief(list(state))}" if isinstance(state, dict) else brief(state)


def _said(error: Exception) -> str:
    return f"no entry {error}" if isinstance(error, KeyError) else str(error)


def check_consistent(state: State, designed: int) -> None:
    """Raise ValueError where parts of a state contradict each other; `designed` points are in the initial design."""
    core, columns = state.core, state.columns
    n, told = len(columns.x), set(columns.trial.tolist())
    out = [trial.id for trial in state.pending]
    x = np.vstack([columns.x, *(trial.x[None] for trial in state.out)])
    rows = [*state.failures, *core.converged, *state.predicted, *state.points, *state.metrics, *state.sems]
    pruned, evaluated = columns.kind == PRUNED, np.isin(columns.kind, WITH_LOSSES)
    measured = np.asarray(np.isfinite(columns.f).any(1))  # of a failed row perhaps some losses
    checks = {
        "coordinates within [0, 1]": bool(((x >= 0) & (x <= 1)).all()),
        "losses and constraints below infinity": not (np.isinf(columns.f).any() or np.isinf(columns.g).any()),
        "kinds of rows that are known": bool(np.isin(columns.kind, range(len(KINDS))).all()),
        "losses of the rows that succeeded": bool((np.isfinite(columns.f).all(1) == evaluated).all()),
        "predictions of pruned rows": all(pruned[[row for row in state.predicted if 0 <= row < n]]),
        "standard errors of rows with a loss": all(measured[[row for row in state.sems if 0 <= row < n]]),
        f"between 0 and {designed} points of the design": core.designed <= designed,
        "fewer trials told and out than issued": max([*told, *out], default=-1) < core.trials,
        "each pending trial once, and not told": len({*out}) == len(out) and not told & {*out},
        "incomplete results of pending trials": {*map(int, state.core.incomplete)} <= {*out},
        "fewer live searches than begun": max(state.searches, default=-1) < core.searches,
        f"rows below {n}": all(0 <= row < n for row in rows),
    }
    for expected, holds in checks.items():
        if not holds:
            raise ValueError(f"state: expected {expected}, got a state that contradicts itself")


@dataclass(frozen=True)
class Mark:
    """A moment of a run: what had happened by then."""

    rows: int = 0
    trials: int = 0  # issued
    pending: frozenset[int] = frozenset()
    best: int | None = None  # the best row
    searches: Mapping[int, tuple[int, int]] | None = None  # number -> revision, entries in its log; None: write all

    @property
    def known(self) -> Mapping[int, tuple[int, int]]:
        return self.searches or {}


@dataclass(frozen=True)
class Delta:
    """What happened from one mark to another, and what then was."""

    since: Mark
    until: Mark
    columns: Columns  # of the new rows
    failures: dict[int, str]  # of the new rows
    issued: list[Waiting]  # those of the new trials that are out
    closed: list[int]  # trials that were out at the first mark and are not any more
    searches: dict[int, SearchState]  # those that changed, with the new entries of their logs
    ended: list[int]
    core: Core
    leaders: list[tuple[int, Point]]  # rows that are the best, or on the front, and were not, with their points
    proposers: dict[int, str]  # new rows -> the part of its search that proposed it, where it has parts
    predicted: dict[int, Predicted] = field(default_factory=dict)  # of the new rows
    points: dict[int, Point] = field(default_factory=dict)  # of the new rows, as told
    metrics: dict[int, Metrics] = field(default_factory=dict)  # of the new rows
    sems: dict[int, Sems] = field(default_factory=dict)  # of the new rows
