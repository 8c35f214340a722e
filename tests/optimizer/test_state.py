"""States are data: a foreign one is refused whole, a look changes nothing, and what is new is told once."""

import json
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.optimizer import Optimizer
from lamcts.optimizer.state import Mark
from lamcts.samplers import Turbo

SPACE = lamcts.Box(-5.0, 10.0, dim=3)


def made(evaluations: int = 0, **settings: Any) -> Optimizer:
    opt = Optimizer(SPACE, **{"seed": 0, "n_init": 6, **settings})
    while len(opt.seen) < evaluations:
        trial = opt.ask()[0]
        opt.tell(trial, None if trial.id % 7 == 3 else float((trial.point**2).sum()))
    return opt


def changed(state: dict[str, Any], *path: Any, to: Any = KeyError) -> dict[str, Any]:
    """Return a state in which the entry at `path` is another, or missing."""
    state = json.loads(json.dumps(state, default=lambda a: a.tolist()))
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
    ],
    ids=str,
)
def test_a_state_that_is_broken_anywhere_is_refused_and_leaves_the_optimizer_fresh(path: Any, to: Any) -> None:
    opt, state = made(), (full := made(24)).ask() and full.state_dict()
    with pytest.raises(ValueError, match=r"state: expected what state_dict\(\) returned"):
        opt.load_state_dict(changed(state, *path, to=to))
    assert len(opt.seen) == len(opt.pending) == 0
    opt.load_state_dict(state)
    assert len(opt.seen) == 24


def test_asking_where_the_next_search_would_be_draws_nothing_and_begins_nothing() -> None:
    looked, plain = (made(20, tree=lamcts.LatentTree(leaf_size=4), sampler=Turbo(scope="selected")) for _ in range(2))
    for _ in range(12):
        before = looked.state_dict()["core"]
        regions = [looked.region() for _ in range(3)]
        assert looked.state_dict()["core"] == before
        assert all(len(region.rows) == len(regions[0].rows) for region in regions)
        trials = [opt.ask()[0] for opt in (looked, plain)]
        assert np.array_equal(trials[0].x, trials[1].x)
        for opt, trial in zip((looked, plain), trials, strict=True):
            opt.tell(trial, float((trial.point**2).sum()))


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


def test_the_reasons_for_each_placement_are_counted_and_travel_with_the_state() -> None:
    opt = made(40, tree=lamcts.LatentTree(leaf_size=4), sampler="uniform")
    assert opt.placements["selected"] > 10
    assert sum(opt.placements.values()) == 34  # one an ask, but for the six of the design
    twin = made(tree=lamcts.LatentTree(leaf_size=4), sampler="uniform")
    twin.load_state_dict(opt.state_dict())
    assert twin.placements == opt.placements


def test_a_search_that_breaks_costs_neither_the_value_nor_the_run() -> None:
    opt = made(10)
    session = opt._searches.live[0].session

    def broken(*_: Any) -> None:
        raise ZeroDivisionError("oh")

    session.tell = broken  # type: ignore[method-assign]
    trial = opt.ask()[0]
    with pytest.warns(RuntimeWarning, match=r"failed and is given up \(ZeroDivisionError: oh\)"):
        opt.tell(trial, 1.0)
    assert (len(opt.seen), opt.pending) == (11, [])
    twin = made()
    twin.load_state_dict(opt.state_dict())
    assert np.array_equal(opt.ask()[0].x, twin.ask()[0].x)
