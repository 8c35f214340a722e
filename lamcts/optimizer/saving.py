"""The state of an optimizer: taken out whole or since a mark, and put into a fresh one."""

import math
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts import rng
from lamcts.journal.state import Core, Delta, Mark, State, check_consistent
from lamcts.optimizer import arguments, records
from lamcts.optimizer.losses import taken
from lamcts.outcomes.metrics import storable
from lamcts.spaces.exact import exact, exact_points
from lamcts.spaces.regions.region import Region
from lamcts.types import Point, whole_number

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer


def state_of(opt: "Optimizer") -> State:
    """Return the whole state of an optimizer."""
    parts = dict(opt.failures), opt._trials.state(), opt._searches.states(), dict(opt.seen.predicted)
    notes = dict(opt.seen.exact), dict(opt.metrics), dict(opt.seen.sems)
    return State(opt.fingerprint(), core_of(opt), opt.seen.columns(), *parts, *notes)


def restore(opt: "Optimizer", state: State) -> None:
    """Load a state into a fresh optimizer; ValueError and a fresh optimizer if its parts refuse it."""
    if len(opt.seen) or opt._trials.issued or opt._designed:
        raise RuntimeError("expected a fresh optimizer, this one was used; make a new one")
    arguments.check_fingerprint(state.fingerprint, opt.fingerprint())
    check_consistent(state := state.widened(opt.space.dim), opt.design.n)
    try:
        load_into(opt, state)
    except BaseException as error:  # a user's sampler may raise anything
        opt._begin()
        if not isinstance(error, Exception):
            raise
        what = f"{type(error).__name__}: {error}"
        raise ValueError(
            f"state: expected what state_dict() returned, it cannot be taken over ({what}); {arguments.REUSE}"
        ) from error


def delta(opt: "Optimizer", since: Mark) -> Delta:
    """Return what is new since a mark, with the next mark."""
    new, pending = range(since.rows, len(opt.seen)), frozenset(opt._trials.pending)
    until = Mark(len(opt.seen), opt._trials.issued, pending, opt.seen.best, opt._searches.mark())
    return Delta(
        since=since,
        until=until,
        columns=opt.seen.columns(since.rows),
        failures={row: opt.failures[row] for row in new if row in opt.failures},
        issued=opt._trials.state(besides=since.pending),
        closed=sorted(since.pending - until.pending),
        searches=opt._searches.states(since),
        ended=sorted(since.known.keys() - opt._searches.live.keys()),
        core=core_of(opt),
        leaders=records.leaders(opt.space, opt.seen, since),
        proposers=opt._searches.named(new),
        predicted={row: opt.seen.predicted[row] for row in new if row in opt.seen.predicted},
        points={row: opt.seen.exact[row] for row in new if row in opt.seen.exact},
        metrics={row: opt.metrics[row] for row in new if row in opt.metrics},
        sems={row: opt.seen.sems[row] for row in new if row in opt.seen.sems},
    )


def core_of(opt: "Optimizer") -> Core:
    """Return the small state of an optimizer."""
    counts = opt._trials.issued, opt._designed, rng.save(opt._rng), opt._searches.next, [*opt._searches.converged]
    return Core(*counts, {str(number): each._asdict() for number, each in sorted(opt._trials.incomplete.items())})


def load_into(opt: "Optimizer", state: State) -> None:
    """Load a state that was checked into a fresh optimizer."""
    core = state.core
    _load_evaluations(opt, state)
    opt._designed, opt._rng = core.designed, rng.restore(core.rng)
    opt._trials.load(core.trials, state.out, core.incomplete)
    opt._searches.next, opt._searches.converged = core.searches, list(core.converged)
    opt._searches.load(state.searches, Region(opt.space, (), opt.seen.good), state.lost)


def _load_evaluations(opt: "Optimizer", state: State) -> None:
    opt.seen.append(*state.columns)
    opt.failures |= state.failures
    opt.metrics |= state.metrics
    opt.seen.predicted |= state.predicted
    opt.seen.sems |= state.sems
    opt.seen.exact |= exact_points(opt.space, opt.seen.x, state.points)


def corrected(
    opt: "Optimizer", trial: int, value: object, constraints: object, point: Point, metrics: object = None
) -> State:
    """Return the state in which a trial was told another value, without searches; ValueError as `tell` raises it."""
    rows = np.flatnonzero(opt.seen.trial == whole_number(trial, "correct: trial", least=0))
    if not len(rows):
        raise ValueError(f"correct: expected the number of a trial that was told, got {trial}; `rows()` has them")
    row, outcome = int(rows[-1]), taken([value], [constraints], opt.goals)
    state = state_of(opt)
    before, after = (
        dict(zip(opt.goals.names, opt.goals.signs * f, strict=True)) | opt.goals.measured(g)
        for f, g in ((opt.seen.f[row], opt.seen.g[row]), (outcome.f[0], outcome.g[0]))
    )
    changed = [name for name, number in before.items() if math.isfinite(number) and number != after[name]]
    former = {f"{name} before correction": float(before[name]) for name in changed}
    columns = deepcopy(state.columns)
    if point is not None:
        columns.x[row] = opt.space.encode(point)
        _put(state.points, row, exact(opt.space, columns.x[row], point))
    kind = opt._trials.by_fidelity(outcome, columns.x[row : row + 1]).kind[0]
    columns.f[row], columns.g[row], columns.kind[row] = outcome.f[0], outcome.g[0], kind
    _put(state.failures, row, outcome.messages[0])
    _put(state.predicted, row, outcome.predicted.get(0))
    _put(state.sems, row, outcome.sems.get(0))
    noted = storable(outcome.others[0], {}) | storable(metrics or {}, {})
    _put(state.metrics, row, former | opt.metrics.get(row, {}) | noted)
    return replace(state, columns=columns, searches={})


def _put(notes: dict[int, Any], row: int, new: Any) -> None:
    """Replace the note of a row, None or empty for none."""
    notes.pop(row, None)
    notes |= {} if new is None else {row: new}
