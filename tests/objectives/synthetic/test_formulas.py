"""Six of the formulas, wherever they are put: against the textbook, the literature, and searches for lower values."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from lamcts import objectives

NAMES = ["griewank", "schwefel", "styblinski-tang", "michalewicz", "hartmann6", "branin"]
PLACES = [
    {},
    {"shift": 3},
    {"rotate": 5},
    {"shift": 11, "rotate": 6},
    {"shift": "reference", "rotate": "reference"},
]


def make(name, dim=4, **place):
    return objectives.make(name, **({} if name in ("hartmann6", "branin") else {"dim": dim}), **place)


def points(f, n, seed=0):
    return np.random.default_rng(seed).uniform(f.space.low, f.space.high, (n, f.space.dim))


def griewank(z):
    return sum(c**2 for c in z) / 4000 - math.prod(math.cos(c / math.sqrt(i + 1)) for i, c in enumerate(z)) + 1


def schwefel(z):
    return 418.98288727243374 * len(z) - sum(_schwefel_term(c, len(z)) for c in z)


def _schwefel_term(z, d):
    """As CEC 2014 writes it, case by case."""
    if z > 500:
        rest = 500 - math.fmod(z, 500)
        return rest * math.sin(math.sqrt(abs(rest))) - (z - 500) ** 2 / (10000 * d)
    if z < -500:
        rest = math.fmod(abs(z), 500) - 500
        return rest * math.sin(math.sqrt(abs(rest))) - (z + 500) ** 2 / (10000 * d)
    return z * math.sin(math.sqrt(abs(z)))


def styblinski_tang(z):
    return sum(c**4 - 16 * c**2 + 5 * c for c in z) / 2


def michalewicz(z):
    value = 0.0
    for i, c in enumerate(z, 1):
        inside = min(max(c, 0), math.pi)
        value += (c - inside) ** 2 - math.sin(inside) * math.sin(i * inside**2 / math.pi) ** 20
    return value


def hartmann6(z):
    a = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
    p = [[0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886], [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991]]
    p += [[0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650], [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381]]
    squares = [sum(a[i][j] * (z[j] - p[i][j]) ** 2 for j in range(6)) for i in range(4)]
    return -sum(c * math.exp(-s) for c, s in zip((1.0, 1.2, 3.0, 3.2), squares, strict=True))


def branin(z):
    square = (z[1] - 5.1 / (4 * math.pi**2) * z[0] ** 2 + 5 / math.pi * z[0] - 6) ** 2
    return square + 10 * (1 - 1 / (8 * math.pi)) * math.cos(z[0]) + 10


TEXTBOOK = {
    "griewank": griewank,
    "schwefel": schwefel,
    "styblinski-tang": styblinski_tang,
    "michalewicz": michalewicz,
    "hartmann6": hartmann6,
    "branin": branin,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES)
def test_values_agree_with_the_textbook_wherever_the_formula_is_put(name, place):
    f, at = make(name, **place), make(name).centre
    rotation = np.eye(f.space.dim) if f.rotation is None else f.rotation
    x = points(f, 60)
    expected = [TEXTBOOK[name](rotation @ (row - f.centre) + at) for row in x]
    np.testing.assert_allclose(f.many(x), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose([f(row) for row in x], f.many(x), rtol=1e-12)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES)
def test_no_search_beats_the_optimum_and_it_lies_in_the_box(name, place):
    f = make(name, dim=3, **place)
    low, high = f.space.low, f.space.high
    assert (low <= f.centre).all() and (f.centre <= high).all()
    assert f(f.centre) == f.optimum == pytest.approx(TEXTBOOK[name](make(name, dim=3).centre), rel=1e-12, abs=1e-9)
    x, rng = points(f, 20_000), np.random.default_rng(1)
    values = f.many(x)
    bounds = list(zip(low, high, strict=True))
    polished = [minimize(f, row, bounds=bounds, method="L-BFGS-B").fun for row in x[np.argsort(values)[:8]]]
    steps = np.geomspace(1e-7, 1e-1, 2000)[:, None] * rng.uniform(-1, 1, (2000, f.space.dim)) * (high - low)
    around = f.many(np.clip(f.centre + steps, low, high))
    rounding = 2e-13 * max(1, abs(f.optimum), 419 * 3 * (name == "schwefel"))  # of sums: Schwefel's are of 419 an axis
    assert min(values.min(), around.min(), *polished) >= f.optimum - rounding


@pytest.mark.parametrize(
    ("name", "settings", "optimum", "place"),
    [  # as Surjanovic and Bingham give them
        ("griewank", {"dim": 3}, 0, [0, 0, 0]),
        ("schwefel", {"dim": 2}, 0, [420.9687, 420.9687]),
        ("styblinski-tang", {"dim": 2}, -39.16599 * 2, [-2.903534, -2.903534]),
        ("michalewicz", {"dim": 2}, -1.8013, [2.20, 1.57]),
        ("michalewicz", {"dim": 5}, -4.687658, None),
        ("michalewicz", {"dim": 10}, -9.66015, None),
        ("hartmann6", {}, -3.32237, [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]),
        ("branin", {}, 0.397887, [math.pi, 2.275]),
    ],
)
def test_optima_are_those_of_the_literature(name, settings, optimum, place):
    f = objectives.make(name, **settings)
    assert f.optimum == pytest.approx(optimum, rel=1e-5, abs=1e-12)
    if place is not None:
        np.testing.assert_allclose(f.centre, place, rtol=2e-3)


def test_michalewicz_is_least_on_every_axis():
    f = objectives.make("michalewicz", dim=60)
    z = np.linspace(0, np.pi, 40_001)
    for i in (1, 2, 3, 4, 7, 30, 59, 60):
        least = (-np.sin(z) * np.sin(i * z**2 / np.pi) ** 20).min()
        at = f.centre[i - 1]
        mine = -np.sin(at) * np.sin(i * at**2 / np.pi) ** 20
        assert least - 1e-4 < mine <= least


def test_the_place_of_hartmanns_minimum_is_exact():
    """At a minimum a step e changes the value by e^2: the gradient says more than the value."""
    f, step = objectives.make("hartmann6"), 1e-5
    gradient = [(f(f.centre + step * e) - f(f.centre - step * e)) / (2 * step) for e in np.eye(6)]
    assert np.abs(gradient).max() < 1e-8  # the curvature is at least 18: within 1e-9 of the place


def test_branin_has_its_three_minima():
    f = objectives.make("branin")
    for place in ([-math.pi, 12.275], [math.pi, 2.275], [3 * math.pi, 2.475]):
        assert f(place) == pytest.approx(f.optimum, rel=1e-12)
    assert f.optimum == pytest.approx(10 / (8 * math.pi), rel=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_never_moves_the_optimum_out_of_the_box(name):
    for seed in range(50):
        f = make(name, dim=8, shift=seed)
        moved = np.abs(f.centre - make(name, dim=8).centre) / (f.space.high - f.space.low)
        assert (f.space.low <= f.centre).all() and (f.centre <= f.space.high).all()
        assert moved.max() <= 0.25 and moved.max() > 0


def test_a_displacement_that_would_leave_the_box_goes_the_opposite_way():
    drawn = np.random.default_rng(0).uniform(-1 / 4, 1 / 4, 8) * 1000
    at = objectives.make("schwefel", dim=1).centre[0]
    expected = at + np.where(at + drawn > 500, -drawn, drawn)
    assert (at + drawn > 500).any()
    np.testing.assert_array_equal(objectives.make("schwefel", dim=8, shift=0).centre, expected)


def test_a_vector_that_leaves_the_box_is_refused():
    with pytest.raises(ValueError, match="keeps the optimum inside"):
        objectives.make("schwefel", dim=2, shift=[100, 0])
    with pytest.raises(ValueError, match=r"keeps the optimum inside \[\(-5, 0\), \(10, 15\)\]"):
        objectives.make("branin", shift=[0, -3])
