import math

import numpy as np
import pytest
from moves import CUBE, DISCRETE, MIXED, best, discrete, failing, mixed, play, points, rippled

from lamcts.outcomes.observations import Floats
from lamcts.samplers import coordinate
from lamcts.samplers.coordinate import DRAWN, MAX_PARAMETERS, PATTERN, Coordinate
from lamcts.samplers.turbo import Turbo
from lamcts.spaces import Box, Float, Int
from lamcts.spaces.regions.region import Step
from lamcts.testing.samplers import Ball
from lamcts.testing.search import Search, bowl

# What it finds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_rippled_sum_is_solved_where_turbo_with_as_many_evaluations_is_not(seed: int) -> None:
    search = Search(Coordinate(), Box(0.0, 1.0, dim=10), seed, given=20, loss=rippled)
    other = Search(Turbo(), Box(0.0, 1.0, dim=10), seed, given=20, loss=rippled)
    search.go(30, 5)
    other.go(30, 5)
    assert best(search) < 0.01 < 0.1 < best(other)


@pytest.mark.parametrize("seed", range(3))
def test_a_mixed_space_is_solved_in_all_its_parameters(seed: int) -> None:
    search = Search(Coordinate(), MIXED, seed, given=6, loss=mixed)
    search.go(20, 3)
    found = MIXED.decode(search.seen.x[search.session.incumbent])
    assert (found["layers"], found["kind"], found["skip"]) == (7, "c", True)
    assert 45 <= found["width"] <= 55
    assert max(abs(found["rate"] - 0.3), abs(found["size"] - 0.8)) < 0.07


@pytest.mark.parametrize("seed", range(3))
def test_of_two_thousand_million_discrete_points_the_best_is_found_in_seventy_five(seed: int) -> None:
    search = Search(Coordinate(), DISCRETE, seed, given=6, loss=discrete)
    search.go(25, 3)
    assert best(search) == 0.0


@pytest.mark.dear
@pytest.mark.parametrize("seed", range(2))
def test_more_parameters_than_are_considered_at_once_all_get_their_turn(seed: int) -> None:
    dim = MAX_PARAMETERS + 22
    search = Search(Coordinate(), Box(0.0, 1.0, dim=dim), seed, given=2, loss=rippled)
    first = best(search)
    asked = [kind for _ in range(40) for kind in play(search, 5)]
    assert len(set(asked) - {PATTERN, DRAWN}) > 0.6 * dim
    assert max(asked) >= MAX_PARAMETERS
    assert best(search) < 0.7 * first


@pytest.mark.parametrize("space", [Float(0.0, 1.0), Int(0, 10**6)], ids=["float", "wide whole number"])
@pytest.mark.parametrize("seed", range(3))
def test_one_parameter_is_enough(space: Float | Int, seed: int) -> None:
    search = Search(Coordinate(), space, seed, given=3, loss=rippled)
    search.go(20, 2)
    assert best(search) < 1e-6


# Failures and scales ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, -1e3, 1e6])
@pytest.mark.parametrize("seed", range(2))
def test_failures_are_stepped_round_however_far_from_zero_the_losses_lie(seed: int, offset: float) -> None:
    search = Search(Coordinate(), CUBE, seed, given=12, loss=lambda x: failing(x) + offset)
    search.go(30, 3)
    assert 1 <= np.isnan(search.seen.y[12:]).sum() <= 12  # a few tell where it must not go
    assert best(search) - offset < 1e-3


def test_where_nothing_has_succeeded_it_draws_from_the_region_and_settles_with_the_first_success() -> None:
    step = Step(Ball(np.full(4, 0.5), 0.4), True)
    search = Search(Coordinate(), CUBE, 0, steps=[step], given=0, loss=lambda x: math.nan)
    kinds = [kind for _ in range(3) for kind in play(search, 4)]
    assert kinds == [DRAWN] * 12
    assert search.session.incumbent is None
    assert search.session.log == []
    search.loss = bowl
    play(search, 1)
    assert search.session.incumbent is not None
    assert min(play(search, 3)) >= 0


