import math

import numpy as np
import pytest

from lamcts.objectives.synthetic.bbob import schaffer
from lamcts.observations import Floats
from lamcts.regions.region import Step
from lamcts.samplers.auto import Auto
from lamcts.samplers.population import Population
from lamcts.samplers.quadratic import Quadratic
from lamcts.samplers.turbo import Turbo
from lamcts.spaces import Box, Choice, Int, Space
from lamcts.testing.samplers import Ball, Slope
from lamcts.testing.search import Loss, Search, bowl

CUBE = Box(0.0, 1.0, dim=4)


def best(search: Search) -> float:
    return float(np.nanmin(search.seen.y))


def valley(x: Floats) -> float:
    z = 4 * x - 2
    return float(np.sum(100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2))


def rippled(x: Floats) -> float:
    """Rings round 0.3 that grow finer towards it, turned."""
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((len(x), len(x))))[0]
    return float(schaffer(10 * (x - 0.3)[None] @ turn)[0])


@pytest.mark.parametrize("loss, rounds, least", [(bowl, 60, 1e-6), (valley, 250, 1e-6)], ids=["bowl", "valley"])
def test_it_finds_the_bottom(loss: Loss, rounds: int, least: float) -> None:
    search = Search(Population(), CUBE, 0, loss=loss)
    search.go(rounds, 8)
    assert best(search) < least


@pytest.mark.parametrize("seed", range(3))
def test_it_goes_on_across_ripples_that_grow_finer(seed: int) -> None:
    search = Search(Population(sigma=0.12), Box(0.0, 1.0, dim=10), seed, loss=rippled, given=16)
    search.go(50, 10)
    held = best(search)
    search.go(50, 10)
    assert best(search) < held / 3 < 0.2


def test_a_generation_closes_when_enough_results_are_in() -> None:
    search = Search(Population(popsize=8), CUBE, 0)
    numbers = search.ask(20)
    assert search.session.log == [{"row": search.session.incumbent}]
    search.tell(numbers[:7])
    assert len(search.session.log) == 1
    search.tell(numbers[7:8])
    assert len(search.session.log) == 2
    search.tell(numbers[8:])  # all that came at once make one generation
    assert [len(rows) for rows in search.session.log[1:]] == [8, 12]


def test_a_generation_waits_for_successes_and_does_without_those_forgotten() -> None:
    search = Search(Population(popsize=8), CUBE, 0)
    numbers = search.ask(20)
    search.forget(numbers[18:])
    search.tell(numbers[:17], [True] * 14 + [False] * 3)  # four parents are needed
    assert len(search.session.log) == 1
    search.tell(numbers[17:18])
    assert [len(rows) for rows in search.session.log[1:]] == [18]


def test_the_new_mean_is_the_weighted_mean_of_the_better_half() -> None:
    search = Search(Population(popsize=8), CUBE, 0)
    search.go(1, 8)
    rows = np.array(search.session.log[1])
    parents = rows[np.argsort(search.seen.y[rows])][:4]
    weights = math.log(4.5) - np.log(np.arange(1, 5))
    mean = search.session._evolution.mean  # type: ignore[attr-defined]
    np.testing.assert_allclose(mean, weights / weights.sum() @ search.seen.x[parents], atol=1e-12)


def test_any_increasing_transform_of_the_losses_gives_the_same_points() -> None:
    plain = Search(Population(), CUBE, 0).go(20, 5)
    bent = Search(Population(), CUBE, 0, loss=lambda x: math.exp(20 * bowl(x)) * 1e200).go(20, 5)
    assert np.array_equal(plain, bent)


def test_failures_drive_the_search_away() -> None:
    search = Search(Population(), CUBE, 0, loss=lambda x: bowl(x) if x[0] > 0.5 else math.nan)
    x = search.go(30, 8)
    assert np.mean(x[-40:, 0] > 0.5) > 0.5
    assert best(search) < 0.05  # the best that does not fail is 0.04


def test_where_nothing_has_succeeded_it_draws_from_the_region() -> None:
    search = Search(Population(), CUBE, 0, given=0, loss=lambda x: math.nan)
    search.go(3, 4)
    assert (search.session.incumbent, search.session.scope, search.session.log) == (None, "selected", [])
    search.loss = bowl
    search.go(1, 4)
    search.ask(1)
    assert search.session.scope == "incumbent"
    assert search.session.log == [{"row": search.session.incumbent}]


def test_it_is_done_when_it_has_converged_and_goes_on_if_asked() -> None:
    search = Search(Population(length_min=1e-6), Box(0.0, 1.0, dim=2), 0)
    rounds = 0
    while not search.session.done:
        search.go(1, 6)
        rounds += 1
        assert rounds < 300
    assert best(search) < 1e-10
    search.go(60, 6)
    assert search.session.done


def test_a_constant_objective_ends_the_search() -> None:
    search = Search(Population(), CUBE, 0, loss=lambda x: 1.0)
    search.go(1, 8)
    assert search.session.done


# Rows of other searches ---------------------------------------------------------------------------------------------


def adopted(search: Search, x: Floats) -> int:
    """Have the search go on from a better row of another search at `x` [d]."""
    row = int(search.seen.append(x[None], np.full(1, -1.0), np.full(1, np.nan), np.array([-1]), np.array([-1]))[0])
    search.session.recenter(row)  # type: ignore[attr-defined]
    return row


