"""Main effects against a Gaussian process written out from the module's prior, and scipy's distributions."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from lamcts.outcomes.observations import Floats
from lamcts.samplers.coordinate.additive_model import (
    BEND_DEVIATION,
    GRID,
    LENGTHS,
    MAX_DIFFERENCES,
    NOISES,
    PRIOR_WEIGHT,
    SIZES,
    SLOPE_DEVIATION,
    AdditiveModel,
    Profile,
)

GridIndex = tuple[int, int, int]
Difference = tuple[Floats, Floats, float]
SOME = [(0, 0, 0), (3, 1, 2), (5, 0, 3), (2, 1, 1)]


def effect_covariance(s: Floats, t: Floats, index: GridIndex) -> float:
    """Return the prior covariance of g(s) and g(t): a line, a parabola and a smooth part."""
    length, size = LENGTHS[index[0]], SIZES[index[1]]
    s, t = s - 0.5, t - 0.5
    line = SLOPE_DEVIATION**2 * float(s @ t)
    parabola = BEND_DEVIATION**2 * float(s**2 @ t**2)
    return line + parabola + size**2 * float(np.exp(-((s - t) @ (s - t)) / (2 * length**2)))


def covariance(ends: Floats, starts: Floats, other_ends: Floats, other_starts: Floats, index: GridIndex) -> Floats:
    """Return the prior covariances of the differences g(end) - g(start)."""

    def k(s: Floats, t: Floats) -> float:
        return effect_covariance(s, t, index)

    return np.array(
        [
            [k(e, f) - k(e, t) - k(s, f) + k(s, t) for f, t in zip(other_ends, other_starts, strict=True)]
            for e, s in zip(ends, starts, strict=True)
        ]
    )


def noisy(ends: Floats, starts: Floats, index: GridIndex) -> Floats:
    return covariance(ends, starts, ends, starts, index) + (NOISES[index[2]] ** 2 + 1e-9) * np.eye(len(ends))


def differences(n: int, width: int, seed: int = 0) -> list[Difference]:
    rng = np.random.default_rng(seed)
    return [(rng.random(width), rng.random(width), float(rng.normal())) for _ in range(n)]


def profile(given: list[Difference]) -> Profile:
    result = Profile(len(given[0][0]))
    for end, start, rise in given:
        result.add(end, start, rise)
    return result


def effects(*given: list[Difference], factor: float = 1.0) -> AdditiveModel:
    result = AdditiveModel([1] * len(given))
    for parameter, own in enumerate(given):
        for end, start, rise in own:
            result.add(parameter, end, start, factor * rise)
    result.fit()
    return result


def columns(given: list[Difference]) -> tuple[Floats, Floats, Floats]:
    ends, starts, rises = zip(*given, strict=True)
    return np.array(ends), np.array(starts), np.array(rises)


@pytest.mark.parametrize("index", SOME)
@pytest.mark.parametrize("width", [1, 3])
def test_it_predicts_as_a_gaussian_process_of_the_stated_prior(index: GridIndex, width: int) -> None:
    given = differences(9, width)
    ends, starts, rises = columns(given)
    at, to = np.full(width, 0.4), np.random.default_rng(1).random((6, width))
    starts_at = np.repeat(at[None], 6, axis=0)
    cross = covariance(ends, starts, to, starts_at, index)
    gain = np.linalg.solve(noisy(ends, starts, index), cross)
    left = covariance(to, starts_at, to, starts_at, index) - cross.T @ gain
    rise, deviation = profile(given).predict(index, at, to, [])
    np.testing.assert_allclose(rise, gain.T @ rises, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(deviation**2, np.diag(left), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("index", SOME)
def test_without_a_difference_it_predicts_the_prior(index: GridIndex) -> None:
    at, to = np.array([0.2]), np.array([[0.2], [0.21], [0.9]])
    rise, deviation = Profile(1).predict(index, at, to, [])
    expected = np.diag(covariance(to, np.array([at] * 3), to, np.array([at] * 3), index))
    assert np.array_equal(rise, np.zeros(3))
    np.testing.assert_allclose(deviation**2, expected, atol=1e-12)
    assert deviation[0] == 0.0


@pytest.mark.parametrize("known", [0, 5])
def test_differences_that_are_out_lower_the_deviation_as_if_told_and_leave_the_mean(known: int) -> None:
    index: GridIndex = (3, 1, 1)
    given, out = differences(known + 2, 1)[:known], differences(7, 1, seed=3)[5:]
    model, told = Profile(1), Profile(1)
    for end, start, rise in given:
        model.add(end, start, rise)
    for end, start, rise in [*given, *out]:
        told.add(end, start, rise)
    at, to = np.array([0.5]), np.linspace(0, 1, 20)[:, None]
    rise, deviation = model.predict(index, at, to, [])
    same, lower = model.predict(index, at, to, [(end, start) for end, start, _ in out])
    np.testing.assert_allclose(same, rise, rtol=1e-12)
    np.testing.assert_allclose(lower, told.predict(index, at, to, [])[1], rtol=1e-9)
    assert np.all(lower <= deviation + 1e-12)
    assert np.any(lower < 0.9 * deviation)


@pytest.mark.parametrize("width", [1, 2])
def test_the_evidence_is_that_of_a_normal_distribution_everywhere_on_the_grid(width: int) -> None:
    given = differences(6, width)
    ends, starts, rises = columns(given)
    logs, squares = profile(given).evidence()
    found = -logs - squares / 2 - 3 * np.log(2 * np.pi)
    expected = [multivariate_normal(np.zeros(6), noisy(ends, starts, index)).logpdf(rises) for index in GRID]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("seed", [0, 19, 35])  # in 19 and 35 the weight of PRIOR_WEIGHT decides
def test_the_place_is_where_the_student_t_evidence_of_all_parameters_is_largest(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An inverse gamma amplitude of PRIOR_WEIGHT differences makes a normal a Student-t of as many degrees."""
    monkeypatch.setattr("lamcts.samplers.coordinate.additive_model.WINSOR_CAP", np.inf)
    rng = np.random.default_rng(seed)
    given = []
    for amplitude in (0.01, 0.1, 1.0, 3.0, 30.0):
        ends, starts = rng.random((4, 1)), rng.random((4, 1))
        true = noisy(ends, starts, GRID[int(rng.integers(len(GRID)))])
        rises = amplitude * rng.multivariate_normal(np.zeros(4), true)
        given.append(list(zip(ends, starts, rises, strict=True)))
    evidence = []
    for index in GRID:
        kernels = [noisy(*columns(own)[:2], index) for own in given]
        rises = [columns(own)[2] for own in given]
        common = sum(r @ np.linalg.solve(k, r) for r, k in zip(rises, kernels, strict=True)) / 20
        evidence.append(
            sum(
                multivariate_t.logpdf(r, shape=common * k, df=PRIOR_WEIGHT) for r, k in zip(rises, kernels, strict=True)
            )
        )
    assert effects(*given).index == GRID[int(np.argmax(evidence))]


