"""State of an optimizer, whole and as the changes since a mark."""

from typing import TYPE_CHECKING

from lamcts import rng
from lamcts.optimizer import arguments, records
from lamcts.optimizer.exact import exact_points
from lamcts.optimizer.placement import REASONS
from lamcts.optimizer.state import Core, Delta, Mark, State, check_consistent
from lamcts.spaces.regions.region import Region

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer


def state_of(opt: "Optimizer") -> State:
    """Return the whole state of an optimizer."""
    parts = dict(opt.failures), opt._trials.state(), opt._searches.states(), dict(opt.seen.predicted)
    notes = dict(opt.seen.exact), dict(opt.metrics), dict(opt.seen.sems)
    return State(opt.fingerprint(), _core(opt), opt.seen.columns(), *parts, *notes)


def restore(opt: "Optimizer", state: State) -> None:
    """Load a state into a fresh optimizer; ValueError and a fresh optimizer if its parts refuse it."""
    if len(opt.seen) or opt._trials.issued or opt._designed:
        raise RuntimeError("expected a fresh optimizer, this one was used; make a new one")
    arguments.check_fingerprint(state.fingerprint, opt.fingerprint())
    check_consistent(state := state.widened(opt.space.dim), opt.design.n, REASONS)
    try:
        _load(opt, state)
    except Exception as error:  # a user's sampler may raise anything
        opt._begin()
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"state: expected what state_dict() returned, it cannot be taken over ({what})") from error


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
        core=_core(opt),
        leaders=records.leaders(opt.space, opt.seen, since),
        proposers=opt._searches.named(new),
        predicted={row: opt.seen.predicted[row] for row in new if row in opt.seen.predicted},
        points={row: opt.seen.exact[row] for row in new if row in opt.seen.exact},
        metrics={row: opt.metrics[row] for row in new if row in opt.metrics},
        sems={row: opt.seen.sems[row] for row in new if row in opt.seen.sems},
    )


def _core(opt: "Optimizer") -> Core:
    counts = opt._trials.issued, opt._designed, rng.save(opt._rng), opt._searches.next, [*opt._searches.converged]
    return Core(*counts, placements=dict(opt.placements))


def _load(opt: "Optimizer", state: State) -> None:
    core = state.core
    opt.seen.append(*state.columns)
    opt.failures |= state.failures
    opt.metrics |= state.metrics
    opt.seen.predicted |= state.predicted
    opt.seen.sems |= state.sems
    opt.seen.exact |= exact_points(opt.space, opt.seen.x, state.points)
    opt.placements |= core.placements
    opt._designed, opt._rng = core.designed, rng.restore(core.rng)
    opt._trials.load(core.trials, state.out)
    opt._searches.next, opt._searches.converged = core.searches, list(core.converged)
    opt._searches.load(state.searches, Region(opt.space, (), opt.seen.good), state.lost)
