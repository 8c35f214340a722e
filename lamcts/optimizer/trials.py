"""Trials: pending trials, failed trials that may get a value, and checks of the arguments of `tell`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from lamcts.journal.state import Waiting
from lamcts.optimizer.incomplete import Incomplete
from lamcts.optimizer.losses import Outcomes, as_list, list_of, merged, missing_names, outcomes_of, seconds_of
from lamcts.optimizer.sessions import TrialResult
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK, PARTIAL, PRUNED
from lamcts.outcomes.front import parts_of
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.metrics import Metrics, storable
from lamcts.outcomes.observations import Observations
from lamcts.outcomes.trial import Trial
from lamcts.rng import Purpose, derive
from lamcts.spaces.base import SearchSpace, unwrapped
from lamcts.spaces.exact import exact, is_same
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.types import Floats, Json, Note, Point, Rows

NO_POINTS: Mapping[bytes, Point] = MappingProxyType({})
FINAL = (OK, PRUNED, PARTIAL)  # kinds of rows whose trials accept no further result


class CheckedResults(NamedTuple):
    """Checked results that are not stored yet: codes x [k, d], outcomes, seconds [k].

    `trials` [k]: the trial of each result, None for an unsolicited point. `points` [k]: points as told, None where
    decoding x gives the same point. `metrics` [k]: metrics of each result. `moved`: the trial number of a single result
    at another point. `incomplete`: results with pending columns, by trial number.
    """

    trials: list[Trial | None]
    x: Floats
    outcomes: Outcomes
    seconds: Floats
    points: list[Point]
    metrics: list[Metrics]
    moved: int | None = None
    incomplete: Mapping[int, Incomplete] = MappingProxyType({})

    @property
    def numbers(self) -> Rows:
        """The numbers of the trials, [k], -1 for an unsolicited point."""
        if self.moved is not None:
            return np.array([self.moved])
        return np.array([-1 if trial is None else trial.id for trial in self.trials], np.int64)

    @property
    def sources(self) -> Rows:
        """The numbers of the searches that proposed the points, [k], -1 without a search."""
        return np.array([-1 if trial is None else trial.session for trial in self.trials], np.int64)


class _Told(NamedTuple):
    """The arguments of `tell` for one trial."""

    trial: Trial
    value: Any
    constraints: object
    seconds: float
    metrics: object


class Trials:
    """The trials of a run by number; `points` are exact points of the initial design by the bytes of their codes."""

    def __init__(
        self, space: SearchSpace, seen: Observations, seed: int, goals: Goals, points: Mapping[bytes, Point] = NO_POINTS
    ) -> None:
        self._space = space
        self._seen = seen
        self._seed = seed
        self._goals = goals
        self._points = points
        self._fidelity = FidelityAxis.of(space)
        self.pending: dict[int, Trial] = {}
        self.incomplete: dict[int, Incomplete] = {}  # known columns of pending trials
        self.late: dict[int, Trial] = {}  # failed or checked trials, which may still get a value
        self.n_issued = 0

    def issue(self, x: Floats, session: int, note: Note) -> Trial:
        """Return a new pending trial at x [d]."""
        self.n_issued += 1
        return self._add_pending(Waiting(self.n_issued - 1, x, session, note))

    def _add_pending(self, waiting: Waiting) -> Trial:
        x = np.array(waiting.x, dtype=float) + 0.0
        x.flags.writeable = False
        seed = derive(self._seed, Purpose.EVALUATION, waiting.id)
        trial = Trial(waiting.id, self._point(x), x, seed, int(waiting.session), waiting.note)
        self.pending[trial.id] = trial
        self._seen.expect(trial.id, x)
        return trial

    def _point(self, x: Floats) -> Point:
        """Return the point to issue for a code [d]."""
        return self._exact(x) if x.tobytes() in self._points else self._space.decode(x)

    def _exact(self, x: Floats) -> Point:
        """Return a copy of the exact point of a code [d], None if decoding gives it."""
        return deepcopy(self._points.get(x.tobytes()))

    def check(
        self,
        trials: Trial | Sequence[Trial],
        values: object,
        constraints: object,
        seconds: object,
        metrics: object = None,
    ) -> CheckedResults:
        """Check the arguments of `tell`, and change nothing; ValueError names the first mistake."""
        is_single = isinstance(trials, Trial)
        given = [trials] if isinstance(trials, Trial) else list_of(trials, "tell: expected trials that ask() returned")
        n = len(given)
        columns = (
            [self.record_of(trial) for trial in given],
            self._list_for(values, n, "values", is_single),
            self._list_for(constraints, n, "constraints", is_single),
            seconds_of(seconds, n).tolist(),
            self._list_for(metrics, n, "metrics", is_single),
        )
        numbers = [trial.id for trial in columns[0]]
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"tell: expected each trial once in a call, got the numbers {numbers}")
        entries = [self._with_earlier(_Told(*entry)) for entry in zip(*columns, strict=True)]
        incomplete = {
            entry.trial.id: self._incomplete(entry)
            for entry in entries
            if entry.trial.id in self.pending and missing_names(entry.value, entry.constraints, self._goals)
        }
        entries = [entry for entry in entries if entry.trial.id not in incomplete]
        records = [entry.trial for entry in entries]
        constraint_values = [entry.constraints for entry in entries]
        outcomes = outcomes_of([entry.value for entry in entries], constraint_values, self._goals)
        self._fill_failed(records, outcomes)
        for trial, kind, message in zip(records, outcomes.kind, outcomes.messages, strict=True):
            if trial.id in self.late and kind != OK and not self._is_checked(trial):
                raise ValueError(f"trial {trial.id} was told as failed already: expected a value now, got {message}")
        x = self._matrix([trial.x for trial in records])
        return CheckedResults(
            trials=[*records],
            x=x,
            outcomes=self.by_fidelity(outcomes, x),
            seconds=np.array([entry.seconds for entry in entries], float),
            points=[self._exact(trial.x) for trial in records],
            metrics=self._metrics(  # at new points: users may change theirs
                outcomes, [self._point(trial.x) for trial in records], [entry.metrics for entry in entries]
            ),
            incomplete=incomplete,
        )

    def _with_earlier(self, entry: _Told) -> _Told:
        """Return a result merged with an earlier incomplete result of its trial."""
        if (earlier := self.incomplete.get(entry.trial.id)) is None:
            return entry
        return entry._replace(
            value=merged(entry.value, entry.constraints, earlier.values, self._goals),
            seconds=earlier.seconds if np.isnan(entry.seconds) else entry.seconds,
            metrics=earlier.metrics | ({} if entry.metrics is None else storable(entry.metrics, {})),
        )

    def _incomplete(self, entry: _Told) -> Incomplete:
        """Return an incomplete result, checked."""
        result = Incomplete.of_values(entry.value, entry.constraints, entry.seconds, self._goals)
        metrics = self._metrics(result.outcomes(self._goals), [self._point(entry.trial.x)], [entry.metrics])
        return result._replace(metrics=metrics[0])

    def _fill_failed(self, trials: Sequence[Trial], outcomes: Outcomes) -> None:
        """Fill unknown columns of failed trials with those that were told earlier, in place."""
        for i, trial in enumerate(trials):
            if outcomes.kind[i] == FAILED and (earlier := self.incomplete.get(trial.id)) is not None:
                known = earlier.outcomes(self._goals)
                for new, old in ((outcomes.f[i], known.f[0]), (outcomes.g[i], known.g[0])):
                    new[:] = np.where(np.isnan(new), old, new)

    def keep(self, incomplete: Mapping[int, Incomplete]) -> None:
        """Keep incomplete results by trial number."""
        for number, result in incomplete.items():
            self.incomplete[number] = result
            self._seen.incomplete[number] = result.row(self._goals)

    def by_fidelity(self, outcomes: Outcomes, x: Floats) -> Outcomes:
        """Mark the rows [k, d] below full fidelity, which are not compared with others."""
        if self._fidelity is not None:
            outcomes.kind[(outcomes.kind == OK) & self._fidelity.partial(x)] = PARTIAL
        return outcomes

    def _metrics(self, outcomes: Outcomes, points: Sequence[Point], separate: Sequence[object]) -> list[Metrics]:
        """Return the metrics [k] of the argument `metrics` and of returned dicts, which win."""
        stored = [{} if metrics is None else storable(metrics, {}) for metrics in separate]
        return [
            self._without_reserved(metrics | dict(returned), point) if metrics or returned else {}
            for metrics, returned, point in zip(stored, outcomes.others, points, strict=True)
        ]

    def _without_reserved(self, metrics: Mapping[Any, object], point: Point) -> Metrics:
        """Return metrics without parameters of the point and, with a warning, without reserved names."""
        parts = dict(parts_of(point))
        goals = self._goals
        others = {name: value for name, value in metrics.items() if not (name in parts and is_same(parts[name], value))}
        inner = getattr(unwrapped(self._space), "names", None) or ()
        reserved = {"sem": "the standard error of a value, told as (value, sem)"}
        reserved |= dict.fromkeys([*map(str, inner), *parts], "a parameter of the space")
        reserved |= dict.fromkeys([*goals.quantities, *map(str, goals.constraints)], "a constraint of the run")
        return storable(others, reserved | dict.fromkeys(goals.names, "an objective of the run"))

    def _is_checked(self, trial: Trial) -> bool:
        """Return whether only the constraints of a told trial are known, so that it may still be run and fail."""
        return bool(self._seen.kind[self._seen.trial == trial.id][-1] == CHECKED)

    def _list_for(self, values: object, n: int, name: str, is_single: bool) -> list[object]:
        """Return a list with one item for each of `n` trials; a single trial gets the whole argument."""
        if is_single and not self._goals.plain and values is not None and not _has_one_item(values):
            return [values]
        if is_single and name == "values" and isinstance(values, tuple) and len(values) == 2:
            return [values]  # a value with its standard error
        return as_list(values, n, name)

    def check_points(
        self,
        points: Sequence[Point],
        values: object,
        constraints: object,
        metrics: object = None,
        seconds: object = None,
        candidates: Iterable[Trial] | None = None,
    ) -> CheckedResults:
        """Check unsolicited results; a result at the point of a candidate, a pending trial, belongs to that trial."""
        points = list_of(points, "tell_points: expected points")
        codes = [self._space.encode(point) for point in points]
        n = len(points)
        outcomes = outcomes_of(as_list(values, n, "values"), as_list(constraints, n, "constraints"), self._goals)
        by_code: dict[bytes, list[Trial]] = {}  # with `repeat`, several trials share a code
        for trial in self.pending.values() if candidates is None else candidates:
            code = self._space.encode(self._space.decode(trial.x))  # may differ from trial.x in the last bit
            by_code.setdefault(code.tobytes(), []).append(trial)
        at_codes = (by_code.get(code.tobytes()) for code in codes)
        trials = [same.pop() if same else None for same in at_codes]  # the latest first
        x = self._matrix([code if trial is None else trial.x for code, trial in zip(codes, trials, strict=True)])
        new_metrics = self._metrics(outcomes, points, as_list(metrics, n, "metrics"))
        earlier = [None if trial is None else self.incomplete.get(trial.id) for trial in trials]
        known = [{} if result is None else result.metrics for result in earlier]
        return CheckedResults(
            trials=trials,
            x=x,
            outcomes=self.by_fidelity(outcomes, x),
            seconds=seconds_of(seconds, n),
            points=[exact(self._space, code, point) for code, point in zip(x, points, strict=True)],
            metrics=[old | new for old, new in zip(known, new_metrics, strict=True)],
        )

    def check_elsewhere(
        self,
        trials: Trial | Sequence[Trial],
        point: Point,
        values: object,
        constraints: object,
        seconds: object,
        metrics: object,
    ) -> CheckedResults:
        """Check the result of a single trial that was evaluated at another point."""
        given = [trials] if isinstance(trials, Trial) else list_of(trials, "tell: expected a trial that ask() returned")
        if len(given) != 1:
            raise ValueError(f"point: expected a single trial with it, got {len(given)}; tell each trial alone")
        record = self.record_of(given[0])
        results = self.check_points(
            [point],
            self._list_for(values, 1, "values", True),
            self._list_for(constraints, 1, "constraints", True),
            self._list_for(metrics, 1, "metrics", True),
            seconds,
            [record] if record.id in self.pending else [],
        )
        return results if results.trials == [record] else results._replace(moved=record.id)

    def _matrix(self, rows: list[Floats]) -> Floats:
        return np.array(rows).reshape(len(rows), self._space.dim)

    def record_of(self, trial: Trial) -> Trial:
        """Return the stored record of a trial that accepts a result; ValueError without one."""
        if not isinstance(trial, Trial):
            raise ValueError(
                f"expected a Trial that ask() returned, got {type(trial).__name__}; tell_point takes points"
            )
        record = self.pending.get(trial.id) or self.late.get(trial.id)
        if record is not None and np.array_equal(record.x, trial.x):
            return record
        if record is None and trial.id < self.n_issued and not self._is_foreign(trial):
            raise ValueError(f"trial {trial.id} is not pending: it was told or forgotten already")
        raise ValueError(
            f"trial {trial.id} is unknown here: it comes from another optimizer; tell_point takes its point"
        )

    def _is_foreign(self, trial: Trial) -> bool:
        """Return whether a told trial of this number belongs to another run."""
        rows = self._seen.x[self._seen.trial == trial.id]
        is_elsewhere = bool(len(rows)) and not np.array_equal(rows[-1], trial.x)
        return is_elsewhere and trial.seed != derive(self._seed, Purpose.EVALUATION, trial.id)  # else told elsewhere

    def settle(self, results: CheckedResults, rows: Rows) -> list[TrialResult]:
        """Close the trials of results, and return the first result of each trial for its search."""
        entries = zip(results.trials, rows.tolist(), results.outcomes.kind, strict=True)
        told_trials = [(trial, row, kind) for trial, row, kind in entries if trial]
        first = [(trial, row) for trial, row, _ in told_trials if trial.id in self.pending]
        self.close([trial for trial, _ in first])
        for trial, _, kind in told_trials:
            if kind in FINAL:
                self.late.pop(trial.id, None)
            else:
                self.late[trial.id] = trial
        if results.moved is not None and results.outcomes.kind[0] in FINAL:
            self.late.pop(results.moved, None)
        return [TrialResult(trial.session, trial.note, row) for trial, row in first]

    def close(self, trials: Iterable[Trial]) -> None:
        """Remove trials from the pending ones."""
        trials = list(trials)
        self._seen.close([trial.id for trial in trials])
        for trial in trials:
            del self.pending[trial.id]
            self.incomplete.pop(trial.id, None)

    def state(self, excluded: Collection[int] = ()) -> list[Waiting]:
        """Return the pending trials without those of the excluded numbers."""
        trials = [trial for trial in self.pending.values() if trial.id not in excluded]
        return [Waiting(trial.id, np.array(trial.x), trial.session, trial.note) for trial in trials]

    def load(self, n_issued: int, pending: Iterable[Waiting], incomplete: Mapping[str, Json]) -> None:
        """Restore saved trials; the rows are in `seen` already."""
        self.n_issued = n_issued
        for waiting in pending:
            self._add_pending(waiting)
        results = {int(number): Incomplete.from_json(entry) for number, entry in incomplete.items()}
        self.keep({number: result for number, result in results.items() if number in self.pending})
        numbers = self._seen.trial
        is_final = np.isin(self._seen.kind, FINAL)
        late = set(numbers[~is_final].tolist()) - set(numbers[is_final].tolist()) - {-1}
        for row in np.flatnonzero(np.isin(numbers, list(late))):
            number = int(numbers[row])
            x = np.array(self._seen.x[row])
            self.late[number] = Trial(number, self._space.decode(x), x, session=int(self._seen.source[row]))


def _has_one_item(values: object) -> bool:
    """Return whether an argument is a list of one item for one trial."""
    is_sized = hasattr(values, "__len__") and getattr(values, "shape", None) != ()  # a numpy scalar array has __len__
    return is_sized and not isinstance(values, (str, bytes, Mapping)) and len(values) == 1  # type: ignore[arg-type]
