import math

import numpy as np
import pytest

from lamcts.outcomes.observations import Floats
from lamcts.samplers import quadratic
from lamcts.samplers.parts.session import Batch
from lamcts.samplers.parts.trust_region import START
from lamcts.samplers.quadratic import Quadratic, session
from lamcts.samplers.turbo import Turbo
from lamcts.spaces import Box, Choice, Float, Int, Space
from lamcts.spaces.regions.region import Step
from lamcts.testing.samplers import Ball, Slope
from lamcts.testing.search import Loss, Search, bowl

CUBE = Box(0.0, 1.0, dim=4)
MIXED = Space({"rate": Float(0.0, 1.0), "layers": Int(1, 6), "kind": Choice(("a", "b", "c")), "size": Float(0.0, 1.0)})


def best(search: Search) -> float:
    return float(np.nanmin(search.seen.y))


def length(search: Search) -> float:
    return float(search.session.state()["box"]["length"])


def valley(dim: int) -> Loss:
    """Return a quadratic of condition 1000 whose axes are not those of the space, its minimum 0 at 0.4."""
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((dim, dim)))[0]
    weights = np.geomspace(1.0, 1e3, dim)
    return lambda x: float(weights @ (turn @ (x - 0.4)) ** 2)


def failing_below(x: Floats) -> float:
    return math.nan if x[0] < 0.3 else bowl(x)


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_the_bottom_of_a_bowl_in_twenty_points_beside_as_many_rows_as_coefficients(seed: int) -> None:
    search = Search(Quadratic(), Box(0.0, 1.0, dim=20), seed, given=40)
    other = Search(Turbo(), Box(0.0, 1.0, dim=20), seed, given=40)
    search.go(10, 2)
    other.go(10, 2)
    assert best(search) < 1e-5 < 1e-2 < best(other)


@pytest.mark.parametrize("seed", range(3))
def test_it_follows_a_narrow_turned_valley_to_its_bottom(seed: int) -> None:
    search = Search(Quadratic(), Box(0.0, 1.0, dim=6), seed, loss=valley(6), given=12)
    search.go(60, 2)
    assert best(search) < 1e-7


def test_more_rows_than_coefficients_give_the_whole_curvature_and_fewer_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = []
    for most in (session.MAX_ROWS, 200):
        monkeypatch.setattr(session, "MAX_ROWS", most)
        search = Search(Quadratic(), Box(0.0, 1.0, dim=20), 0, loss=valley(20), given=40)  # 231 coefficients
        search.go(26, 20)
        ends.append(best(search))
    assert ends[0] < 1e-3 * ends[1]


def test_it_finds_the_middle_of_a_rippled_bowl() -> None:
    def rippled(x: Floats) -> float:
        return bowl(x) + 0.01 * float(np.sum(1 - np.cos(100 * (x - 0.3))))

    search = Search(Quadratic(), Box(0.0, 1.0, dim=10), 0, loss=rippled, given=20)
    search.go(10, 5)
    assert np.abs(search.seen.x[search.session.incumbent] - 0.3).mean() < 0.06  # the ripples are 0.063 apart


@pytest.mark.parametrize("seed", range(2))
def test_failures_are_stepped_round(seed: int) -> None:
    search = Search(Quadratic(), CUBE, seed, loss=failing_below, given=20)
    search.go(20, 3)
    assert np.isnan(search.seen.y).any()
    assert best(search) < 1e-3


def test_where_nothing_has_succeeded_it_draws_from_the_region() -> None:
    step = Step(Ball(np.full(4, 0.5), 0.4), True)
    search = Search(Quadratic(), CUBE, 0, steps=[step], given=0, loss=lambda x: math.nan)
    search.go(3, 4)
    assert search.session.incumbent is None
    assert length(search) == 0.5  # draws are no failures of a box
    search.loss = bowl
    search.go(1, 4)
    assert search.session.incumbent is not None


def test_the_box_halves_after_enough_failures_until_the_search_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LENGTH_MIN", 0.2)
    search = Search(Quadratic(), CUBE, 0)
    search.loss = lambda x: 9.0  # worse than all that is known
    lengths = []
    while not search.session.done:
        search.tell(search.ask(3))
        lengths.append(length(search))
    assert [*dict.fromkeys(lengths)] == [1.0, 0.5, 0.25, 0.125] and len(lengths) <= 10


