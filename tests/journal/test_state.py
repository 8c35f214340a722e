"""States are data: a foreign one is refused whole, a look changes nothing, and what is new is told once."""

import json
import math
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.journal.state import Mark
from lamcts.optimizer import Optimizer
from lamcts.samplers import Turbo, Uniform

SPACE = lamcts.Box(-5.0, 10.0, dim=3)


def made(evaluations: int = 0, **settings: Any) -> Optimizer:
    opt = Optimizer(SPACE, **{"seed": 0, "n_init": 6, **settings})
    while len(opt.seen) < evaluations:
        trial = opt.ask()[0]
        opt.tell(trial, None if trial.id % 7 == 3 else float((trial.point**2).sum()))
    return opt


def changed(state: dict[str, Any], *path: Any, to: Any = KeyError) -> dict[str, Any]:
    """Return a state in which the entry at `path` is another, or missing."""
    state = json.loads(json.dumps(state))
    inside: Any = state
    for key in path[:-1]:
        inside = inside[key]
    if to is KeyError:
        del inside[path[-1]]
    else:
        inside[path[-1]] = to
    return state


@pytest.mark.parametrize("state", [{"a": 1}, {}, None, 5, [], "state", {"format": 2}, {"format": 1}])
def test_what_is_no_state_is_refused_by_name(state: Any) -> None:
    with pytest.raises(ValueError, match=r"state: expected what state_dict\(\) returned, got"):
        made().load_state_dict(state)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("core",), None),
        (("core", "rng"), KeyError),
        (("core", "rng"), {}),
        (("core", "trials"), "many"),
        (("columns", "y"), [1.0]),
        (("columns", "x"), [[0.1, 0.2]]),
        (("failures",), 3),
        (("pending", 0, "x"), [0.1]),
        (("pending", 0), {}),
        (("searches", "0"), {}),
        (("searches", "0", "session"), {"rng": 1}),
        (("searches", "0", "session"), None),
        (("core", "designed"), -3),
        (("core", "designed"), 99),
        (("core", "trials"), 1),
        (("core", "searches"), 0),
        (("core", "converged"), [999]),
        (("core", "converged"), ["a"]),
        (("failures",), {"99": "lost"}),
        (("columns", "x", 0), [2.0, 0.0, 0.0]),
        (("columns", "x", 0), [math.nan, 0.0, 0.0]),
        (("columns", "y", 0), math.inf),
        (("pending", 0, "x"), [-1.0, 0.0, 0.0]),
        (("pending", 0, "id"), 3),
        (("searches", "0", "session", "incumbent"), 999),
        (("searches", "0", "session", "incumbent"), "a"),
    ],
    ids=str,
)
def test_a_state_that_is_broken_anywhere_is_refused_and_leaves_the_optimizer_fresh(path: Any, to: Any) -> None:
    opt, state = made(), (full := made(24)).ask() and full.state_dict()
    with pytest.raises(ValueError, match=r"state: expected "):
        opt.load_state_dict(changed(state, *path, to=to))
    assert len(opt.seen) == len(opt.pending) == 0
    opt.load_state_dict(state)
    assert len(opt.seen) == 24


def test_what_is_new_since_a_mark_is_the_same_however_often_one_asks() -> None:
    opt = made(15)
    mark = opt.delta(Mark()).until
    trials = opt.ask(3)
    opt.tell(trials[0], 1.0)
    opt.tell(trials[1], None)
    for _ in range(2):
        delta = opt.delta(mark)
        assert delta.columns.trial.tolist() == [trials[0].id, trials[1].id]
        assert list(delta.failures) == [16]
        assert [trial.id for trial in delta.issued] == [trials[2].id]
        assert (delta.since, delta.closed, list(delta.searches)) == (mark, [], [0])
    later = opt.delta(delta.until)
    assert (len(later.columns.y), later.issued, later.searches, later.ended) == (0, [], {}, [])
    opt.forget(trials[2])
    assert opt.delta(delta.until).closed == [trials[2].id]


def test_a_search_that_breaks_costs_neither_the_value_nor_the_run() -> None:
    opt = made(10)
    session = opt._searches.live[0].session

    def broken(*_: Any) -> None:
        raise ZeroDivisionError("oh")

    session.tell = broken  # type: ignore[method-assign]
    trial = opt.ask()[0]
    with pytest.warns(RuntimeWarning, match=r"failed and is given up \(ZeroDivisionError: oh; .*, line [0-9]+\)"):
        opt.tell(trial, 1.0)
    assert (len(opt.seen), opt.pending) == (11, [])
    twin = made()
    twin.load_state_dict(opt.state_dict())
    assert np.array_equal(opt.ask()[0].x, twin.ask()[0].x)


class Mute:
    def __repr__(self) -> str:
        raise ZeroDivisionError


def test_a_thing_that_cannot_even_be_written_is_no_state() -> None:
    with pytest.raises(ValueError, match="state: expected"):
        made().load_state_dict(Mute())  # type: ignore[arg-type]


def test_a_user_who_changes_the_point_of_a_trial_changes_nothing_here() -> None:
    opt = made()
    a, b = opt.ask(2)
    a.point[:] = 99.0
    opt.tell_point(b.point, 1.0)
    assert [trial.id for trial in opt.pending] == [a.id]


def test_equal_pending_points_are_told_one_after_the_other() -> None:
    opt = Optimizer(lamcts.Int(0, 1), repeat=True, seed=0)
    trials = opt.ask(4)
    opt.tell_points([trial.point for trial in trials], [1.0, 2.0, 3.0, 4.0])
    assert opt.pending == [] and sorted(opt.seen.trial.tolist()) == [0, 1, 2, 3]


def test_a_search_that_breaks_when_it_is_asked_or_forgotten_is_ended_and_keeps_no_trial_back() -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("oh")

    opt = made(12)
    trial = opt.ask()[0]
    opt._searches.live[0].session.forget = broken  # type: ignore[method-assign]
    with pytest.warns(RuntimeWarning, match="given up"):
        opt.forget(trial)
    assert opt.pending == [] and not opt._searches.live
    opt.ask()
    (search,) = opt._searches.live.values()
    search.session.ask = broken  # type: ignore[method-assign, assignment]
    with pytest.raises(ZeroDivisionError):
        opt.ask()
    assert not opt._searches.live and len(opt.ask(2)) == 2

    class Broken(Turbo):
        def start(self, *_: Any) -> Any:
            raise ZeroDivisionError("oh")

    fresh = made(sampler=Broken(), n_init=3)
    assert len(fresh.ask(5)) == len(fresh.pending) == 3  # the design; the error comes where nothing else does
    with pytest.raises(ZeroDivisionError):
        fresh.ask()


class Whimsical(Uniform):
    """A sampler of the user's, whose state means something else by our words."""

    def start(self, *given: Any) -> Any:
        session = super().start(*given)
        plain = session.state
        session.state = lambda: {"own": plain(), "incumbent": "the third from the left"}
        return session

    def restore(self, state: dict[str, Any], log: list[Any], *given: Any) -> Any:
        return super().restore(state["own"], log, *given)


def test_what_a_state_of_ones_own_sampler_means_by_its_entries_is_its_own_affair() -> None:
    opt, twin = made(12, sampler=Whimsical()), made(sampler=Whimsical())
    twin.load_state_dict(json.loads(json.dumps(opt.state_dict())))
    assert np.array_equal(opt.ask()[0].x, twin.ask()[0].x)
