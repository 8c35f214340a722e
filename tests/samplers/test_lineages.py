from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import AUTO, BRIEF, best

from lamcts import LatentTree, Optimizer, samplers
from lamcts.observations import Observations
from lamcts.samplers.auto import Auto
from lamcts.samplers.lineages import WIDE, Lineages
from lamcts.samplers.parts.expedition import Expedition, Explorer
from lamcts.samplers.quadratic import Quadratic
from lamcts.samplers.turbo import Turbo
from lamcts.samplers.uniform import Uniform
from lamcts.spaces import Box, Choice, Float, Space, Valid
from lamcts.testing.samplers import check_sampler, same_future
from lamcts.testing.search import Search, bowl
from lamcts.types import Floats

SQUARE = Box(0.0, 1.0, dim=3)
NEAR = Auto((Turbo(length=0.1, n_start=1, candidates=50), Quadratic(length=0.1, length_min=0.02)))
STAYS = Auto((Turbo(length=0.1, length_min=0.05, n_start=1, candidates=50), *NEAR.arms[1:]))  # in the first valley
SOON = Auto((Turbo(length=0.4, length_min=0.2, n_start=1, candidates=50), Quadratic(length_min=0.3)))  # soon converged
LEAVES = Lineages(STAYS, NEAR, window=16)


def rippled(x: Floats) -> float:
    gap = 8 * (x - 0.61)
    return float((gap**2 - 10 * np.cos(2 * np.pi * gap)).sum()) + 30.0


def curved(x: Floats) -> float:
    x = 4 * x - 1.5
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def lineages(search: Search) -> Any:
    return search.session.lineages  # type: ignore[attr-defined]


def expedition(search: Search) -> Any:
    return search.session.progress.expedition  # type: ignore[attr-defined]


def until(search: Search, holds: Any, batch: int = 4, rounds: int = 60) -> None:
    for _ in range(rounds):
        if holds(search):
            return
        search.go(1, batch)
    raise AssertionError("it never came to that")


def asked_by(search: Search, numbers: Sequence[int]) -> set[int]:
    return {search.out[number][0] for number in numbers}


@cache
def first_to_leave() -> Search:
    search = Search(LEAVES, SQUARE, 2, loss=rippled)
    until(search, lambda search: len(lineages(search)) > 1)
    return search


def left() -> Search:
    """Return a search that has left its first valley: its second lineage has begun."""
    return first_to_leave().resumed()


# The search that it wraps -------------------------------------------------------------------------------------------


def test_until_it_stands_still_every_point_is_that_of_the_search_it_wraps() -> None:
    wrapped, alone = Search(Lineages(AUTO, NEAR), SQUARE, 0, given=9), Search(AUTO, SQUARE, 0, given=9)
    assert np.array_equal(wrapped.go(10, 3), alone.go(10, 3))
    assert wrapped.session.scope == alone.session.scope
    assert wrapped.session.incumbent == alone.session.incumbent


def test_rows_that_nobody_asked_for_are_those_of_the_first_lineage_in_the_order_of_their_arrival() -> None:
    wrapped, alone = (Optimizer(SQUARE, sampler=each, n_init=4, seed=0) for each in (Lineages(AUTO, NEAR), AUTO))
    for opt in (wrapped, alone):
        for _ in range(4):
            trials = opt.ask(3)
            opt.tell_point(np.full(3, 0.2) + 0.01 * len(opt.seen), 0.1)
            opt.tell(trials, [bowl(trial.x) for trial in trials])
    assert np.array_equal(wrapped.seen.x, alone.seen.x)


def test_where_parameters_are_discrete_or_there_are_constraints_it_is_the_search_that_it_wraps() -> None:
    mixed = Space(
        {"rate": Float(0.0, 1.0), "size": Float(0.0, 1.0), "more": Float(0.0, 1.0), "kind": Choice(["a", "b"])}
    )
    for space, more in ((mixed, {}), (SQUARE, {"constraints": 1}), (SQUARE, {"objectives": 2})):
        points = []
        for sampler in (Lineages(AUTO, NEAR), AUTO):
            opt = Optimizer(space, sampler=sampler, n_init=5, seed=0, **more)  # type: ignore[arg-type]
            width = 2 if more else 1
            for _ in range(3):
                trials = opt.ask(3)
                opt.tell(trials, [[bowl(t.x), -t.x[0]][:width] if more else bowl(t.x) for t in trials])
            points.append(opt.seen.x.copy())
        assert np.array_equal(*points)


# Leaving ------------------------------------------------------------------------------------------------------------


