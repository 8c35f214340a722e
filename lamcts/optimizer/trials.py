"""Trials: pending, failed but still open, and the checks of what is told."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from lamcts.journal.state import Waiting
from lamcts.optimizer.incomplete import Incomplete
from lamcts.optimizer.losses import Taken, as_list, completed, left_out, many, seconds_of, taken
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
FINAL = (OK, PRUNED, PARTIAL)  # a trial that is of these kinds is told nothing more


class Told(NamedTuple):
    """Checked results that are not stored yet: codes x [k, d], outcomes, seconds [k].

    `trials` [k]: the trial of each result, None for an unsolicited point. `points` [k]: points as told, None where
    decoding x gives the same. `metrics` [k]: what was told next to the values. `moved`: the number of the trial of a
    single result that is of another point. `incomplete`: results of which columns are pending, by trial.
    """

    trials: list[Trial | None]
    x: Floats
    outcome: Taken
    seconds: Floats
    points: list[Point]
    metrics: list[Metrics]
    moved: int | None = None
    incomplete: Mapping[int, Incomplete] = MappingProxyType({})

    @property
    def numbers(self) -> Rows:
        """The numbers of the trials, [k], -1 where there is none."""
        if self.moved is not None:
            return np.array([self.moved])
        return np.array([-1 if trial is None else trial.id for trial in self.trials], np.int64)

    @property
    def sources(self) -> Rows:
        """The numbers of the searches that asked, [k], -1 where none did."""
        return np.array([-1 if trial is None else trial.session for trial in self.trials], np.int64)


class Trials:
    """The trials of a run by number; `seen` is told which are pending.

    points: points to hand out as they were given, by the bytes of their codes.
    """

    def __init__(
        self, space: SearchSpace, seen: Observations, seed: int, goals: Goals, points: Mapping[bytes, Point] = NO_POINTS
    ) -> None:
        self._space, self._seen, self._seed, self._goals = space, seen, seed, goals
        self._points, self._fidelity = points, FidelityAxis.of(space)
        self.pending: dict[int, Trial] = {}
        self.incomplete: dict[int, Incomplete] = {}  # what is known of some that are pending
        self.late: dict[int, Trial] = {}  # told as failed, or checked: a late worker may still bring a value
        self.issued = 0

    def issue(self, x: Floats, session: int, note: Note) -> Trial:
        """Number a point [d] and remember who asked for it."""
        number, self.issued = self.issued, self.issued + 1
        return self._remember(Waiting(number, x, session, note))

    def _remember(self, waiting: Waiting) -> Trial:
        x = np.array(waiting.x, dtype=float) + 0.0
        x.flags.writeable = False
        seed = derive(self._seed, Purpose.EVALUATION, waiting.id)
        trial = Trial(waiting.id, self._point(x), x, seed, int(waiting.session), waiting.note)
        self.pending[trial.id] = trial
        self._seen.expect(trial.id, x)
        return trial

    def _point(self, x: Floats) -> Point:
        """Return the point that is issued for a code [d]."""
        return self._exact(x) if x.tobytes() in self._points else self._space.decode(x)

    def _exact(self, x: Floats) -> Point:
        """Return a copy of the point that was given for a code [d], None where there is none."""
        return deepcopy(self._points.get(x.tobytes()))

    def told(
        self,
        trials: Trial | Sequence[Trial],
        values: object,
        constraints: object,
        seconds: object,
        metrics: object = None,
    ) -> Told:
        """Check everything that `tell` was given, and change nothing; ValueError says what is wrong."""
        single = isinstance(trials, Trial)
        trials = [trials] if isinstance(trials, Trial) else many(trials, "tell: expected trials that ask() returned")
        own = [self.own_record(trial) for trial in trials]
        n, times = len(trials), list(seconds_of(seconds, len(trials)))
        values, held = self._told_of(values, n, "values", single), self._told_of(constraints, n, "constraints", single)
        numbers = [trial.id for trial in own]
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"tell: expected each trial once in a call, got the numbers {numbers}")
        noted = self._told_of(metrics, n, "metrics", single)
        results = [self._completed(*told) for told in zip(own, values, held, times, noted, strict=True)]
        parts = {trial.id: self._part(trial, *told) for trial, *told in results if self._is_incomplete(trial, *told)}
        results = [told for told in results if told[0].id not in parts]
        own, values, held, times, noted = ([told[i] for told in results] for i in range(5))
        outcome = self._with_known(own, taken(values, held, self._goals))
        for trial, kind, message in zip(own, outcome.kind, outcome.messages, strict=True):
            if trial.id in self.late and kind != OK and not self._was_checked(trial):
                raise ValueError(f"trial {trial.id} was told as failed already: expected a value now, got {message}")
        found = self._metrics(outcome, [self._point(trial.x) for trial in own], noted)  # users may change theirs
        points = [self._exact(trial.x) for trial in own]
        x = self._matrix([trial.x for trial in own])
        return Told([*own], x, self.by_fidelity(outcome, x), np.array(times, float), points, found, None, parts)

    def _completed(self, trial: Trial, value: object, held: object, seconds: float, noted: object) -> tuple[Any, ...]:
        """Return a result with what was told of its trial before."""
        if (before := self.incomplete.get(trial.id)) is None:
            return trial, value, held, seconds, noted
        seconds = before.seconds if np.isnan(seconds) else seconds
        noted = before.metrics | ({} if noted is None else storable(noted, {}))
        return trial, completed(value, held, before.values, self._goals), held, seconds, noted

    def _is_incomplete(self, trial: Trial, value: object, held: object, *_: object) -> bool:
        """Return whether columns of a pending trial are still to be told."""
        return trial.id in self.pending and bool(left_out(value, held, self._goals))

    def _part(self, trial: Trial, value: Any, held: object, seconds: float, noted: object) -> Incomplete:
        """Return an incomplete result, checked."""
        found = Incomplete.told(value, held, seconds, self._goals)
        checked = self._metrics(found.outcome(self._goals), [self._point(trial.x)], [noted])
        return found._replace(metrics=checked[0])

    def _with_known(self, trials: Sequence[Trial], outcome: Taken) -> Taken:
        """Return outcomes with the columns of failed ones that were told before."""
        for i, trial in enumerate(trials):
            if outcome.kind[i] == FAILED and (before := self.incomplete.get(trial.id)) is not None:
                known = before.outcome(self._goals)
                for new, old in ((outcome.f[i], known.f[0]), (outcome.g[i], known.g[0])):
                    new[:] = np.where(np.isnan(new), old, new)
        return outcome

    def keep(self, incomplete: Mapping[int, Incomplete]) -> None:
        """Keep what is known of pending trials."""
        for number, found in incomplete.items():
            self.incomplete[number], self._seen.incomplete[number] = found, found.row(self._goals)

    def by_fidelity(self, outcome: Taken, x: Floats) -> Taken:
        """Mark the values of rows [k, d] below full fidelity: they are not compared with others."""
        if self._fidelity is not None:
            outcome.kind[(outcome.kind == OK) & self._fidelity.partial(x)] = PARTIAL
        return outcome

    def _metrics(self, outcome: Taken, points: Sequence[Point], noted: Sequence[object]) -> list[Metrics]:
        """Return the metrics [k] that were told apart or in values, which win."""
        apart = [{} if each is None else storable(each, {}) for each in noted]
        return [
            self._checked(one | dict(own), point) if one or own else {}
            for one, own, point in zip(apart, outcome.others, points, strict=True)
        ]

    def _checked(self, given: Mapping[Any, object], point: Point) -> Metrics:
        """Return metrics without parameters that were returned as they are at their point."""
        parts, goals = dict(parts_of(point)), self._goals
        metrics = {name: each for name, each in given.items() if not (name in parts and is_same(parts[name], each))}
        inner = getattr(unwrapped(self._space), "names", None) or ()
        taken_names = {"sem": "the standard error of a value, told as (value, sem)"}
        taken_names |= dict.fromkeys([*map(str, inner), *parts], "a parameter of the space")
        taken_names |= dict.fromkeys([*goals.quantities, *map(str, goals.constraints)], "a constraint of the run")
        return storable(metrics, taken_names | dict.fromkeys(goals.names, "an objective of the run"))

    def _was_checked(self, trial: Trial) -> bool:
        """Return whether only the constraints of a trial that was told are known: it may still be run, and fail."""
        return bool(self._seen.kind[self._seen.trial == trial.id][-1] == CHECKED)

    def _told_of(self, given: object, n: int, name: str, single: bool) -> list[object]:
        """Return a list with what was told of each of `n` trials; of a single trial, all that was given."""
        if single and not self._goals.plain and given is not None and not _holds_one(given):
            return [given]
        if single and name == "values" and isinstance(given, tuple) and len(given) == 2:
            return [given]  # a value with its standard error
        return as_list(given, n, name)

    def told_points(
        self,
        points: Sequence[Point],
        values: object,
        constraints: object,
        metrics: object = None,
        seconds: object = None,
        candidates: Iterable[Trial] | None = None,
    ) -> Told:
        """Check unsolicited results; one at the point of a candidate, a pending trial, belongs to that trial."""
        points = many(points, "tell_points: expected points")
        codes = [self._space.encode(point) for point in points]
        n = len(points)
        outcome = taken(as_list(values, n, "values"), as_list(constraints, n, "constraints"), self._goals)
        pending: dict[bytes, list[Trial]] = {}  # several have one code where repeats are allowed
        for trial in self.pending.values() if candidates is None else candidates:
            pending.setdefault(self._code(trial).tobytes(), []).append(trial)
        here = (pending.get(code.tobytes()) for code in codes)
        trials = [same.pop() if same else None for same in here]  # the latest first
        x = self._matrix([code if trial is None else trial.x for code, trial in zip(codes, trials, strict=True)])
        found = self._metrics(outcome, points, as_list(metrics, n, "metrics"))
        known = [self.incomplete.get(-1 if trial is None else trial.id) for trial in trials]
        found = [new if each is None else {**each.metrics, **new} for new, each in zip(found, known, strict=True)]
        exact_points = [exact(self._space, code, point) for code, point in zip(x, points, strict=True)]
        return Told(trials, x, self.by_fidelity(outcome, x), seconds_of(seconds, n), exact_points, found)

    def told_elsewhere(
        self, trials: Trial | Sequence[Trial], point: Point, values: object, constraints: object, *others: object
    ) -> Told:
        """Check the result of a single trial that was evaluated at another point; `others` are seconds and metrics."""
        given = [trials] if isinstance(trials, Trial) else many(trials, "tell: expected a trial that ask() returned")
        if len(given) != 1:
            raise ValueError(f"point: expected a single trial with it, got {len(given)}; tell each trial alone")
        own, (seconds, metrics) = self.own_record(given[0]), others
        value, held, noted = (
            self._told_of(each, 1, name, True)
            for each, name in ((values, "values"), (constraints, "constraints"), (metrics, "metrics"))
        )
        told = self.told_points([point], value, held, noted, seconds, [own] if own.id in self.pending else [])
        return told if told.trials == [own] else told._replace(moved=own.id)

    def _code(self, trial: Trial) -> Floats:
        """Return the code of a trial's point; its own x may differ in the last bit, and its point is the user's."""
        return self._space.encode(self._space.decode(trial.x))

    def _matrix(self, rows: list[Floats]) -> Floats:
        return np.array(rows).reshape(len(rows), self._space.dim)

    def own_record(self, trial: Trial) -> Trial:
        """Return our own record of a trial that may be told, or raise ValueError."""
        if not isinstance(trial, Trial):
            raise ValueError(
                f"expected a Trial that ask() returned, got {type(trial).__name__}; tell_point takes points"
            )
        own = self.pending.get(trial.id) or self.late.get(trial.id)
        if own is not None and np.array_equal(own.x, trial.x):
            return own
        if own is None and trial.id < self.issued and not self._is_of_others(trial):
            raise ValueError(f"trial {trial.id} is not pending: it was told or forgotten already")
        raise ValueError(
            f"trial {trial.id} is unknown here: it comes from another optimizer; tell_point takes its point"
        )

    def _is_of_others(self, trial: Trial) -> bool:
        """Return whether what was told under a trial's number is of a trial of another run."""
        rows = self._seen.x[self._seen.trial == trial.id]
        other = bool(len(rows)) and not np.array_equal(rows[-1], trial.x)
        return other and trial.seed != derive(self._seed, Purpose.EVALUATION, trial.id)  # else told at another point

    def settle(self, told: Told, rows: Rows) -> list[TrialResult]:
        """Close the told trials, and return what is to be handed to the searches that asked: first results only."""
        known = [(t, int(row), kind) for t, row, kind in zip(told.trials, rows, told.outcome.kind, strict=True) if t]
        first = [TrialResult(trial.session, trial.note, row) for trial, row, _ in known if trial.id in self.pending]
        self.close([trial for trial, *_ in known if trial.id in self.pending])
        for trial, _, kind in known:
            if kind in FINAL:
                self.late.pop(trial.id, None)
            else:
                self.late[trial.id] = trial
        if told.moved is not None and told.outcome.kind[0] in FINAL:
            self.late.pop(told.moved, None)
        return first

    def close(self, trials: Iterable[Trial]) -> None:
        """Take note that these trials are no longer out."""
        trials = list(trials)
        self._seen.close([trial.id for trial in trials])
        for trial in trials:
            del self.pending[trial.id]
            self.incomplete.pop(trial.id, None)

    def state(self, besides: Collection[int] = ()) -> list[Waiting]:
        """Return the trials that are out, but for those of some numbers."""
        out = [trial for trial in self.pending.values() if trial.id not in besides]
        return [Waiting(trial.id, np.array(trial.x), trial.session, trial.note) for trial in out]

    def load(self, issued: int, pending: Iterable[Waiting], incomplete: Mapping[str, Json]) -> None:
        """Take over saved trials; `seen` holds the rows already."""
        self.issued = issued
        for waiting in pending:
            self._remember(waiting)
        known = {int(number): Incomplete.of(entry) for number, entry in incomplete.items()}
        self.keep({number: each for number, each in known.items() if number in self.pending})
        trial, done = self._seen.trial, np.isin(self._seen.kind, FINAL)
        late = set(trial[~done].tolist()) - set(trial[done].tolist()) - {-1}
        for row in np.flatnonzero(np.isin(trial, list(late))):
            x = np.array(self._seen.x[row])
            self.late[int(trial[row])] = Trial(
                int(trial[row]), self._space.decode(x), x, session=int(self._seen.source[row])
            )


def _holds_one(given: object) -> bool:
    """Return whether this is a list of one thing, told of one trial."""
    sized = hasattr(given, "__len__") and getattr(given, "shape", None) != ()  # numpy's single numbers are sized, too
    return sized and not isinstance(given, (str, bytes, Mapping)) and len(given) == 1  # type: ignore[arg-type]
