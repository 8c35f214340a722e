"""The half-rank warp: order, ties and units. Squares: their unit, and what they add to a density."""

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from lamcts.models.output_transforms import half_rank, rank_correlation, ranks
from lamcts.types import Floats


def some(seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(int(rng.integers(2, 40))) * rng.choice([1.0, 50.0])
    return np.round(y, int(rng.integers(0, 3)))


@pytest.mark.parametrize("seed", range(40))
def test_order_is_kept_and_equal_losses_stay_equal(seed: int) -> None:
    y = some(seed)
    warped = half_rank(y)
    assert np.array_equal(y[:, None] < y, warped[:, None] < warped)
    assert np.array_equal(y[:, None] == y, warped[:, None] == warped)


@pytest.mark.parametrize("seed", range(10))
def test_the_better_half_is_shifted_and_scaled_and_no_more(seed: int) -> None:
    y = np.random.default_rng(seed).standard_normal(21) ** 3
    good = y <= np.median(y)
    slope, shift = np.polyfit(y[good], half_rank(y)[good], 1)
    assert np.abs(slope * y[good] + shift - half_rank(y)[good]).max() < 1e-9


@pytest.mark.parametrize("worst", [10.0, 1e6, 1e300])
def test_how_bad_the_bad_ones_are_does_not_matter(worst: float) -> None:
    y = np.array([1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0])
    bad = y.copy()
    bad[-1] = worst
    assert np.abs(half_rank(bad) - half_rank(y)).max() < 1e-9


@pytest.mark.parametrize("power", [-900, -7, 3, 900])
@pytest.mark.parametrize("seed", range(5))
def test_powers_of_two_change_nothing(seed: int, power: int) -> None:
    assert np.array_equal(half_rank(some(seed)), half_rank(np.ldexp(some(seed), power)))


@pytest.mark.parametrize("shift", [-1e3, 5.0])
def test_the_zero_of_the_losses_does_not_matter(shift: float) -> None:
    y = np.random.default_rng(0).standard_normal(15)
    assert np.abs(half_rank(y + shift) - half_rank(y)).max() < 1e-9


@pytest.mark.parametrize(
    "y",
    [
        [0.0, 1e300, -1e300],
        [1e300, -1e300, 1.0, 2.0, 3.0],
        [1.7e308, -1.7e308],
        [1.7e308, -1.7e308, 0.0, 1.0],
        [5e-324, 0.0, -5e-324],
        [1e-300, 2e-300, 5e-301],
    ],
)
def test_extreme_losses_are_as_good_as_others(y: list[float]) -> None:
    warped = half_rank(np.array(y))
    assert np.isfinite(warped).all()
    assert (np.diff(warped[np.argsort(y)]) >= 0).all()
    assert warped[int(np.argmin(y))] < warped[int(np.argmax(y))]
    assert np.abs(warped).max() < 4.0


@pytest.mark.parametrize("y", [[], [3.0], [2.0, 2.0], [0.0] * 7, [1e300] * 4])
def test_what_does_not_differ_is_zero(y: list[float]) -> None:
    assert half_rank(np.array(y)).tolist() == [0.0] * len(y)


def test_two_losses_are_one_apart_from_their_mean() -> None:
    assert half_rank(np.array([5.0, 3.0])).tolist() == [1.0, -1.0]


def test_where_the_better_half_is_all_equal_the_others_still_rank() -> None:
    warped = half_rank(np.array([1.0, 1.0, 1.0, 1.0, 1.5, 3.0, 100.0]))
    assert warped[0] == warped[3] < warped[4] < warped[5] < warped[6]
    assert warped[6] - warped[0] < 4.0


def test_the_argument_stays_as_it_is() -> None:
    y = np.array([3.0, 1.0, 2.0])
    y.flags.writeable = False
    half_rank(y)
    assert y.tolist() == [3.0, 1.0, 2.0]


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert ranks(np.array([3.0, 1.0, 3.0, -2.0, 1.0, 1.0])).tolist() == [4.5, 2.0, 4.5, 0.0, 2.0, 2.0]
    many = np.random.default_rng(0).integers(0, 9, 100).astype(float)
    assert np.array_equal(ranks(many), rankdata(many) - 1)


def test_the_rank_correlation_is_that_of_spearman_and_0_where_one_side_is_constant() -> None:
    a, b = np.random.default_rng(0).integers(0, 9, (2, 30)).astype(float)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert rank_correlation(a, np.ones(30)) == rank_correlation(np.ones(30), a) == 0.0