def test_it_leaves_the_first_valley_of_a_rippled_bowl_for_a_better_one() -> None:
    leaves, stays = (Search(sampler, SQUARE, 2, loss=rippled) for sampler in (LEAVES, STAYS))
    leaves.go(36, 4)
    stays.go(36, 4)
    assert best(leaves) < best(stays) - 1
    first, *others = lineages(leaves)
    assert first.course.ended > 0
    assert min(one.best for one in others) == best(leaves)


def test_a_lineage_begins_in_its_box_and_knows_no_rows_but_its_own() -> None:
    search = left()
    until(search, lambda search: lineages(search)[1].session is not None)
    first, second = lineages(search)[:2]
    box = search.seen.x[second.own.rows[:10]]
    assert np.abs(box - second.course.middle).max() <= second.course.box / 2
    assert not {*first.own.rows.tolist()} & {*second.own.rows.tolist()}
    assert np.array_equal(second.own.x, search.seen.x[second.own.rows])


def test_a_smooth_valley_is_not_left_while_it_is_followed_however_slowly() -> None:
    search = Search(Lineages(AUTO, NEAR, window=20), Box(0.0, 1.0, dim=10), 0, loss=curved, given=20)
    until(search, lambda search: expedition(search).vain > 0, batch=20, rounds=15)
    assert len(lineages(search)) == 1
    assert expedition(search).spread == 0


def test_where_a_smooth_valley_was_followed_to_its_end_the_search_begins_anew_as_that_it_wraps_does() -> None:
    wrapped, alone = (
        Optimizer(SQUARE, sampler=each, n_init=4, seed=0) for each in (Lineages(SOON, NEAR, window=60), SOON)
    )
    for _ in range(25):
        for opt in (wrapped, alone):
            trials = opt.ask(4)
            opt.tell(trials, [bowl(trial.x) for trial in trials])
    assert wrapped._searches.next > 1
    assert np.array_equal(wrapped.seen.x, alone.seen.x)


def test_a_search_that_converged_above_what_was_known_before_goes_elsewhere() -> None:
    opt = Optimizer(SQUARE, sampler=Lineages(SOON, NEAR), n_init=4, seed=0)
    opt.tell_point(np.full(3, 0.3), 0.0)
    for _ in range(25):
        trials = opt.ask(4)
        opt.tell(trials, [bowl(trial.x) for trial in trials])
    assert opt._searches.next == 1
    assert opt._searches.newest.progress.expedition.spread > 0  # type: ignore[union-attr]


def test_a_lineage_that_is_beaten_ends_and_what_it_still_waits_for_is_taken() -> None:
    search = left()
    asked = search.ask(12)
    waits = next(n for n in asked if search.out[n][0] == 1)
    search.tell([n for n in asked if n != waits])
    until(search, lambda search: lineages(search)[1].course.ended >= 0 or lineages(search)[0].course.ended >= 0)
    ended = next(one for one in lineages(search) if one.course.ended >= 0)
    assert ended.done
    assert ended.session is None
    search.tell([waits])
    assert len(search.seen) - 1 in lineages(search)[1].own.rows


def test_points_that_are_spread_out_and_lost_hold_nothing_up() -> None:
    search = Search(LEAVES, SQUARE, 2, loss=rippled)
    until(search, lambda search: expedition(search).wide > 0)
    for _ in range(60):
        numbers = search.ask(4)
        lost = [n for n in numbers if search.out[n][0] == WIDE]
        search.forget(lost)
        search.tell([n for n in numbers if n not in lost])
        if len(lineages(search)) > 1:
            break
    assert expedition(search).out == 0
    assert len(lineages(search)) > 1


def test_while_the_points_of_a_box_are_out_others_go_on() -> None:
    search, asked = Search(LEAVES, SQUARE, 2, loss=rippled), 0
    while asked < 10:
        numbers = search.ask(4)
        asked += sum(search.out[n][0] == 1 for n in numbers)
        search.tell([n for n in numbers if search.out[n][0] != 1])
    for _ in range(3):
        numbers = search.ask(4)
        assert 1 not in asked_by(search, numbers)
        search.tell(numbers)


def test_points_of_a_box_that_are_lost_are_drawn_anew() -> None:
    search = left()
    while lineages(search)[1].session is None:
        numbers = search.ask(4)
        lost = [n for n in numbers if search.out[n][0] == 1][:1]
        search.forget(lost)
        search.tell([n for n in numbers if n not in lost])
    assert len(lineages(search)[1].own) >= 10


def test_a_box_in_which_all_fails_is_given_up() -> None:
    search = Search(LEAVES, SQUARE, 2, loss=rippled)
    while expedition(search).fails == 0:
        numbers = search.ask(4)
        search.tell(numbers, [search.out[n][0] == 1 for n in numbers])
    assert lineages(search)[1].course.ended >= 0
    assert not len(lineages(search)[1].own.good)


