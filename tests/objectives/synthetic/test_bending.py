"""Bent, stretched and unevenly rippled functions: the minimum stays what and where it is said to be."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize

from lamcts import objectives
from lamcts.objectives.synthetic import placing as bending

RIPPLED = ["ackley", "rastrigin", "levy", "griewank", "schaffer"]
NAMES = [*RIPPLED, "rosenbrock", "schwefel", "michalewicz", "ellipsoid", "sharp-ridge"]


def points(f, n, seed=0):
    return np.random.default_rng(seed).uniform(f.space.low, f.space.high, (n, f.space.dim))


def offsets(f, x):
    """What the formula is given, anew: curves by scipy's own cubic pieces, point by point."""
    from scipy.interpolate import PPoly

    width = f.space.high - f.space.low
    u = np.empty(x.shape)
    for j in range(f.space.dim):
        curve = PPoly(f.bend.pieces[::-1, :, j], np.linspace(0, 1, 5))
        share = [(z - f.space.low[j]) / width[j] for z in (x[:, j], f.centre[j])]
        u[:, j] = width[j] * f.bend.stretch[j] * (curve(share[0]) - curve(share[1]))
    return u if f.rotation is None else u @ f.rotation.T


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", NAMES)
def test_nothing_lies_below_the_minimum_of_a_bent_function(name, seed):
    f = objectives.make(name, dim=4, rotate=seed, bend=seed)
    low, high = f.space.low, f.space.high
    polish = {"bounds": list(zip(low, high, strict=True)), "method": "L-BFGS-B", "options": {"maxfun": 150}}
    assert f(f.centre) == f.optimum and f.optimum == objectives.make(name, dim=4).optimum
    x, rng = points(f, 5000), np.random.default_rng(1)
    values = f.many(x)
    polished = [minimize(f, row, **polish).fun for row in x[np.argsort(values)[:2]]]
    steps = np.geomspace(1e-7, 1e-1, 1000)[:, None] * rng.uniform(-1, 1, (1000, 4)) * (high - low)
    around = f.many(np.clip(f.centre + steps, low, high))
    rounding = 2e-12 * (419 * 4 * (name == "schwefel") + 1)  # of sums of 419 an axis
    assert min(values.min(), around.min(), *polished) >= f.optimum - rounding


@pytest.mark.parametrize("name", RIPPLED)
def test_ripples_are_higher_and_lower_and_on_an_even_axis_as_published(name):
    f, plain = objectives.make(name, dim=5, bend=2, rotate=1), objectives.make(name, dim=5)
    u = offsets(f, points(f, 200))
    formula = plain.formula
    np.testing.assert_allclose(f.many(points(f, 200)), formula(u, ripples=f.bend.ripples), rtol=1e-7)
    np.testing.assert_allclose(formula(u, ripples=np.ones(5)), formula(u), rtol=1e-12)
    lower, higher = (formula(u, ripples=np.full(5, a)) for a in bending.RIPPLES)
    assert (lower <= formula(u) + 1e-12).all() and (formula(u) <= higher + 1e-12).all()
    assert np.median(higher / lower) > 1.001


def test_curves_keep_the_ends_of_the_box_and_rise_within_the_limits():
    found = bending.drawn(300, np.random.default_rng(0))
    share = np.linspace(0, 1, 2001)[:, None] * np.ones(300)
    curve = found.curve(share)
    np.testing.assert_allclose(curve[[0, -1]], [[0.0] * 300, [1.0] * 300], atol=1e-14)
    slopes = np.diff(curve, axis=0) * 2000
    assert 0.25 <= slopes.min() < 0.3 and 3.5 < slopes.max() <= 4
    assert np.abs(np.diff(slopes, axis=0)).max() < 0.1  # no kink: slopes go on from piece to piece


def test_axes_are_stretched_unevenly_and_the_range_stays():
    found = bending.drawn(2000, np.random.default_rng(3))
    assert np.mean(found.stretch**2) == pytest.approx(1)
    assert 90 < found.stretch.max() / found.stretch.min() <= 100
    assert 0.3 <= found.ripples.min() < 0.31 and 2.99 < found.ripples.max() <= 3


def test_the_optimum_lies_anywhere_in_the_box():
    seeds = [objectives.make("rastrigin", dim=20, bend=seed) for seed in range(60)]
    share = np.array([(f.centre - f.space.low) / (f.space.high - f.space.low) for f in seeds])
    assert share.min() < 0.02 and share.max() > 0.98
    np.testing.assert_allclose(np.quantile(share, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.04)


def test_a_shift_beside_the_bend_puts_the_optimum_where_it_always_did():
    bent, plain = (objectives.make("levy", dim=6, shift=4, **more) for more in ({"bend": 1}, {}))
    np.testing.assert_array_equal(bent.centre, plain.centre)
    assert objectives.make("levy", dim=3, shift=[1, -2, 0.5], bend=7)([2, -1, 1.5]) == 0


def test_bends_follow_their_seed_and_have_a_fingerprint_of_their_own():
    one, same, other = (objectives.make("ackley", dim=4, shift=1, bend=seed) for seed in (5, 5, 6))
    plain = objectives.make("ackley", dim=4, shift=1)
    x = points(one, 10)
    np.testing.assert_array_equal(one.many(x), same.many(x))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).many(x), one.many(x))
    prints = [str(f.fingerprint()) for f in (one, same, other, plain)]
    assert prints[0] == prints[1] and len(set(prints)) == 3
    assert set(plain.fingerprint()) == {"function", "placed", "noise"}  # as journals of older versions have it


def test_a_turn_and_a_bend_of_one_seed_draw_other_numbers():
    f = objectives.make("rosenbrock", dim=5, bend=4)
    drawn = np.random.default_rng(4).uniform(f.space.low, f.space.high)
    assert np.abs(f.centre - drawn).min() > 1e-6


@pytest.mark.parametrize("bend", [-1, 1.5, "reference"])
def test_a_bend_that_is_no_seed_is_refused(bend):
    with pytest.raises(ValueError, match="bend: expected a whole number of at least 0"):
        objectives.make("ackley", bend=bend)
