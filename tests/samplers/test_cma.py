import math

import numpy as np
import pytest

cma = pytest.importorskip("cma")

from lamcts.outcomes.observations import Floats  # noqa: E402
from lamcts.samplers.cma import Cma  # noqa: E402
from lamcts.spaces import Box, Choice, Int, Space  # noqa: E402
from lamcts.spaces.regions.region import Step  # noqa: E402
from lamcts.testing.samplers import Ball  # noqa: E402
from lamcts.testing.search import Loss, Search, bowl  # noqa: E402

CUBE = Box(np.zeros(4), np.ones(4))


def best(search: Search) -> float:
    return float(search.seen.y[search.seen.best])


def test_it_finds_the_bottom_of_a_bowl_to_four_digits() -> None:
    search = Search(Cma(), CUBE, 0)
    search.go(60, 8)
    assert best(search) < 1e-8


def test_it_follows_a_narrow_valley() -> None:
    def valley(x: Floats) -> float:
        z = 4 * x - 2
        return float(np.sum(100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2))

    search = Search(Cma(), CUBE, 0, loss=valley)
    search.go(200, 8)
    assert best(search) < 1e-6


def test_a_generation_closes_when_enough_results_are_in() -> None:
    search = Search(Cma(), CUBE, 0)
    numbers = search.ask(20)
    assert len(search.session.log) == 1  # the start
    search.tell(numbers[:7])
    assert len(search.session.log) == 1
    search.tell(numbers[7:8])
    assert len(search.session.log) == 2
    search.tell(numbers[8:])  # all that came at once make one generation
    assert [len(rows) for rows in search.session.log[1:]] == [8, 12]


def test_a_generation_waits_for_successes() -> None:
    search = Search(Cma(), CUBE, 0)
    numbers = search.ask(20)
    search.tell(numbers[:17], [True] * 15 + [False] * 2)  # four parents are needed
    assert len(search.session.log) == 1
    search.tell(numbers[17:])
    assert len(search.session.log) == 2


def test_the_new_mean_is_the_weighted_mean_of_the_best_rows_as_they_were_evaluated() -> None:
    settings = Cma(sigma=0.02)
    search = Search(settings, Space([Box(0.0, 1.0, dim=3), Int(0, 1000)]), 0)
    search.seen.append(np.full((1, 4), 0.5), np.zeros(1), np.zeros(1), np.full(1, -1), np.full(1, -1))
    search.session = settings.start(search.region(), search.seen, np.random.default_rng(0))  # from the middle
    search.go(1, 8)
    rows = np.array(search.session.log[1])
    parents = rows[np.argsort(search.seen.y[rows])][:4]
    weights = np.log(4.5) - np.log(np.arange(1, 5))  # Hansen's, as the library's documentation gives them
    weights = np.array(cma.recombination_weights.RecombinationWeights(8).positive_weights)
    mean = search.session._run.mean()  # type: ignore[attr-defined]
    # rows beyond the library's bound on the length of a step are shortened towards the old mean: none here is
    np.testing.assert_allclose(mean, weights @ search.seen.x[parents], atol=1e-12)


def test_failures_drive_the_search_away() -> None:
    search = Search(Cma(), CUBE, 0, loss=lambda x: bowl(x) if x[0] > 0.5 else math.nan)
    x = search.go(30, 8)
    assert np.mean(x[-40:, 0] > 0.5) > 0.5
    assert best(search) < 0.05  # the best that does not fail is 0.04


def test_it_starts_at_the_best_row_that_belongs_to_nobody() -> None:
    search = Search(Cma(), CUBE, 0)
    row = search.session.incumbent
    assert row == search.seen.best
    search.ask(1)
    assert search.session.log[0] == {"mean": search.seen.x[row].tolist(), "sigma": 0.3}


def test_the_first_step_is_a_share_of_the_region_s_width() -> None:
    search = Search(Cma(sigma=0.5), CUBE, 0, steps=[Step(Ball(np.full(4, 0.5), 0.5), True)], given=40)
    search.ask(1)
    spread = math.sqrt(float(search.seen.x[search.region().rows].var(0).mean()))
    assert search.session.log[0]["sigma"] == pytest.approx(0.5 * spread * math.sqrt(12))


def test_in_a_small_region_it_still_converges_from_a_long_step() -> None:
    """Nearly every draw is outside: they are pulled inside, not replaced by draws of the region."""
    centre = np.full(4, 0.35)
    search = Search(Cma(sigma=1.0), CUBE, 0, steps=[Step(Ball(centre, 0.12), True)], given=0)
    search.go(60, 8)
    assert best(search) < 1e-8


def test_any_increasing_transform_of_the_values_gives_the_same_points() -> None:
    plain = Search(Cma(), CUBE, 0).go(20, 5)
    bent = Search(Cma(), CUBE, 0, loss=lambda x: math.exp(20 * bowl(x)) * 1e200).go(20, 5)
    assert np.array_equal(plain, bent)


def test_it_is_done_when_it_has_converged_and_goes_on_if_asked() -> None:
    search = Search(Cma(), Box(np.zeros(2), np.ones(2)), 0)
    rounds = 0
    while not search.session.done:
        search.go(1, 6)
        rounds += 1
        assert rounds < 300
    assert best(search) < 1e-12
    search.go(3, 6)
    assert search.session.done


def test_a_constant_objective_ends_the_session() -> None:
    search = Search(Cma(), CUBE, 0, loss=lambda x: 1.0)
    search.go(20, 8)
    assert search.session.done


def test_a_discrete_space_is_searched_beyond_a_step_that_has_shrunk() -> None:
    space = Space({"a": Int(0, 30), "b": Choice(("x", "y", "z")), "c": Int(0, 30)})
    search = Search(Cma(), space, 0)
    search.go(100, 5)
    assert best(search) == min(bowl(x) for x in space.sample(20_000, np.random.default_rng(0)))


def test_many_dimensions_learn_variances_only() -> None:
    search = Search(Cma(), Box(0.0, 1.0, dim=1000), 0, given=2)
    search.go(2, 13)
    assert search.session._run._strategy.opts["CMA_diagonal"] is True  # type: ignore[attr-defined]
    few = Search(Cma(), CUBE, 0)
    few.ask(1)
    assert not few.session._run._strategy.opts["CMA_diagonal"]  # type: ignore[attr-defined]


def test_one_dimension_works() -> None:
    search = Search(Cma(), Box(0.0, 1.0, dim=1), 0)
    search.go(40, 4)
    assert best(search) < 1e-10


@pytest.mark.parametrize("loss", [lambda x: 1.0, lambda x: round(3 * float(x[0])), bowl], ids=["flat", "steps", "bowl"])
@pytest.mark.parametrize("seed", range(3))
def test_one_dimension_is_enough_whatever_the_values(loss: Loss, seed: int) -> None:
    """The library's limit of the steps raises in one dimension, where values tie."""
    search = Search(Cma(), Box(0.0, 1.0, dim=1), seed, given=3, loss=loss)
    x = search.go(40, 3)
    assert len(np.unique(x)) == len(x) == 120


@pytest.mark.parametrize("wrong", [{"sigma": 0.0}, {"sigma": math.nan}])
def test_wrong_settings_say_what_was_expected(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}.*expected .* got"):
        Cma(**wrong)  # type: ignore[arg-type]