# What is rare -------------------------------------------------------------------------------------------------------


def test_where_nothing_has_succeeded_by_its_end_all_begins_anew() -> None:
    opt = Optimizer(SQUARE, sampler=Lineages(SOON, NEAR), n_init=4, seed=0)
    while opt._searches.next < 2:
        (trial,) = opt.ask()
        opt.tell(trial, None)
        assert len(opt.seen) < 300


def test_a_spread_point_that_is_the_best_is_followed() -> None:
    search = Search(LEAVES, SQUARE, 2, loss=rippled)
    until(search, lambda search: expedition(search).wide > 0)
    numbers = search.ask(4)
    found = next(n for n in numbers if search.out[n][0] == WIDE)
    x = search.seen.pending[found].copy()
    search.loss = lambda point: -100.0 + bowl(point - x + 0.3) if np.abs(point - x).max() < 0.1 else rippled(point)
    search.tell(numbers)
    row = int(np.flatnonzero((search.seen.x == x).all(1))[0])
    until(search, lambda search: any(one.course.row == row for one in lineages(search)))
    same_future(search, 0)
    begun = next(k for k, one in enumerate(lineages(search)) if one.course.row == row)
    search.go(10, 4)
    assert lineages(search)[begun].incumbent == row and lineages(search)[begun].session is not None
    assert (np.abs(search.seen.x[row + 1 :] - x).max(1) < 0.1).sum() > 10


def test_a_better_point_that_comes_to_a_lineage_given_up_is_followed() -> None:
    opt = Optimizer(SQUARE, sampler=LEAVES, n_init=8, seed=2)
    f = lambda x: -100.0 + bowl(x - 0.5) if np.abs(x - 0.8).max() < 0.1 else rippled(x)  # noqa: E731
    while opt._searches.next == 0 or opt._searches.newest.lineages[0].course.ended < 0:  # type: ignore[union-attr]
        trials = opt.ask(4)
        opt.tell(trials, [rippled(trial.x) for trial in trials])
    opt.tell_point(np.full(3, 0.85), f(np.full(3, 0.85)))
    for _ in range(15):
        trials = opt.ask(4)
        opt.tell(trials, [f(trial.x) for trial in trials])
    assert opt.best.value < f(np.full(3, 0.85)) - 0.001


def test_a_batch_is_no_window() -> None:
    search = Search(Lineages(AUTO, NEAR), SQUARE, 0, given=9)
    search.go(1, 64)
    assert search.session.explorer.window == 192  # type: ignore[attr-defined]
    search.go(1, 2)
    assert search.session.explorer.window == 15  # type: ignore[attr-defined]


def test_a_box_of_which_next_to_nothing_may_be_proposed_holds_nothing_up() -> None:
    space = Valid(SQUARE, lambda point: np.sum((np.asarray(point) - 0.5) ** 2) > 0.3)
    opt = Optimizer(space, sampler=LEAVES, n_init=8, seed=0)
    for _ in range(60):
        trials = opt.ask(4)
        opt.tell(trials, [rippled(trial.x) for trial in trials])
    session: Any = opt._searches.newest
    empty = [one for one in session.lineages[1:] if one.course.tried >= 50 and not one.course.opened]
    assert empty and all(0 < one.course.ended < one.course.began + 50 for one in empty)


def test_points_of_a_box_that_never_come_back_hold_nothing_up() -> None:
    search = left()
    lost = [n for n in search.ask(12) if search.out[n][0] == 1]
    assert lost
    for _ in range(20):
        numbers = search.ask(4)
        lost += [n for n in numbers if search.out[n][0] == 1]
        search.tell([n for n in numbers if n not in lost])
    assert lineages(search)[1].course.ended >= 0


def test_points_that_nobody_asked_for_are_no_results_of_the_search() -> None:
    opt = Optimizer(SQUARE, sampler=LEAVES, n_init=8, seed=2)
    for _ in range(6):
        trials = opt.ask(4)
        opt.tell(trials, [curved(trial.x) for trial in trials])
    session: Any = opt._searches.newest
    first = session.lineages[0]
    before = first.told, first.gains(4)
    x = np.random.default_rng(0).random((20, 3))
    opt.tell_points(list(x), [curved(row) + 1e3 for row in x])
    opt.ask(1)
    assert len(first.besides) == 20 and (first.told, first.gains(4)) == before
    again = Optimizer(SQUARE, sampler=LEAVES, n_init=8, seed=2)
    again.load_state_dict(opt.state_dict())
    resumed: Any = again._searches.newest
    assert resumed.lineages[0].besides == first.besides


