import math

import numpy as np
import pytest
from moves import CUBE, DISCRETE, MIXED, best, failing, mixed, moves, play, points, rippled, until_together

from lamcts.samplers.coordinate import DRAWN, PATTERN, RECENT_PROBES, Coordinate
from lamcts.spaces import Bool, Box, Choice, Float, Int, Space
from lamcts.spaces.regions.region import Region, Step
from lamcts.testing.samplers import Ball, Slope
from lamcts.testing.search import Loss, Search, bowl

# Moves --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [CUBE, MIXED, DISCRETE], ids=["box", "mixed", "discrete"])
def test_a_probe_differs_from_the_best_row_in_the_one_parameter_that_it_says(space: Space) -> None:
    search = Search(Coordinate(), space, 0, given=6)
    probes = 0
    for _ in range(8):
        centre = search.seen.x[search.session.incumbent]
        numbers = search.ask(3)
        for x, kind in zip(points(search, numbers), moves(search), strict=True):
            changed = [i for i, block in enumerate(space.blocks) if not np.array_equal(x[block], centre[block])]
            if kind >= 0:
                assert changed == [kind]
                probes += 1
            elif kind == PATTERN:
                assert len(changed) >= 2
        search.tell(numbers)
    assert probes >= 15


def test_a_large_batch_probes_every_parameter_before_any_twice() -> None:
    search = Search(Coordinate(), Box(0.0, 1.0, dim=12), 0)
    search.ask(12)
    assert sorted(moves(search)) == list(range(12))
    search.ask(12)
    assert len(search.out) == 24


def test_points_that_are_out_are_kept_away_from_and_none_is_drawn_in_place_of_a_probe() -> None:
    search = Search(Coordinate(), Float(0.0, 1.0), 0, given=3, loss=rippled)
    for _ in range(12):
        search.ask(1)
    assert moves(search) == [0] * 12
    out = np.sort(points(search, list(search.out))[:, 0])
    assert np.diff(out).min() > 0.01


def test_a_batch_holds_every_change_of_one_option_before_any_is_drawn() -> None:
    space = Space({**{f"flag {i}": Bool() for i in range(10)}, "kind": Choice(tuple("abcdefg")), "fixed": Int(3, 3)})
    search = Search(Coordinate(), space, 0, given=1)
    search.ask(18)
    assert sorted(moves(search)) == [DRAWN, DRAWN, *range(10), *[10] * 6]


def test_parameters_probed_lately_wait() -> None:
    dim = 2 * RECENT_PROBES + 4
    search = Search(Coordinate(), Box(0.0, 1.0, dim=dim), 0, loss=rippled)
    asked = [kind for _ in range(60) for kind in play(search, 1) if kind >= 0]
    assert (
        min(len(set(asked[i : i + RECENT_PROBES + 1])) for i in range(len(asked) - RECENT_PROBES)) == RECENT_PROBES + 1
    )


def test_a_parameter_whose_values_have_run_out_lets_the_others_go_on() -> None:
    """The constant and the flags that were tried never come out of the waiting line by being probed."""
    flags = {f"flag {i}": Bool() for i in range(6)}
    space = Space({"fixed": Choice(("only",)), **flags, "a": Float(0.0, 1.0), "b": Float(0.0, 1.0)})
    search = Search(Coordinate(), space, 0, given=3, loss=lambda x: bowl(x[-2:]) + float(x[1:-2].sum()))
    for _ in range(25):
        play(search, 1)
    before = len(search.session.log)
    kinds = [kind for _ in range(6) for kind in play(search, 1)]
    assert best(search) < 1e-4
    assert DRAWN not in kinds
    assert {7, 8} <= set(kinds)
    assert len(search.session.log) - before >= 5


def test_points_moved_together_are_out_one_at_a_time() -> None:
    search = Search(Coordinate(), Box(0.0, 1.0, dim=10), 0, loss=rippled)
    until_together(search)
    for _ in range(8):
        numbers = search.ask(5)
        assert moves(search).count(PATTERN) == 1
        search.tell(numbers)
    assert PATTERN not in {entry[2] for entry in search.session.log}


def test_points_moved_together_are_never_asked_twice_for_a_known_point() -> None:
    search = Search(Coordinate(), CUBE, 1, loss=rippled)
    number = until_together(search, batch=1)
    x = search.seen.pending[number].copy()
    search.forget([number])
    search.seen.append(x[None], np.ones(1), np.full(1, np.nan), np.array([-1]), np.array([-1]))  # another asked it
    kinds = []
    for _ in range(2):
        numbers = search.ask(2)  # the known point is proposed first, refused, and a probe takes its place
        kinds += moves(search)
        assert not (points(search, numbers) == x).all(1).any()
        search.forget(numbers)
    assert PATTERN not in kinds
    assert DRAWN not in kinds


def test_moves_together_grow_after_success_and_shrink_and_wait_after_failure() -> None:
    dim = 8
    search = Search(Coordinate(), Box(0.0, 1.0, dim=dim), 1, given=4, loss=rippled)

    def numbers() -> tuple[int, int, int]:
        state = search.session.state()
        return state["pattern_size"], state["probes_left"], state["failures"]

    assert numbers() == (dim, 1, 0)
    kept: Loss = search.loss
    for told, expected in [(1e9, (4, 2, 1)), (1e9, (2, 4, 2)), (math.nan, (2, 8, 3)), (-1e3, (4, 1, 0))]:
        number = until_together(search, batch=1)
        search.loss = lambda x, loss=told: loss  # type: ignore[misc]
        search.tell([number])
        search.loss = kept
        assert numbers() == expected
    assert search.session.incumbent == len(search.seen) - 1