def test_it_begins_anew_at_a_better_row_far_from_what_it_draws() -> None:
    search = Search(Population(sigma=0.02), CUBE, 0)
    search.go(3, 8)
    out = search.ask(8)
    row = adopted(search, np.full(4, 0.9))
    assert search.session.incumbent == row
    asked = np.array([search.seen.pending[n] for n in search.ask(20)])
    assert search.session.log[-1] == {"row": row}
    assert np.abs(asked - 0.9).max() < 0.1
    search.tell(out)  # drawn round the old mean: they close no generation of the new one
    assert search.session.log[-1] == {"row": row}


def test_a_better_row_among_what_it_draws_does_not_move_the_mean() -> None:
    search = Search(Population(sigma=0.02), CUBE, 0)
    search.go(3, 8)
    mean = search.session._evolution.mean  # type: ignore[attr-defined]
    row = adopted(search, mean + 0.01)
    search.ask(3)
    assert search.session.incumbent == row
    assert [entry for entry in search.session.log if isinstance(entry, dict)] != [{"row": row}]
    assert np.array_equal(search.session._evolution.mean, mean)  # type: ignore[attr-defined]


def test_as_an_arm_it_resumes_bit_for_bit() -> None:
    arms = Auto((Turbo(candidates=40), Quadratic(), Population(far=0.5)))
    search = Search(arms, CUBE, 1, loss=rippled, given=12)
    for _ in range(4):
        search.go(4, 5)
        out = search.ask(5)
        search.tell(out[2:])
        copy = search.resumed()
        for late in out[:2]:
            search.tell([late])
            copy.tell([late])
        assert np.array_equal(search.go(3, 5), copy.go(3, 5))
        assert copy.saved() == search.saved()
    starts = [entry for arm, _, entry in search.session.log if arm == 2 and isinstance(entry, dict)]
    assert len(starts) > 1  # the restart at a far row was among what was resumed


# Spaces, regions, sizes ---------------------------------------------------------------------------------------------


def test_it_stays_inside_its_region_and_goes_on_in_another() -> None:
    steps = [Step(Ball(np.full(4, 0.6), 0.35), True), Step(Slope(np.array([1.0, 0.0, 0.0, 0.0]), -0.5), True)]
    search = Search(Population(), CUBE, 0, steps=steps, given=60)  # the bottom lies outside
    search.go(20, 6)  # Search holds every point against the region
    held = best(search)
    search.move([])
    search.go(60, 6)
    assert best(search) < 1e-5 < held


def test_a_discrete_space_is_searched_beyond_a_step_that_has_shrunk() -> None:
    space = Space({"a": Int(0, 30), "b": Choice(("x", "y", "z")), "c": Int(0, 30)})
    search = Search(Population(), space, 0)
    search.go(100, 5)
    assert best(search) == min(bowl(x) for x in space.sample(20_000, np.random.default_rng(0)))


def test_many_dimensions_learn_variances_only() -> None:
    search = Search(Population(), Box(0.0, 1.0, dim=1000), 0, given=2)
    before = best(search)
    search.go(8, 24)
    assert search.session._evolution._covariance.shape == (1000,)  # type: ignore[attr-defined]
    assert best(search) < before


@pytest.mark.parametrize("loss", [lambda x: 1.0, lambda x: round(3 * float(x[0])), bowl], ids=["flat", "steps", "bowl"])
def test_one_dimension_is_enough_whatever_the_values(loss: Loss) -> None:
    x = Search(Population(), Box(0.0, 1.0, dim=1), 0, given=3, loss=loss).go(40, 3)
    assert len(np.unique(x)) == len(x) == 120


def test_many_points_may_be_out() -> None:
    search = Search(Population(), CUBE, 0)
    for n in (200, 1, 50):
        assert len(search.ask(n)) == n


@pytest.mark.parametrize("space", [CUBE, Space([Box(0.0, 1.0, dim=2), Int(0, 9)])], ids=["box", "mixed"])
def test_a_resumed_search_goes_on_bit_for_bit(space: Space) -> None:
    search = Search(Population(), space, 3, loss=lambda x: math.nan if x[0] < 0.1 else bowl(x))
    for rounds in (0, 1, 6):
        search.go(rounds, 3)
        out = search.ask(5)
        search.tell(out[3:])
        copy = search.resumed()
        assert copy.saved() == search.saved()
        for late in (out[0], out[2]):
            search.tell([late])
            copy.tell([late])
            assert np.array_equal(search.go(3, 3), copy.go(3, 3))
        assert copy.saved() == search.saved()


@pytest.mark.parametrize(
    "wrong", [{"sigma": 0.0}, {"sigma": math.nan}, {"popsize": 3}, {"popsize": 8.5}, {"far": 0.0}, {"length_min": 0.1}]
)
def test_wrong_settings_say_what_was_expected(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"Population: .*expected .* got"):
        Population(**wrong)  # type: ignore[arg-type]


def test_settings_are_plain_and_print_themselves() -> None:
    assert eval(repr(Population(popsize=7)), {"Population": Population}) == Population(popsize=7)