def test_the_box_doubles_after_two_batches_that_improve_and_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(1000))
    monkeypatch.setattr(quadratic, "LENGTH_MAX", 0.7)
    search = Search(Quadratic(), CUBE, 0, loss=lambda x: -float(next(count)))
    lengths = []
    for _ in range(6):
        search.go(1, 2)
        lengths.append(length(search))
    assert lengths == [0.7, 1.4, 1.4, 2.0, 2.0, 2.0]


def test_points_lie_in_the_box_round_the_best_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quadratic, "LENGTH_MAX", 0.2)
    search = Search(Quadratic(), CUBE, 0)
    centre = search.seen.x[search.session.incumbent]
    x = np.array([search.seen.pending[n] for n in search.ask(20)])
    assert np.abs(x - centre).max() <= 0.1 + 1e-12
    assert np.all((x >= 0) & (x <= 1))


def test_the_first_point_of_a_batch_is_the_means_and_the_others_scatter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quadratic, "LENGTH_MAX", 0.2)
    search = Search(Quadratic(), CUBE, 0, given=6)
    alone = Search(Quadratic(), CUBE, 0, given=6)
    first, *others = [search.seen.pending[n] for n in search.ask(5)]
    (same,) = [alone.seen.pending[n] for n in alone.ask(1)]
    assert np.array_equal(first, same)
    assert min(np.abs(x - first).max() for x in others) > 1e-3


def test_late_partial_and_forgotten_results_are_counted_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "FAILURE_TOLERANCE", 6)
    search = Search(Quadratic(), CUBE, 0)
    early, late = search.ask(6), search.ask(6)
    search.tell(late[::2], [True] * 3)
    search.forget(late[1:4:2])
    search.tell(early[:2], [True] * 2)
    assert length(search) == 2.0
    search.tell(early[2:3], [True])
    assert length(search) == 1.0  # six failures of the first box
    search.tell([*early[3:], late[5]], [True] * 4)
    assert length(search) == 1.0  # those of the old box say nothing of the new one
    box = search.session.state()["box"]
    assert (box["n_pending"], box["groups"]) == (0, [])


def test_points_drawn_for_want_of_better_ones_are_no_failures_of_the_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """The notes of points that the model proposed and of those drawn must not be mixed up."""
    take = Batch.take
    monkeypatch.setattr("lamcts.samplers.quadratic.session.PROPOSAL_ROUNDS", 1)

    def two(self: Batch, x: Floats) -> Floats:
        """Take two of a round, as if the others were known."""
        return np.append(take(self, x[:2]), [False] * (len(x) - 2))

    monkeypatch.setattr(Batch, "take", two)
    search = Search(Quadratic(), CUBE, 0)
    notes = search.session.ask(5).notes
    assert [group == START for group, *_ in notes] == [False, False, True, True, True]


def test_it_stays_inside_its_region_and_goes_on_in_another() -> None:
    steps = [Step(Ball(np.full(4, 0.6), 0.35), True), Step(Slope(np.array([1.0, 0.0, 0.0, 0.0]), -0.5), True)]
    drawn = CUBE.sample(20000, np.random.default_rng(0))
    shares, ends = [], []
    for seed in range(5):
        search = Search(Quadratic(), CUBE, seed, steps=steps, given=60)  # the bottom lies outside
        search.go(15, 4)  # Search holds every point against the region
        shares.append(search.seen.y[search.session.incumbent] / min(bowl(x) for x in drawn if inside(search, x)))
        search.move([])
        search.go(15, 4)
        ends.append(best(search))
    assert np.median(shares) < 1.3
    assert np.median(ends) < 1e-6  # a box that has become narrow takes longer


def inside(search: Search, x: Floats) -> bool:
    return bool(search.region().contains(x[None])[0])


