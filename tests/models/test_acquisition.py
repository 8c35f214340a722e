import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from lamcts.models.acquisition import expected_improvement, log_expected_improvement

MEAN = np.linspace(-2.0, 8.0, 21)
SD = np.geomspace(0.05, 3.0, 21)


def test_expected_improvement_is_the_integral_that_defines_it() -> None:
    value = expected_improvement(MEAN, SD, 0.5)
    for got, mean, sd in zip(value, MEAN, SD, strict=True):
        points = [mean] if mean < 0.5 else None
        low = min(0.5, mean) - 12 * sd
        wanted = quad(lambda f, m=mean, s=sd: (0.5 - f) * norm.pdf(f, m, s), low, 0.5, points=points, epsabs=1e-14)[0]
        assert abs(got - wanted) < 1e-8


def test_the_logarithm_agrees_where_both_exist() -> None:
    plain = expected_improvement(MEAN, SD, 0.5)
    seen = plain > 1e-200
    assert seen.sum() > 10
    assert np.allclose(log_expected_improvement(MEAN, SD, 0.5)[seen], np.log(plain[seen]), rtol=1e-6)


def test_the_logarithm_is_finite_and_falls_where_improvement_is_hopeless() -> None:
    mean = np.concatenate([np.linspace(-3, 30, 200), np.geomspace(31, 1e140, 300)])
    value = log_expected_improvement(mean, np.ones(500), 0.0)
    assert np.isfinite(value).all()
    assert (np.diff(value) < 0).all()


def test_no_deviation_is_no_error() -> None:
    value = log_expected_improvement(np.array([1.0, -1.0]), np.zeros(2), 0.0)
    assert np.isfinite(value).all()
    assert abs(value[1]) < 1e-12  # log of a sure improvement by 1
    assert value[0] < -1e100
    assert np.allclose(expected_improvement(np.array([1.0, -1.0]), np.zeros(2), 0.0), [0.0, 1.0], rtol=0, atol=1e-12)
