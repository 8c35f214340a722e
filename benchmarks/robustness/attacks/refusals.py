"""Calls that must be refused, by what is wrong with them; each entry returns the call, or None without a subject."""

from collections.abc import Callable
from typing import Any

import numpy as np

import lamcts
from benchmarks.robustness.attacks.verdict import pick

Refusal = Callable[[Any], Callable[[], Any] | None]
REFUSALS: dict[str, Refusal] = {}
NO_COUNTS = (0, -1, True, "3", 1.5, None, float("nan"), 10.0, np.array([1, 2]), [])
NO_VALUES = ("a text", 1j, [1.0, 2.0], object(), {"y": 1}, b"1", np.array([[1.0, 2.0]]), np.array("x"), {1.0, 2.0})
NO_POINTS = (None, object(), "text", float("nan"), [], [[0.5]] * 3, {"p0": object()}, 1e400, np.full(7, np.nan), 1j)


def refused(name: str) -> Callable[[Refusal], Refusal]:
    """Return a decorator that adds a row to the table."""

    def add(make: Refusal) -> Refusal:
        if name in REFUSALS:
            raise ValueError(f"expected a new name, got {name!r} twice")
        REFUSALS[name] = make
        return make

    return add


def _some(session: Any) -> Any:
    """Return a pending trial, or None."""
    return pick(session.rng, session.pending.values()) if session.pending else None


@refused("ask with no number")
def _(session: Any) -> Any:
    n = pick(session.rng, NO_COUNTS)
    return lambda: session.opt.ask(n)


@refused("tell a trial that was told or forgotten")
def _(session: Any) -> Any:
    trial = pick(session.rng, session.closed) if session.closed else None
    return trial and (lambda: session.opt.tell([trial], [1.0]))


@refused("forget a trial that was told or forgotten")
def _(session: Any) -> Any:
    trial = pick(session.rng, session.closed) if session.closed else None
    return trial and (lambda: session.opt.forget(trial))


@refused("forget a trial that was told as failed")
def _(session: Any) -> Any:
    trial = pick(session.rng, session.late.values()) if session.late else None
    return trial and (lambda: session.opt.forget(trial))


@refused("tell a failure a second time, beside a good value")
def _(session: Any) -> Any:
    late, other = pick(session.rng, session.late.values()) if session.late else None, _some(session)
    if late is None:
        return None
    others = [other] if other else []
    return lambda: session.opt.tell([*others, late], [1.0] * len(others) + [None])


@refused("tell with another number of values")
def _(session: Any) -> Any:
    trial = _some(session)
    return trial and (lambda: session.opt.tell([trial], [1.0, 2.0]))


@refused("tell with another number of seconds")
def _(session: Any) -> Any:
    trial = _some(session)
    return trial and (lambda: session.opt.tell([trial], [1.0], [0.1, 0.2]))


@refused("tell what is no value, the last of several")
def _(session: Any) -> Any:
    trials, value = list(session.pending.values()), pick(session.rng, NO_VALUES)
    return (lambda: session.opt.tell(trials, [1.0] * (len(trials) - 1) + [value])) if trials else None


@refused("tell a trial twice in a call")
def _(session: Any) -> Any:
    trial = _some(session)
    return trial and (lambda: session.opt.tell([trial, trial], [1.0, 2.0]))


@refused("tell a trial of another optimizer")
def _(session: Any) -> Any:
    other = lamcts.Optimizer(session.space, seed=session.opt.seed + 1, sampler="uniform").ask()[0]
    known = session.pending.get(other.id) or session.late.get(other.id)
    same = known is not None and np.array_equal(known.x, other.x)
    return None if same else (lambda: session.opt.tell([other], [1.0]))


@refused("tell a point as a trial")
def _(session: Any) -> Any:
    point = session.space.decode(session.space.sample(1, session.rng)[0])
    return lambda: session.opt.tell([point], [1.0])


@refused("tell a point that is none of the space")
def _(session: Any) -> Any:
    point = pick(session.rng, NO_POINTS)
    try:
        session.space.encode(point)
    except ValueError:
        return lambda: session.opt.tell_point(point, 1.0)
    return None  # an option of this space


@refused("tell points of which the last has no value")
def _(session: Any) -> Any:
    points = [session.space.decode(x) for x in session.space.sample(3, session.rng)]
    return lambda: session.opt.tell_points(points, [1.0, 2.0, "three"])


@refused("tell points with too few values")
def _(session: Any) -> Any:
    points = [session.space.decode(x) for x in session.space.sample(3, session.rng)]
    return lambda: session.opt.tell_points(points, [1.0, 2.0])


@refused("load a state into an optimizer that was used")
def _(session: Any) -> Any:
    state = session.opt.state_dict()
    return (lambda: session.opt.load_state_dict(state)) if session.issued or session.rows else None