def test_a_penalty_is_no_scale_of_gains() -> None:
    seen = Observations(2)
    y = np.array([1e12] * 7 + [8.0, 4.0, 6.0])
    seen.append(np.random.default_rng(0).random((10, 2)), y, np.full(10, np.nan), np.arange(10), np.zeros(10, np.int64))
    explorer = Explorer(LEAVES, seen, [], Expedition(), np.random.default_rng(0))
    assert explorer.ground.first(explorer.window) == 6.0


def test_a_search_whose_notes_are_none_is_told_its_results() -> None:
    search = Search(Lineages(Uniform(), Uniform()), SQUARE, 0)
    search.go(10, 4)
    first = lineages(search)[0]
    assert first.own.number(first.session.incumbent) == search.seen.best


# State --------------------------------------------------------------------------------------------------------------


def test_it_goes_on_bit_for_bit_from_every_stage_of_an_expedition() -> None:
    search = Search(LEAVES, SQUARE, 2, loss=rippled)
    until(search, lambda search: expedition(search).wide > 0)
    same_future(search, 0)
    until(search, lambda search: len(lineages(search)) > 1)
    same_future(search, 0)
    until(search, lambda search: lineages(search)[1].session is not None)
    search.ask(3)
    same_future(search, 0)
    until(search, lambda search: any(one.course.ended >= 0 for one in lineages(search)))
    same_future(search, 0)


def test_an_optimizer_goes_on_from_its_file(tmp_path: Any) -> None:
    def go(opt: Optimizer, rounds: int) -> None:
        for _ in range(rounds):
            trials = opt.ask(4)
            opt.tell(trials, [rippled(trial.x) for trial in trials])

    one = Optimizer(SQUARE, sampler=LEAVES, seed=1)
    go(one, 25)
    one.save(tmp_path / "run")
    two = Optimizer.load(tmp_path / "run")
    go(one, 6)
    go(two, 6)
    assert np.array_equal(one.seen.x, two.seen.x)


def test_its_tree_is_a_map_that_chooses_nothing_unless_one_is_given() -> None:
    def gone(tree: Any) -> Optimizer:
        opt = Optimizer(SQUARE, sampler=Lineages(SOON, NEAR, window=16), tree=tree, seed=1, n_init=40)
        while len(opt.seen) < 120:
            trials = opt.ask(4)
            opt.tell(trials, [curved(trial.x) for trial in trials])
        return opt

    a_map, none, given = gone("auto"), gone(None), gone(LatentTree(leaf_size=8))
    assert np.array_equal(a_map.seen.x, none.seen.x)
    assert a_map.placements["space"] == sum(a_map.placements.values()) > 0
    assert a_map.region().steps == ()
    root = a_map.tree_root()
    assert root is not None and root.kids
    assert given.placements["selected"] > 0


@pytest.mark.dear
def test_each_point_says_which_lineage_proposed_it() -> None:
    opt = Optimizer(SQUARE, sampler=LEAVES, seed=0)
    while opt._searches.next == 0 or len(opt._searches.newest.lineages) < 3:  # type: ignore[union-attr]
        trials = opt.ask(4)
        opt.tell(trials, [rippled(trial.x) for trial in trials])
    names = {*opt._searches.proposers.values()}
    assert {"Turbo", "Quadratic", "spread out", "lineage 2: box"} <= names
    assert any(name.startswith("lineage 2: ") and name != "lineage 2: box" for name in names)


@pytest.mark.dear
def test_it_holds_its_contract() -> None:
    check_sampler(Lineages(BRIEF, NEAR, window=3), SQUARE)


def test_a_state_of_the_search_it_wraps_is_that_searchs() -> None:
    search = Search(Lineages(Uniform(), Uniform()), Space({"a": Choice(["a", "b", "c"]), "b": Float(0.0, 1.0)}), 0)
    search.go(2, 2)
    assert type(search.resumed().session) is type(search.session)


# Settings -----------------------------------------------------------------------------------------------------------


def test_on_reals_alone_the_default_is_a_portfolio_that_begins_again() -> None:
    made = samplers.choose(SQUARE)
    assert isinstance(made, Lineages)
    assert made.inner == samplers.make("portfolio", SQUARE)
    mixed = Space(
        {"rate": Float(0.0, 1.0), "size": Float(0.0, 1.0), "more": Float(0.0, 1.0), "kind": Choice(["a", "b"])}
    )
    assert samplers.choose(mixed) == samplers.make("portfolio", mixed)
    with pytest.raises(ValueError, match="expected one of"):
        samplers.make("portfolio:three", SQUARE)


@pytest.mark.parametrize("wrong", [{"box": 0.0}, {"box": 2.0}, {"distance": -1.0}, {"window": 0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Lineages: "):
        Lineages(AUTO, NEAR, **wrong)
