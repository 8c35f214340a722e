"""Changes of an optimizer: each change is completed, in memory and in the journal, or undone.

Ctrl-C in a notebook, a time limit or a lack of memory may raise at any line. The state before a change is therefore
kept until the change is complete. Rows never change, so views of the columns suffice.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lamcts.journal.state import Core, SearchState, State, Waiting
from lamcts.optimizer.losses import missing_names
from lamcts.optimizer.saving import core_of, corrected, load_into
from lamcts.outcomes.metrics import storable
from lamcts.outcomes.observations import Columns
from lamcts.outcomes.trial import Trial
from lamcts.samplers.base import Session
from lamcts.types import Point
from lamcts.utils.interrupts import held_back

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer

T = TypeVar("T")


class Moment(NamedTuple):
    """The state of an optimizer and of its journal before a change."""

    core: Core
    columns: Columns
    notes: dict[str, Mapping[int, Any]]  # values by row, by their field of `State`
    pending: list[Trial]
    searches: list[tuple[int, Session, SearchState]]
    stamp: object

    def state(self) -> State:
        """Return the state for an optimizer to load."""
        n = len(self.columns.x)
        notes = {name: {row: value for row, value in values.items() if row < n} for name, values in self.notes.items()}
        pending = [Waiting(trial.id, trial.x, trial.session, trial.note) for trial in self.pending]
        searches = {
            number: SearchState(saved.session, 0, list(session.log[: saved.logged]))
            for number, session, saved in self.searches
        }
        return State({}, self.core, self.columns, pending=pending, searches=searches, **notes)


class MetricsChange(NamedTuple):
    """A row that gets new metrics alone."""

    row: int


class TellRequest(NamedTuple):
    """A result of a pending trial, a correction of a told trial (its number), new metrics, or an unsolicited result."""

    trial: Trial | int | MetricsChange | None
    point: Point
    value: object
    constraints: object = None
    metrics: object = None


def complete(opt: "Optimizer", change: Callable[[], T]) -> T:
    """Make a change and record it; undo it where an exception is raised."""
    finish(opt)
    try:
        opt._unfinished = moment_of(opt)
        result = change()
        record(opt)
        opt._unfinished = None
    except BaseException:
        with held_back():
            undo(opt)
        raise
    for text in opt._searches.take_warnings():  # last: a user may have turned warnings into errors
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    return result


def finish(opt: "Optimizer") -> None:
    """Undo an earlier change whose undoing was interrupted."""
    if opt._unfinished is not None:
        undo(opt)


def moment_of(opt: "Optimizer") -> Moment:
    """Return the current state of an optimizer."""
    seen = opt.seen
    live = opt._searches.live if opt.sampler.resumable else {}
    notes: dict[str, Mapping[int, Any]] = {
        "failures": opt.failures,
        "metrics": opt.metrics,
        "predicted": seen.predicted,
        "sems": seen.sems,
        "points": seen.exact,
    }
    searches = [
        (number, search.session, SearchState(search.session.state(), len(search.session.log), []))
        for number, search in live.items()
    ]
    return Moment(
        core_of(opt),
        Columns(*(getattr(seen, name) for name in Columns._fields)),
        notes,
        opt.pending,
        searches,
        None if opt._journal is None else opt._journal.stamp,
    )


def record(opt: "Optimizer") -> None:
    """Write all changes into the journal of an optimizer, if it has one."""
    if opt._journal is not None:
        opt._journal.write(opt.delta(opt._journal.mark), whole=opt.delta() if opt._has_corrections else None)
    opt._has_corrections = False


def undo(opt: "Optimizer") -> None:
    """Undo an incomplete change; a change that reached the journal is complete."""
    before = opt._unfinished
    journal = opt._journal
    if before is None:
        return
    if journal is not None:
        journal.settle()
    if journal is None or journal.stamp == before.stamp:
        state = before.state()
        failed = opt._searches.failed
        core = replace(state.core, searches=max([state.core.searches, *(number + 1 for number in failed)]))
        searches = {number: search for number, search in state.searches.items() if number not in failed}
        reset(opt, replace(state, core=core, searches=searches))
    opt._has_corrections = False
    opt._unfinished = None


def reset(opt: "Optimizer", state: State) -> None:
    """Load a state into an optimizer; a search that cannot be restored is ended."""
    opt._begin()
    load_into(opt, replace(state, searches={}))
    try:
        opt._searches.load(state.searches, opt.region())
    except Exception:  # a user's sampler may raise anything
        opt._searches.live.clear()


def correct(opt: "Optimizer", state: State) -> None:
    """Load a state in which an evaluation has another value."""
    reset(opt, state)
    opt._has_corrections = True


def tell_all(opt: "Optimizer", results: Iterable[TellRequest]) -> None:
    """Tell results in order, all of them or none."""

    def tell() -> None:
        for trial, point, value, constraints, metrics in results:
            if isinstance(trial, Trial):
                opt._add(opt._checked(trial, value, None, constraints, metrics, point))
            elif isinstance(trial, MetricsChange):
                opt.metrics = opt.metrics | {trial.row: opt.metrics.get(trial.row, {}) | storable(metrics, {})}
                opt._has_corrections = True
            elif trial is None and missing_names(value, constraints, opt.goals):
                issued = opt._trials.issue(opt.space.encode(point), -1, None)
                opt._add(opt._checked(issued, value, None, constraints, metrics, None))
            elif trial is None:
                opt._add(opt._trials.check_points([point], [value], [constraints], [metrics]))
            else:
                correct(opt, corrected(opt, trial, value, constraints, point, metrics))

    complete(opt, tell)
