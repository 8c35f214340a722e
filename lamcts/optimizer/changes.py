"""Changes of an optimizer: each is complete, in memory and in the journal, or undone, whichever line raises.

An exception may come from outside at any line: Ctrl-C in a notebook, a time limit, a lack of memory. The state before a
change is therefore kept until the change is complete. Rows never change, so views of them are enough.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lamcts.journal.state import Core, SearchState, State, Waiting
from lamcts.optimizer.losses import left_out
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
    """What an optimizer was before a change, and what its journal held."""

    core: Core
    columns: Columns
    notes: dict[str, Mapping[int, Any]]  # what stands with rows, by its name in `State`
    pending: list[Trial]
    searches: list[tuple[int, Session, SearchState]]
    stamp: object

    def state(self) -> State:
        """Return the moment as a state that an optimizer can load."""
        n = len(self.columns.x)
        notes = {name: {row: each for row, each in held.items() if row < n} for name, held in self.notes.items()}
        pending = [Waiting(trial.id, trial.x, trial.session, trial.note) for trial in self.pending]
        searches = {
            number: SearchState(saved.session, 0, list(session.log[: saved.logged]))
            for number, session, saved in self.searches
        }
        return State({}, self.core, self.columns, pending=pending, searches=searches, **notes)


class Note(NamedTuple):
    """A row whose metrics alone change."""

    row: int


class Result(NamedTuple):
    """What is to be told: of a pending trial, of a trial that was told (a correction), of a point, or of a row."""

    trial: Trial | int | Note | None
    point: Point
    value: object
    constraints: object = None
    metrics: object = None


def complete(opt: "Optimizer", change: Callable[[], T]) -> T:
    """Make a change and record it, or undo it and raise what was raised."""
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
    for text in opt._searches.take_warnings():  # not before: a user may have turned warnings into errors
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    return result


def finish(opt: "Optimizer") -> None:
    """Undo an earlier change if undoing it was interrupted, too."""
    if opt._unfinished is not None:
        undo(opt)


def moment_of(opt: "Optimizer") -> Moment:
    """Return what an optimizer is now."""
    seen, live = opt.seen, opt._searches.live if opt.sampler.resumable else {}
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
    """Write what is new into the journal of an optimizer, if it has one."""
    if opt._journal is not None:
        opt._journal.write(opt.delta(opt._journal.mark), whole=opt.delta() if opt._corrected else None)
    opt._corrected = False


def undo(opt: "Optimizer") -> None:
    """Undo a change that is not complete; what is in the journal already is complete."""
    before, journal = opt._unfinished, opt._journal
    if before is None:
        return
    if journal is not None:
        journal.settle()
    if journal is None or journal.stamp == before.stamp:
        state, failed = before.state(), opt._searches.failed
        core = replace(state.core, searches=max([state.core.searches, *(number + 1 for number in failed)]))
        kept = {number: each for number, each in state.searches.items() if number not in failed}
        reset(opt, replace(state, core=core, searches=kept))
    opt._corrected, opt._unfinished = False, None


def reset(opt: "Optimizer", state: State) -> None:
    """Put an optimizer into another state; searches that cannot go on from theirs are ended."""
    opt._begin()
    load_into(opt, replace(state, searches={}))
    try:
        opt._searches.load(state.searches, opt.region())
    except Exception:  # a user's sampler may raise anything
        opt._searches.live.clear()


def correct(opt: "Optimizer", state: State) -> None:
    """Put an optimizer into a state in which an evaluation has another value."""
    reset(opt, state)
    opt._corrected = True


def tell_all(opt: "Optimizer", results: Iterable[Result]) -> None:
    """Tell results in their order, all of them or none."""

    def tell() -> None:
        for trial, point, value, constraints, metrics in results:
            if isinstance(trial, Trial):
                opt._take(opt._told(trial, value, None, constraints, metrics, point))
            elif isinstance(trial, Note):
                opt.metrics = opt.metrics | {trial.row: opt.metrics.get(trial.row, {}) | storable(metrics, {})}
                opt._corrected = True
            elif trial is None and left_out(value, constraints, opt.goals):
                own = opt._trials.issue(opt.space.encode(point), -1, None)
                opt._take(opt._told(own, value, None, constraints, metrics, None))
            elif trial is None:
                opt._take(opt._trials.told_points([point], [value], [constraints], [metrics]))
            else:
                correct(opt, corrected(opt, trial, value, constraints, point, metrics))

    complete(opt, tell)
