"""Functions of several funnels: the deepest is known, each can be told, and each has its share of the box."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.funnels import funnels

KINDS = [{}, {"rotate": 1}, {"rippled": True}, {"rotate": 2, "rippled": True}]


def points(n, dim, seed=0):
    return np.random.default_rng(seed).uniform(-5, 5, (n, dim))


def by_hand(f, x):
    """The definition, bowl by bowl."""
    values = []
    for centre, depth, height, power, shape, ripples in zip(
        f.centres, f.depths, f.heights, f.powers, f.shapes, f.ripples, strict=True
    ):
        z = shape @ (x - centre)
        bowl = depth + height * (np.mean(z**2) / 25) ** power
        values.append((bowl, bowl + 20 * np.mean(ripples * np.sin(np.pi * z) ** 2)))
    return int(np.argmin([bowl for bowl, _ in values])), min(value for _, value in values)


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_funnels_are_those_of_the_definition(kind):
    f = funnels(dim=4, funnels=3, shift=1, **kind)
    x = points(100, 4)
    told = [by_hand(f, row) for row in x]
    np.testing.assert_allclose(f.many(x), [value for _, value in told], rtol=1e-9)
    assert [f.funnel(row) for row in x] == [funnel for funnel, _ in told]
    assert {funnel for funnel, _ in told} == {0, 1, 2}
    assert (np.ptp(f.ripples) > 0) == ("rippled" in kind)


@pytest.mark.parametrize(("count", "kind"), [(1, KINDS[3]), *((2, kind) for kind in KINDS), (5, KINDS[1])])
def test_the_minimum_is_zero_in_the_deepest_and_no_search_comes_below(count, kind):
    f = funnels(dim=5, funnels=count, shift=count, **kind)
    assert f(f.centre) == 0 == f.optimum and (np.abs(f.centres) <= 5).all()
    x = points(4000, 5)
    values = f.many(x)
    polish = {"bounds": [(-5, 5)] * 5, "method": "L-BFGS-B", "options": {"maxfun": 200}}
    assert min(values.min(), minimize(f, x[np.argmin(values)], **polish).fun) > 0
    assert [f.funnel(centre) for centre in f.centres] == list(range(count))
    np.testing.assert_allclose(f.many(f.centres), f.depths, atol=1e-12)
    assert all(2 <= depth <= 20 for depth in f.depths[1:])


@pytest.mark.parametrize(("count", "share", "expected"), [(2, None, 0.25), (20, None, 0.025), (5, 0.4, 0.4)])
def test_the_deepest_has_the_share_of_the_box_that_was_asked_for(count, share, expected):
    f = funnels(dim=20, funnels=count, share=share, rotate=0)
    assert f.shares[0] == pytest.approx(expected, abs=0.003) and f.shares.sum() == pytest.approx(1)
    assert f.shares.min() > 0.01
    fresh = [f.funnel(row) for row in points(4000, 20, seed=9)]
    assert fresh.count(0) / 4000 == pytest.approx(expected, rel=0.35)


def test_a_descent_ends_in_the_funnel_where_it_began():
    f = funnels(dim=10, funnels=5, shift=3, rotate=3)
    kept = 0
    for start in points(6, 10, seed=4):
        end = minimize(f, start, bounds=[(-5, 5)] * 10, method="L-BFGS-B", options={"maxfun": 1500})
        assert end.fun == pytest.approx(f.depths[f.funnel(end.x)], abs=1e-3)
        kept += f.funnel(end.x) == f.funnel(start)
    assert kept >= 5  # a narrow bowl may lie on the way


def test_seeds_make_other_bowls_and_noise_follows_its_own():
    make = lambda **more: funnels(dim=3, funnels=2, **more)  # noqa: E731
    x = points(5, 3)
    np.testing.assert_array_equal(make(shift=1).many(x), make(shift=1).many(x))
    assert len({make(**kind).many(x)[0] for kind in ({"shift": 1}, {"shift": 2}, {"shift": 1, "rotate": 1})}) == 3
    assert make(shift=1).fingerprint() == make(shift=1).fingerprint() != make(shift=2).fingerprint()
    noisy = make(noise=0.5)
    assert noisy(x[0], seed=1) == noisy(x[0], seed=1) != noisy(x[0], seed=2)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(noisy)).many(x), noisy.many(x))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 1}, "at least 2 parameters"),
        ({"funnels": 0}, "and a funnel"),
        ({"share": 1.0}, "between 0 and 1"),
        ({"shift": "reference"}, "shift: expected a whole number"),
        ({"rotate": -1}, "rotate: expected a whole number"),
        ({"noise": -1}, "at least 0"),
    ],
)
def test_funnels_that_cannot_be_say_what_was_expected(settings, message):
    with pytest.raises(ValueError, match=message):
        funnels(**settings)


def test_more_funnels_than_there_is_room_for_are_refused(monkeypatch):
    monkeypatch.setattr("benchmarks.funnels.TRIES", 1)
    with pytest.raises(ValueError, match="expected fewer funnels in 2 dimensions, got 30"):
        funnels(dim=2, funnels=30)


def test_points_of_another_dimension_are_refused_by_funnels():
    with pytest.raises(ValueError, match=r"\[n, 4\]"):
        funnels(dim=4)(np.zeros(3))
