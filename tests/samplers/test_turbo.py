import math

import numpy as np
import pytest

from lamcts.samplers.parts.perturb import gradient_descent
from lamcts.samplers.turbo import Turbo
from lamcts.samplers.turbo import session as turbo_session
from lamcts.spaces import Box
from lamcts.spaces.regions.region import Step
from lamcts.testing.samplers import Slope
from lamcts.testing.search import Search, bowl

FAST = Turbo()
CUBE = Box(0.0, 1.0, dim=4)


def best(search: Search) -> float:
    return float(np.nanmin(search.seen.y))


def test_it_comes_close_to_the_bottom_of_a_bowl() -> None:
    search = Search(FAST, CUBE, seed=0)
    start = best(search)
    search.go(15, 5)
    assert best(search) < 1e-2 * start


def test_it_does_far_better_than_chance_in_twenty_dimensions() -> None:
    search = Search(FAST, Box(0.0, 1.0, dim=20), seed=0, given=40)
    search.go(12, 10)
    chance = min(map(bowl, np.random.default_rng(0).random((160, 20))))
    assert best(search) < 0.3 * chance


def test_points_to_begin_with_are_drawn_only_where_rows_are_missing() -> None:
    search = Search(FAST, CUBE, seed=0, given=0)
    assert len(search.ask(8)) == 8
    assert search.session.incumbent is None
    assert Search(FAST, CUBE, seed=0, given=8).session.state()["box"]["n_start"] == 0
    assert Search(FAST, CUBE, seed=0, given=5).session.state()["box"]["n_start"] == 3


@pytest.mark.parametrize("shift, factor", [(1e3, 1.0), (-7.0, 3.7), (0.0, 1e12)])
def test_an_affine_change_of_losses_hardly_moves_the_proposals(
    shift: float, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamcts.models.local.fit", lambda inputs, z, prior, *_, **__: (prior.mode, 0.0))
    plain = Search(Turbo(), CUBE, seed=0)
    other = Search(Turbo(), CUBE, seed=0, loss=lambda x: factor * bowl(x) + shift)
    assert np.abs(plain.go(6, 4) - other.go(6, 4)).max() < 1e-6


def test_failures_shrink_the_box_until_the_search_is_done() -> None:
    search = Search(FAST, CUBE, seed=0)
    rounds = 0
    while not search.session.done:
        numbers = search.ask(4)
        search.tell(numbers, [True] * 4)
        rounds += 1
    assert rounds == 10  # 0.8 halves ten times to 2^-10.3, each after max(4, d) failures


def test_the_box_grows_while_results_improve() -> None:
    count = iter(range(1000))
    search = Search(FAST, CUBE, seed=0, loss=lambda x: -float(next(count)))
    search.go(3, 1)
    assert search.session.state()["box"]["length"] == 1.6


def test_a_batch_is_spread_by_the_posterior_not_crowded() -> None:
    search = Search(FAST, CUBE, seed=0, given=20)
    numbers = search.ask(50)
    x = np.array([search.seen.pending[n] for n in numbers])
    gaps = np.linalg.norm(x[:, None] - x[None], axis=-1)[np.triu_indices(50, 1)]
    assert gaps.min() > 1e-3
    assert np.median(gaps) > 0.1


def test_late_results_outside_the_region_do_not_lead_points_outside() -> None:
    search = Search(FAST, CUBE, seed=0)
    numbers = search.ask(10)
    x = search.seen.x[search.session.incumbent]
    step = Step(Slope(np.array([1.0, 0.0, 0.0, 0.0]), -float(x[0])), True)
    search.steps = (step,)
    search.session.move(search.region())
    for number in numbers:
        search.seen.close([number])
    outside = np.array([0.5 * x[0], 0.3, 0.3, 0.3])
    row = search.seen.append(outside[None], np.array([-1.0]), np.full(1, np.nan), np.array([0]), np.array([0]))
    search.session.tell([search.out.pop(numbers[0])], row)
    asked = search.session.ask(5).x
    assert len(asked) == 5
    assert search.region().contains(asked).all()


def test_a_hundred_dimensions_move_ten_at_a_time() -> None:
    search = Search(FAST, Box(0.0, 1.0, dim=100), seed=0, given=200)
    centre = search.seen.x[search.session.incumbent]
    numbers = search.ask(10)
    moved = [(search.seen.pending[n] != centre).sum() for n in numbers]
    assert min(moved) >= 2
    assert max(moved) <= 25


@pytest.mark.parametrize("batch", [1, 4, 7])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_share_of_the_draws_goes_down_the_slope(share: float, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    went: list[bool] = []

    def watched(region, best, slope, low, high, free):  # type: ignore[no-untyped-def]
        went.extend(free.any(1))
        down = gradient_descent(region, best, slope, low, high, free)
        assert not (down != best)[~free].any()
        return down

    monkeypatch.setattr(turbo_session, "gradient_descent", watched)
    Search(Turbo(descent_share=share), CUBE, seed=0, given=8).go(28 // batch, batch)
    assert len(went) >= 28
    assert abs(np.mean(went) - share) <= 0.5 / len(went)


@pytest.mark.parametrize(
    "wrong",
    [
        {"length_min": 0.9},
        {"n_start": 0},
        {"descent_share": 1.5},
        {"descent_share": math.nan},
    ],
)
def test_wrong_settings_say_what_was_expected(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"Turbo: .*expected .* got"):
        Turbo(**wrong)  # type: ignore[arg-type]


def test_settings_are_plain_and_print_themselves() -> None:
    assert eval(repr(Turbo()), {"Turbo": Turbo}) == Turbo()
