"""The state of an optimizer: the whole state, changes since a mark, and the restoration into a fresh optimizer."""

import math
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts import rng
from lamcts.journal.state import Core, Delta, Mark, State, check_consistent
from lamcts.optimizer import arguments, records
from lamcts.optimizer.losses import outcomes_of
from lamcts.outcomes.metrics import storable
from lamcts.spaces.exact import exact, exact_points
from lamcts.spaces.regions.region import Region
from lamcts.types import Point, whole_number

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer


def state_of(opt: "Optimizer") -> State:
    """Return the whole state of an optimizer."""
    return State(
        fingerprint=opt.fingerprint(),
        core=core_of(opt),
        columns=opt.seen.columns(),
        failures=dict(opt.failures),
        pending=opt._trials.state(),
        searches=opt._searches.states(),
        predicted=dict(opt.seen.predicted),
        points=dict(opt.seen.exact),
        metrics=dict(opt.metrics),
        sems=dict(opt.seen.sems),
    )


def restore(opt: "Optimizer", state: State) -> None:
    """Load a state into a fresh optimizer, which stays fresh if the state is invalid (ValueError)."""
    if len(opt.seen) or opt._trials.n_issued or opt._n_designed:
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
    """Return the changes since a mark, with the next mark."""
    new = range(since.rows, len(opt.seen))
    pending = frozenset(opt._trials.pending)
    until = Mark(len(opt.seen), opt._trials.n_issued, pending, opt.seen.best, opt._searches.mark())
    return Delta(
        since=since,
        until=until,
        columns=opt.seen.columns(since.rows),
        failures={row: opt.failures[row] for row in new if row in opt.failures},
        issued=opt._trials.state(excluded=since.pending),
        closed=sorted(since.pending - until.pending),
        searches=opt._searches.states(since),
        ended=sorted(since.known.keys() - opt._searches.live.keys()),
        core=core_of(opt),
        leaders=records.leaders(opt.space, opt.seen, since),
        proposers=opt._searches.proposers_of(new),
        predicted={row: opt.seen.predicted[row] for row in new if row in opt.seen.predicted},
        points={row: opt.seen.exact[row] for row in new if row in opt.seen.exact},
        metrics={row: opt.metrics[row] for row in new if row in opt.metrics},
        sems={row: opt.seen.sems[row] for row in new if row in opt.seen.sems},
    )


def core_of(opt: "Optimizer") -> Core:
    """Return the state of an optimizer apart from its rows, trials and searches."""
    return Core(
        trials=opt._trials.n_issued,
        designed=opt._n_designed,
        rng=rng.save(opt._rng),
        searches=opt._searches.next,
        converged=[*opt._searches.converged],
        incomplete={str(number): result._asdict() for number, result in sorted(opt._trials.incomplete.items())},
    )


def load_into(opt: "Optimizer", state: State) -> None:
    """Load a checked state into a fresh optimizer."""
    core = state.core
    _load_evaluations(opt, state)
    opt._n_designed = core.designed
    opt._rng = rng.restore(core.rng)
    opt._trials.load(core.trials, state.out, core.incomplete)
    opt._searches.next = core.searches
    opt._searches.converged = list(core.converged)
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
    """Return the state with another value of a trial, without searches; ValueError as in `tell`."""
    rows = np.flatnonzero(opt.seen.trial == whole_number(trial, "correct: trial", least=0))
    if not len(rows):
        raise ValueError(f"correct: expected the number of a trial that was told, got {trial}; `rows()` has them")
    row = int(rows[-1])
    outcomes = outcomes_of([value], [constraints], opt.goals)
    state = state_of(opt)
    before, after = (
        dict(zip(opt.goals.names, opt.goals.signs * f, strict=True)) | opt.goals.measured(g)
        for f, g in ((opt.seen.f[row], opt.seen.g[row]), (outcomes.f[0], outcomes.g[0]))
    )
    changed = [name for name, number in before.items() if math.isfinite(number) and number != after[name]]
    former = {f"{name} before correction": float(before[name]) for name in changed}
    columns = deepcopy(state.columns)
    if point is not None:
        columns.x[row] = opt.space.encode(point)
        _put(state.points, row, exact(opt.space, columns.x[row], point))
    columns.f[row] = outcomes.f[0]
    columns.g[row] = outcomes.g[0]
    columns.kind[row] = opt._trials.by_fidelity(outcomes, columns.x[row : row + 1]).kind[0]
    _put(state.failures, row, outcomes.messages[0])
    _put(state.predicted, row, outcomes.predicted.get(0))
    _put(state.sems, row, outcomes.sems.get(0))
    new_metrics = storable(outcomes.others[0], {}) | storable(metrics or {}, {})
    _put(state.metrics, row, former | opt.metrics.get(row, {}) | new_metrics)
    return replace(state, columns=columns, searches={})


def _put(notes: dict[int, Any], row: int, new: Any) -> None:
    """Replace the note of a row; None removes it."""
    notes.pop(row, None)
    notes |= {} if new is None else {row: new}