# Results late, lost and in any order --------------------------------------------------------------------------------


def test_late_partial_and_forgotten_results_are_noted_once_each() -> None:
    search = Search(Coordinate(), CUBE, 0, loss=rippled)
    base = search.session.incumbent
    early, late = search.ask(6), search.ask(6)
    kinds = dict(zip([*early, *late], moves(search), strict=True))
    search.tell([late[3], late[1]])
    search.forget([late[0], late[2]])
    search.go(2, 3)
    known = len(search.session.log)
    search.tell([late[5], early[4], early[0]], [False, True, False])
    assert [entry[2] for entry in search.session.log[:2]] == [kinds[late[3]], kinds[late[1]]]
    assert [entry[1] for entry in search.session.log[known:]] == [base] * 3  # the row that they were made from
    assert [entry[2] for entry in search.session.log[known:]] == [kinds[n] for n in (late[5], early[4], early[0])]
    search.tell([early[i] for i in (5, 3, 1, 2)])
    search.forget([late[4]])
    assert search.session.state()["pending"] == []
    assert len({entry[0] for entry in search.session.log}) == len(search.session.log)


def test_many_points_may_be_out() -> None:
    for space in (CUBE, MIXED):
        search = Search(Coordinate(), space, 0)
        for n in (200, 1, 50):
            assert len(search.ask(n)) == n


def test_a_resumed_search_goes_on_bit_for_bit_with_points_out_of_all_kinds() -> None:
    for space, loss in ((CUBE, failing), (MIXED, mixed)):
        search = Search(Coordinate(), space, 3, loss=loss)
        together = until_together(search)
        out = search.ask(5)
        search.tell(out[3:])
        assert {PATTERN} < set(moves(search))
        copy = search.resumed()
        assert copy.saved() == search.saved()
        for late in (out[0], together, out[2]):
            for one in (search, copy):
                one.tell([late])
            assert np.array_equal(search.go(3, 3), copy.go(3, 3))
        assert copy.saved() == search.saved()


def test_a_resumed_search_goes_on_bit_for_bit_after_its_parameters_have_been_probed_more_often_than_is_kept() -> None:
    search = Search(Coordinate(), Float(0.0, 1.0), 0, given=2, loss=lambda x: rippled(x) + math.sin(1e5 * x[0]))
    search.go(15, 4)
    copy = search.resumed()
    assert np.array_equal(search.go(5, 2), copy.go(5, 2))


# Regions ------------------------------------------------------------------------------------------------------------


def test_it_stays_inside_its_region_and_goes_on_in_another() -> None:
    steps = [Step(Ball(np.full(4, 0.6), 0.35), True), Step(Slope(np.array([1.0, 0.0, 0.0, 0.0]), -0.5), True)]
    search = Search(Coordinate(), CUBE, 0, steps=steps, given=60)  # the bottom lies outside
    search.go(20, 4)  # Search holds every point against the region
    drawn = CUBE.sample(20000, np.random.default_rng(0))
    inside = drawn[search.region().contains(drawn)]
    assert search.seen.y[search.session.incumbent] < 1.5 * min(map(bowl, inside))
    search.move([])
    search.go(10, 4)
    assert best(search) < 1e-5


def test_probes_that_end_outside_are_pulled_in_and_noted_where_they_are() -> None:
    search = Search(Coordinate(), CUBE, 0, steps=[Step(Ball(np.full(4, 0.5), 0.3), True)], given=80)
    numbers = search.ask(8)
    x = points(search, numbers)
    for number, point in zip(numbers, x, strict=True):
        _, parameter, value = search.out[number]
        assert parameter >= 0
        assert value == [point[parameter]]
        assert search.region().contains(point[None])[0]


def test_discrete_values_outside_the_region_are_not_proposed_over_and_over() -> None:
    space = Space({**{f"flag {i}": Bool() for i in range(6)}, "a": Float(0.0, 1.0), "b": Float(0.0, 1.0)})
    wall = [Step(Slope(-np.eye(8)[i], 0.5), True) for i in range(6)]  # all flags False
    search = Search(Coordinate(), space, 0, steps=wall, given=600, loss=rippled)
    kinds = [kind for _ in range(10) for kind in play(search, 1)]
    assert DRAWN not in kinds
    assert {6, 7} <= set(kinds) <= {6, 7, PATTERN}


def test_with_the_incumbent_outside_it_probes_from_the_best_row_inside() -> None:
    search = Search(Coordinate(), CUBE, 0, given=60)
    session = search.session
    other = Region(CUBE, (Step(Ball(np.full(4, 0.8), 0.4), True),), search.seen.good)
    rows = search.seen.good[other.contains(search.seen.x)]
    assert session.incumbent not in rows
    session.move(Region(CUBE, other.steps, rows))
    x = session.ask(4).x
    inside = int(rows[np.argmin(search.seen.y[rows])])
    assert {base for base, *_ in session.state()["pending"]} == {inside}
    assert other.contains(x).all()


def test_a_region_without_rows_is_begun_with_draws_though_others_know_rows_elsewhere() -> None:
    """Where another search has converged none are offered, or it would converge there again."""
    search = Search(Coordinate(), CUBE, 0)
    session = Coordinate().start(Region(CUBE, (), np.empty(0, np.int64)), search.seen, np.random.default_rng(1))
    assert session.incumbent is None
    assert len(session.ask(4)[0]) == 4
    assert [parameter for _, parameter, _ in session.state()["pending"]] == [DRAWN] * 4
