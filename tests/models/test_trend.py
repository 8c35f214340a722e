import numpy as np
import pytest
from scipy import stats

from lamcts.models.quadratic_posterior import LEVEL
from lamcts.models.trend import Terms, Trend, _Errors, _Kernel, _Slope, matern, thinned
from lamcts.models.warp import half_rank
from lamcts.types import Floats


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def rippled(x: Floats, optimum: float = 0.37) -> Floats:
    gap = 10 * (x - optimum)
    return np.asarray((gap**2 - 10 * np.cos(2 * np.pi * gap)).sum(1))


def far(place: Floats, optimum: Floats | float) -> float:
    return float(np.abs(place - optimum).max())


# Rows ---------------------------------------------------------------------------------------------------------------


def test_a_valley_that_was_polished_keeps_few_of_its_rows() -> None:
    wide, polished = rng().random((30, 3)), 0.5 + 1e-4 * rng(1).standard_normal((200, 3))
    x = np.vstack([polished, wide])
    rows = thinned(x, 7)
    assert rows[0] == 7
    assert {*rows.tolist()} == {7, *range(200, 230)}
    assert len(thinned(x, 7, most=9)) == 9


def test_thinned_rows_are_different_places() -> None:
    assert len(thinned(np.repeat(rng().random((4, 2)), 5, axis=0), 0)) == 4
    assert thinned(np.full((3, 2), 0.5), 1).tolist() == [1]


# The process --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", [Terms(), Terms(3.0, 0.0, 0.0, 1.0), Terms(0.0, 1.0, 3.0, 0.1, 0.5, 0.4)])
def test_its_evidence_is_the_density_of_the_losses_up_to_a_constant(terms: Terms) -> None:
    x, y = rng().random((12, 3)), rng(1).random(12)
    steps, gaps = 2 * x - 1, x[:, None] - x
    covariance = LEVEL**2 + steps @ steps.T + terms.bowl**2 / 4 * np.outer((steps**2).sum(1), (steps**2).sum(1))
    covariance += terms.effects**2 * matern(np.abs(gaps) / terms.effect_length).sum(2)
    length = terms.shape_length * np.sqrt(3)
    covariance += terms.shape**2 * matern(np.sqrt((gaps**2).sum(2)) / length)
    trend = Trend(x, y, bottoms=np.arange(12) < 3)
    covariance += terms.noise**2 * trend._kernel.errors.covariance
    z, fit = half_rank(y), trend._fitted(terms)
    density = stats.multivariate_normal(np.zeros(12), fit.square * covariance).logpdf(z)
    assert fit.square == pytest.approx(z @ np.linalg.solve(covariance, z) / 12, rel=1e-5)
    assert fit.evidence == pytest.approx(density + 6 * np.log(2 * np.pi) + 6, rel=1e-5)


def test_the_way_down_follows_the_gradient() -> None:
    x, weights, at = rng().random((15, 4)), rng(1).standard_normal(15), np.array([0.2, 0.9, 0.5, 0.4])
    slope = _Slope(_Kernel(x, _Errors.of(15, None)), Terms(1.0, 1.0, 3.0, 0.1, 0.5, 0.2), weights)
    found = [(slope(at + 1e-6 * e)[0] - slope(at - 1e-6 * e)[0]) / 2e-6 for e in np.eye(4)]
    assert slope(at)[1] == pytest.approx(np.array(found), rel=1e-5)


def test_losses_times_a_power_of_two_give_the_same_place() -> None:
    x = rng().random((40, 3))
    assert np.array_equal(Trend(x, rippled(x)).lowest(), Trend(x, rippled(x) * 2.0**-40).lowest())


# Where it leads to --------------------------------------------------------------------------------------------------


def test_it_leads_under_the_ripples_to_the_middle_of_a_bowl() -> None:
    x = rng().random((120, 6))
    y = rippled(x)
    trend = Trend(x, y)
    assert far(trend.lowest(), 0.37) < 0.1 < far(x[y.argmin()], 0.37)
    assert trend.ripples > 0.3


def test_where_axes_are_bent_it_follows_them_one_by_one() -> None:
    x = rng(2).random((150, 6))
    bent, optimum = np.exp(3 * x), np.log(np.linspace(2, 15, 6)) / 3
    y = ((bent - np.linspace(2, 15, 6)) ** 2 * np.geomspace(1, 30, 6)).sum(1) + 40 * np.cos(40 * x).sum(1)
    trend = Trend(x, y)
    assert trend.terms.effects > 0
    assert far(trend.lowest()[2:], optimum[2:]) < 0.1


def test_a_smooth_bowl_has_no_ripples() -> None:
    x = rng().random((80, 4))
    assert Trend(x, ((x - 0.3) ** 2).sum(1)).ripples < 0.1


def test_draws_lead_elsewhere_and_the_same_generator_to_the_same_place() -> None:
    x = rng().random((80, 4))
    trend = Trend(x, rippled(x))
    first, again, other = (trend.lowest(rng(seed)) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert far(first, other) > 0


def test_without_a_shape_it_has_none() -> None:
    x = rng().random((60, 3))
    assert Trend(x, np.exp(-40 * ((x - 0.5) ** 2).sum(1)), shaped=False).terms.shape == 0


@pytest.mark.parametrize("losses", [[1.0, 1.0, 1.0], [0.0, 1e300, -1e300], [0.0, 1e-300, 0.0]])
def test_degenerate_losses_lead_somewhere_in_the_cube(losses: list[float]) -> None:
    trend = Trend(rng().random((3, 2)), np.array(losses))
    for place in (trend.lowest(), trend.lowest(rng())):
        assert ((place >= 0) & (place <= 1)).all()


# Errors -------------------------------------------------------------------------------------------------------------


def test_where_ripples_grow_with_the_ground_the_rows_lower_down_tell_more() -> None:
    x = rng(3).random((150, 6))
    gap = 6 * (x - 0.37)
    y = (gap**2 * (1 + 3 * np.sin(9 * gap) ** 2)).sum(1)
    grown, level = (Trend(x, losses)._kernel.errors.variances for losses in (y, rippled(x)))
    assert grown.max() > 30 * grown.min()
    assert grown[y.argsort()[:30]].mean() < grown.mean() / 3
    assert level.max() < 30 * level.min()


def test_the_lowest_rows_of_valleys_tell_more_than_others_do() -> None:
    wide, lattice = rng(1).random((60, 6)), 0.37 + 0.1 * rng(4).integers(-3, 4, (12, 6))
    x = np.vstack([wide, lattice])
    bottoms = np.arange(72) >= 60
    known, unknown = (Trend(x, rippled(x), bottoms=which) for which in (bottoms, None))
    assert far(known.lowest(), 0.37) < far(unknown.lowest(), 0.37) / 2


def test_errors_are_drawn_as_their_covariance_says() -> None:
    errors = _Errors.of(3, np.array([False, True, True])).grown(np.array([1.0, 4.0, 9.0]))
    generator = rng()
    drawn = np.array([errors.drawn(generator) for _ in range(4000)])
    assert np.cov(drawn.T) == pytest.approx(errors.covariance, abs=0.1 * errors.covariance.max())
