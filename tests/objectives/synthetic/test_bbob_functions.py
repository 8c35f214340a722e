"""Six formulas of BBOB against the published ones, written out, and against searches for lower values."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from lamcts import objectives

PLACES = [{}, {"shift": 3, "rotate": 5}, {"rotate": 2, "bend": 1}]


def ellipsoid(z):
    return sum(1e6 ** (i / (len(z) - 1)) * c**2 for i, c in enumerate(z))


def discus(z):
    return 1e6 * z[0] ** 2 + sum(c**2 for c in z[1:])


def cigar(z):
    return z[0] ** 2 + 1e6 * sum(c**2 for c in z[1:])


def sharp_ridge(z):
    return z[0] ** 2 + 100 * math.sqrt(sum(c**2 for c in z[1:]))


def different_powers(z):
    return math.sqrt(sum(abs(c) ** (2 + 4 * i / (len(z) - 1)) for i, c in enumerate(z)))


def schaffer(z):
    s = [math.sqrt(a**2 + b**2) for a, b in pairwise(z)]
    return (sum(math.sqrt(r) + math.sqrt(r) * math.sin(50 * r ** (1 / 5)) ** 2 for r in s) / len(s)) ** 2


TEXTBOOK = {
    "ellipsoid": ellipsoid,
    "discus": discus,
    "cigar": cigar,
    "sharp-ridge": sharp_ridge,
    "different-powers": different_powers,
    "schaffer": schaffer,
}


@pytest.mark.parametrize("name", TEXTBOOK)
def test_values_agree_with_the_published_formula_moved_and_turned(name):
    f = objectives.make(name, dim=5, shift=3, rotate=5)
    x = np.random.default_rng(0).uniform(-5, 5, (40, 5))
    np.testing.assert_allclose(f.many(x), [TEXTBOOK[name](f.rotation @ (row - f.centre)) for row in x], rtol=1e-9)
    np.testing.assert_allclose([f(row) for row in x[:5]], f.many(x[:5]), rtol=1e-12)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", TEXTBOOK)
def test_the_minimum_is_zero_at_its_place_and_no_search_comes_below(name, place):
    f = objectives.make(name, dim=4, **place)
    assert f(f.centre) == 0 == f.optimum and (np.abs(f.centre) <= 5).all()
    x = np.random.default_rng(1).uniform(-5, 5, (5000, 4))
    values = f.many(x)
    polish = {"bounds": [(-5, 5)] * 4, "method": "L-BFGS-B", "options": {"maxfun": 200}}
    lowest = minimize(f, x[np.argmin(values)], **polish).fun
    near = f.centre + np.geomspace(1e-7, 1, 500)[:, None] * np.random.default_rng(2).standard_normal((500, 4))
    assert min(values.min(), lowest) > 0 and (f.many(near) > 0).all()


@pytest.mark.parametrize("name", ["ellipsoid", "discus", "cigar"])
def test_bowls_have_the_condition_that_they_are_named_for(name):
    f = objectives.make(name, dim=8, rotate=1)
    steps = np.vstack([np.eye(8), *(np.eye(8)[i] + np.eye(8)[i + 1 :] for i in range(7))])
    values = f.many(steps)
    half = np.diag(values[:8])  # of the second derivatives: exact, since the function is quadratic
    for (i, j), both in zip(zip(*np.triu_indices(8, 1), strict=True), values[8:], strict=True):
        half[i, j] = half[j, i] = (both - values[i] - values[j]) / 2
    weights = np.linalg.eigvalsh(half)
    assert weights[-1] / weights[0] == pytest.approx(1e6, rel=1e-4)
    expected = {"ellipsoid": 10 ** (6 * np.arange(8) / 7), "discus": [1] * 7 + [1e6], "cigar": [1] + [1e6] * 7}[name]
    np.testing.assert_allclose(weights, expected, rtol=1e-4)


def test_schaffer_needs_two_neighbours():
    with pytest.raises(ValueError, match="dim of at least 2"):
        objectives.make("schaffer", dim=1)