@pytest.mark.parametrize("scale, offset", [(1e300, 0.5), (1e300, -0.5)])
@pytest.mark.parametrize("seed", range(2))
def test_losses_near_the_ends_of_the_floats_are_as_good_as_others(seed: int, scale: float, offset: float) -> None:
    search = Search(Coordinate(), CUBE, seed, given=8, loss=lambda x: scale * (rippled(x) + offset))
    search.go(25, 4)
    assert best(search) / scale - offset < 1e-3


def test_losses_further_apart_than_the_largest_float_are_as_good_as_others() -> None:
    def wide(x: Floats) -> float:
        return 4.5 * (rippled(x) - 0.345)  # from -1.55 to 1.55

    plain = Search(Coordinate(), Float(0.0, 1.0), 0, loss=wide)
    scaled = Search(Coordinate(), Float(0.0, 1.0), 0, loss=lambda x: math.ldexp(wide(x), 1023))
    assert np.array_equal(plain.go(8, 2), scaled.go(8, 2))
    assert float(np.ptp(plain.seen.y)) > 2.0


@pytest.mark.parametrize("first", [1e-300, -1e-300, 0.0])
def test_a_fall_from_next_to_nothing_to_the_end_of_the_floats_is_no_error(first: float) -> None:
    search = Search(Coordinate(), CUBE, 0, loss=lambda x: first if x[0] < 0.8 else -1.5e308 * x[1])
    search.go(20, 4)
    assert best(search) < -1e308


@pytest.mark.parametrize("power", [-900, -7, 3, 900])
def test_powers_of_two_scale_nothing_but_the_losses(power: int) -> None:
    """Failures included: what they count as is in units of the losses."""
    plain = Search(Coordinate(), CUBE, 0, loss=failing).go(12, 3)
    scaled = Search(Coordinate(), CUBE, 0, loss=lambda x: math.ldexp(failing(x), power)).go(12, 3)
    assert np.array_equal(plain, scaled)


# Its end ------------------------------------------------------------------------------------------------------------


def test_it_is_done_after_so_many_evaluations_without_improvement_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(100))
    monkeypatch.setattr(coordinate, "PATIENCE", 3)
    monkeypatch.setattr(coordinate, "PATIENCE_EACH", 1)
    search = Search(Coordinate(), CUBE, 0, given=3, loss=lambda x: float(next(count)))
    search.go(2, 3)
    assert not search.session.done
    kept, search.loss = search.loss, lambda x: -1.0
    search.go(1, 1)  # an improvement
    search.loss = kept
    search.go(3, 2)
    assert not search.session.done
    search.tell(search.ask(1), [True])  # a failure is no improvement
    assert search.session.done


@pytest.mark.parametrize("dim", [1, 10])
def test_the_usual_patience_grows_with_the_parameters(dim: int) -> None:
    search = Search(Coordinate(), Box(0.0, 1.0, dim=dim), 0, given=3, loss=lambda x: 1.0)
    count = 0
    while not search.session.done:
        search.go(1, 1)
        count += 1
    assert count == 40 + 4 * dim


def test_an_adopted_row_is_where_it_goes_on_and_its_patience_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinate, "PATIENCE", 2)
    monkeypatch.setattr(coordinate, "PATIENCE_EACH", 1)
    search = Search(Coordinate(), CUBE, 0)
    search.tell(search.ask(5), [True] * 5)
    x = np.full(4, 0.45)
    row = int(search.seen.append(x[None], np.full(1, -1.0), np.full(1, np.nan), np.array([-1]), np.array([-1]))[0])
    search.session.recenter(row)  # type: ignore[attr-defined]
    assert search.session.incumbent == row
    numbers = search.ask(3)
    changed = (points(search, numbers) != x).sum(1)
    assert changed.tolist() == [1, 1, 1]
    search.tell(numbers, [True] * 3)
    assert not search.session.done


@pytest.mark.parametrize("penalty", [10.0, 1e4, 1e12])
def test_a_huge_penalty_in_a_corner_of_one_parameter_spoils_no_other(penalty: float) -> None:
    def fenced(x: Floats) -> float:
        return bowl(x) + 0.01 * float(np.sum(1 - np.cos(40 * (x - 0.3)))) + (penalty if x[2] > 0.9 else 0.0)

    search = Search(Coordinate(), Box(0.0, 1.0, dim=6), 0, loss=fenced, given=12)
    search.go(24, 5)
    assert (search.seen.y > penalty).any()
    assert best(search) < 1e-3