def test_differences_without_error_from_a_smooth_wave_choose_the_smallest_noise_and_a_fitting_length() -> None:
    at = np.linspace(0, 1, 30)
    wave = [(np.array([t]), np.array([0.5]), float(np.sin(20 * t) - np.sin(10))) for t in at]
    model = effects(wave)
    assert NOISES[model.index[2]] == min(NOISES)
    assert 0.03 < LENGTHS[model.index[0]] < 0.3
    shaken = [
        (end, start, rise + float(np.random.default_rng(i).normal())) for i, (end, start, rise) in enumerate(wave)
    ]
    assert NOISES[effects(shaken).index[2]] > min(NOISES)


def test_amplitudes_are_drawn_towards_the_common_one_by_as_much_as_trust_says() -> None:
    strong, weak = differences(5, 1), [(e, s, 0.01 * r) for e, s, r in differences(2, 1, seed=1)]
    model = effects(strong, weak, [])
    g = GRID.index(model.index)
    squares = np.array([profile(own).evidence()[1][g] for own in (strong, weak)])
    common = squares.sum() / 7
    expected = [
        (PRIOR_WEIGHT * common + squares[0]) / (PRIOR_WEIGHT + 5),
        (PRIOR_WEIGHT * common + squares[1]) / (PRIOR_WEIGHT + 2),
        common,
    ]
    np.testing.assert_allclose(model.amplitudes**2, expected, rtol=1e-9)
    assert (
        squares[0] / 5 > model.amplitudes[0] ** 2 > model.amplitudes[2] ** 2 > model.amplitudes[1] ** 2 > squares[1] / 2
    )