def test_discrete_values_stay_those_of_the_best_row() -> None:
    search = Search(Quadratic(), MIXED, 0, given=20)
    discrete = ~MIXED.continuous
    for _ in range(6):
        centre = search.seen.x[search.session.incumbent]
        numbers = search.ask(4)
        x = np.array([search.seen.pending[n] for n in numbers])
        assert np.all(x[:, discrete] == centre[discrete])
        search.tell(numbers)
    free = search.seen.x[search.session.incumbent][MIXED.continuous]
    np.testing.assert_allclose(free, 0.3, atol=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_one_dimension_is_enough(seed: int) -> None:
    search = Search(Quadratic(), Float(0.0, 1.0), seed, given=3)
    search.go(25, 2)
    assert best(search) < 1e-6


def test_in_a_thousand_dimensions_few_points_do_more_than_many_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MAX_ROWS", 50)
    searches = [Search(Quadratic(), Box(0.0, 1.0, dim=1000), seed, given=30) for seed in range(3)]
    for search in searches:
        search.go(4, 5)
    assert np.median([*map(best, searches)]) < 0.9 * min(map(bowl, np.random.default_rng(0).random((1000, 1000))))


def test_an_adopted_row_is_where_it_goes_on_in_a_box_that_holds_the_old_centre() -> None:
    search = Search(Quadratic(), CUBE, 0)
    for _ in range(7):
        search.tell(search.ask(6), [True] * 6)
    old = search.session.incumbent
    assert length(search) < 0.1
    x = search.seen.x[old] + np.array([0.0, 0.1, 0.0, -0.05])
    row = int(search.seen.append(x[None], np.full(1, -1.0), np.full(1, np.nan), np.array([-1]), np.array([-1]))[0])
    search.session.recenter(row)  # type: ignore[attr-defined]
    assert search.session.incumbent == row
    assert length(search) == pytest.approx(0.2)
    assert search.session.state()["box"]["failures"] == 0
    asked = np.array([search.seen.pending[n] for n in search.ask(5)])
    assert np.abs(asked - x).max() <= 0.1 + 1e-12


@pytest.mark.parametrize("way, failures", [(0.01, 3), (0.2, 0)])
def test_failures_are_forgiven_only_where_the_adopted_row_lies_outside_the_box(
    way: float, failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quadratic, "LENGTH_MAX", 0.1)
    monkeypatch.setattr(session, "FAILURE_TOLERANCE", 6)
    search = Search(Quadratic(), CUBE, 0)
    search.tell(search.ask(3), [True] * 3)
    x = search.seen.x[search.session.incumbent] + np.array([0.0, way, 0.0, 0.0])
    row = int(search.seen.append(x[None], np.full(1, -1.0), np.full(1, np.nan), np.array([-1]), np.array([-1]))[0])
    search.session.recenter(row)  # type: ignore[attr-defined]
    assert search.session.state()["box"]["failures"] == failures


@pytest.mark.parametrize("space", [CUBE, MIXED], ids=["box", "mixed"])
def test_a_resumed_search_goes_on_bit_for_bit(space: Space) -> None:
    search = Search(Quadratic(), space, 3, loss=lambda x: math.nan if x[0] < 0.1 else bowl(x))
    for rounds in (0, 1, 5):
        search.go(rounds, 3)
        out = search.ask(5)
        search.tell(out[3:])
        copy = search.resumed()
        assert copy.saved() == search.saved()
        for late in (out[0], out[2]):
            search.tell([late])
            copy.tell([late])
            assert np.array_equal(search.go(2, 3), copy.go(2, 3))
        assert copy.saved() == search.saved()


@pytest.mark.parametrize("shift, factor", [(1e3, 1.0), (-7.0, 3.7), (0.0, 1e12)])
def test_an_affine_change_of_losses_hardly_moves_the_first_proposals(
    shift: float, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quadratic, "LENGTH_MAX", 0.5)
    plain = Search(Quadratic(), CUBE, seed=0, given=20, loss=rough)
    other = Search(Quadratic(), CUBE, seed=0, given=20, loss=lambda x: factor * rough(x) + shift)
    x = plain.session.ask(8).x
    same = other.session.ask(8).x
    assert np.abs(x - same).max() < 1e-6


def rough(x: Floats) -> float:
    return bowl(x) + 0.3 * float(np.sum(np.sin(9 * x)))


@pytest.mark.parametrize("power", [-900, 900])
def test_losses_near_the_ends_of_the_floats_are_as_good_as_others(power: int) -> None:
    plain = Search(Quadratic(), CUBE, 0, loss=rough).go(8, 3)
    scaled = Search(Quadratic(), CUBE, 0, loss=lambda x: math.ldexp(rough(x), power)).go(8, 3)
    assert np.array_equal(plain, scaled)


def test_many_points_may_be_out() -> None:
    search = Search(Quadratic(), CUBE, 0)
    for n in (200, 1, 50):
        assert len(search.ask(n)) == n