@pytest.mark.parametrize("power", [-300, -7, 30, 300])
def test_another_unit_of_the_rises_scales_what_is_predicted_and_nothing_else(power: int) -> None:
    given = differences(8, 1), differences(3, 1, seed=1)
    one, other = effects(*given), effects(*given, factor=2.0**power)
    at, to = np.array([0.1]), np.linspace(0, 1, 9)[:, None]
    rise, deviation = one.predict(0, at, to, [])
    scaled, same = other.predict(0, at, to, [])
    assert one.index == other.index
    assert np.array_equal(rise * 2.0**power, scaled)
    assert np.array_equal(deviation, same)
    assert np.array_equal(one.amplitudes * 2.0**power, other.amplitudes)


def test_only_the_latest_differences_count_but_all_are_counted() -> None:
    given = differences(MAX_DIFFERENCES + 25, 1)
    model, latest = effects(given), effects(given[-MAX_DIFFERENCES:])
    assert model.count(0) == MAX_DIFFERENCES + 25
    assert latest.count(0) == MAX_DIFFERENCES
    assert model.index == latest.index
    assert np.array_equal(model.amplitudes, latest.amplitudes)
    at, to = np.array([0.1]), np.linspace(0, 1, 9)[:, None]
    assert np.array_equal(model.predict(0, at, to, []), latest.predict(0, at, to, []))
    assert not np.array_equal(model.amplitudes, effects(given[-MAX_DIFFERENCES - 1 : -1]).amplitudes)


def test_a_fit_now_and_then_ends_where_one_fit_ends() -> None:
    given, more = differences(6, 1), differences(4, 1, seed=1)
    model = effects(given, more[:1])
    for end, start, rise in more[1:]:
        model.add(1, end, start, rise)
        model.fit()
    assert model.index == effects(given, more).index
    assert np.array_equal(model.amplitudes, effects(given, more).amplitudes)


def test_a_fit_to_nothing_changes_nothing() -> None:
    model = AdditiveModel([1, 2])
    before = model.index
    model.fit()
    assert model.index == before
    assert np.array_equal(model.amplitudes, np.ones(2))


@pytest.mark.parametrize("rise", [0.0, 1e60, 1e-200])
def test_extreme_and_repeated_differences_make_a_poor_model_but_never_an_error(rise: float) -> None:
    same = [(np.array([0.3]), np.array([0.6]), rise)] * 50
    model = effects(same, [(np.array([0.3]), np.array([0.3]), rise)])
    for parameter in range(2):
        mean, deviation = model.predict(parameter, np.array([0.6]), np.linspace(0, 1, 9)[:, None], [])
        assert np.isfinite(mean).all()
        assert np.isfinite(deviation).all()
        assert np.isfinite(model.amplitudes).all()


def test_a_rise_far_above_the_usual_ones_counts_as_a_bad_value_and_no_more() -> None:
    at = [np.array([t]) for t in (0.1, 0.3, 0.7, 0.9)]
    usual = [(end, np.array([0.5]), float((end[0] - 0.5) ** 2)) for end in at]

    def seen(penalty: float) -> tuple[Floats, Floats, Floats]:
        model = effects([*usual, (np.array([1.0]), np.array([0.5]), penalty)], usual)
        rise, _ = model.predict(1, np.array([0.5]), np.array([[0.6], [1.0]]), [])
        return rise, model.amplitudes, model.predict(0, np.array([0.5]), np.array([[1.0]]), [])[0]

    for mine, far in zip(seen(1e3), seen(1e30), strict=True):
        np.testing.assert_array_equal(mine, far)  # how far is all the same
    assert seen(1e3)[2] > 2 * usual[0][2]  # but it is bad
    assert not np.array_equal(seen(0.3)[1], seen(0.4)[1])  # the usual ones count as they are


def test_the_rise_from_which_on_all_are_equal_follows_the_usual_rises() -> None:
    model = effects([(np.array([0.6]), np.array([0.5]), 1e6)])
    rise = model.predict(0, np.array([0.5]), np.array([[0.6]]), [])[0]
    np.testing.assert_allclose(rise, 1e6, rtol=0.3)
    for i in range(20):
        model.add(0, np.array([0.5 + i / 100]), np.array([0.2]), 1.0)
    model.fit()
    assert model.predict(0, np.array([0.5]), np.array([[0.6]]), [])[0] < 100
