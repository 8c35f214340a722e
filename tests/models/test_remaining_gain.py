"""What is left to gain: units, signs, noise, integers, and when there is no estimate."""

from typing import Any

import numpy as np
import pytest
from kernel_cases import SPACES

import lamcts
from lamcts.models.coding import Coding
from lamcts.models.predictor import Evaluated
from lamcts.models.remaining_gain import RemainingGain, refusal, remaining_gain
from lamcts.outcomes.goals import Goals
from lamcts.spaces.parameters import Parameters

PLAIN = Goals.of(False, None, None, None)
BOX = lamcts.Box(0, 1, dim=2)


def valley(x: np.ndarray) -> float:
    return float(((x - 0.3) ** 2).sum() + 0.1 * np.sin(6 * x).sum())


def told(n: int, sd: float = 0.0, unit: float = 1.0, sems: bool = False) -> Evaluated:
    rng = np.random.default_rng(0)
    x = rng.random((n, 2))
    f = np.array([valley(row) for row in x]) + sd * rng.standard_normal(n)
    return Evaluated(x, unit * f[:, None], np.empty((n, 0)), np.full((n, 1), unit * sd) if sems else None)


def gain(given: Evaluated, space: Any = BOX, seed: int = 0) -> RemainingGain:
    found = remaining_gain(space, PLAIN, given, seed)
    assert found is not None
    return found


def test_the_estimate_covers_the_truth_and_falls_with_more_evaluations() -> None:
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * 2), -1).reshape(-1, 2)
    least = min(map(valley, grid))
    few, many = gain(told(14)), gain(told(80))
    for found, given in ((few, told(14)), (many, told(80))):
        left = float(given.f.min()) - least
        assert 0 <= found.mean <= found.upper and left <= 3 * found.upper
    assert many.upper < few.upper / 2 and many.r2 > 0.9 and many.noise < 0.01


def test_it_has_the_unit_of_the_values_and_depends_on_the_seed_alone() -> None:
    one = gain(told(30))
    assert gain(told(30)) == one != gain(told(30), seed=1)
    np.testing.assert_allclose(gain(told(30, unit=2.0**300))[:3], np.array(one[:3]) * 2.0**300, rtol=1e-6)
    np.testing.assert_allclose(gain(told(30, unit=1e-200))[:3], np.array(one[:3]) * 1e-200, rtol=0.05)


@pytest.mark.parametrize("sems", [False, True])
def test_noise_is_found(sems: bool) -> None:
    found = gain(told(120, sd=0.1, sems=sems))
    assert 0.05 < found.noise < 0.2 and found.upper < 0.3


def test_points_between_integers_are_no_gain() -> None:
    space = lamcts.Space([lamcts.Int(0, 3), lamcts.Int(0, 3)])
    points = [[a, b] for a in range(4) for b in range(4)]
    f = np.array([[(a - 1.5) ** 2 + (b - 1.5) ** 2] for a, b in points], float)  # the minimum lies between them
    x = np.array([space.encode(point) for point in points])
    assert gain(Evaluated(x, f, np.empty((16, 0)), None), space).upper < 0.2  # between them it is 0.5


def test_where_there_is_no_estimate() -> None:
    given = told(30)
    assert remaining_gain(BOX, PLAIN, told(9), 0) is None
    equal = Evaluated(given.x, given.f * 0 + 1, given.g, None)
    assert remaining_gain(BOX, PLAIN, equal, 0) is None
    two, bounded = Goals.of(False, 2, None, None), Goals.of(False, None, ["mass <= 1"], None)
    assert remaining_gain(BOX, two, given, 0) is None and refusal(BOX, two) == "several objectives"
    assert refusal(BOX, bounded) == "constraints"
    for space in ({"a": lamcts.Float(0, 1), "b": lamcts.Bool()}, {"order": lamcts.Permutation(["a", "b", "c"])}):
        assert "no numbers" in str(refusal(lamcts.Space(space), PLAIN))
    assert refusal(lamcts.Space({"a": lamcts.Float(1e-5, 1, log=True), "n": lamcts.Int(1, 9)}), PLAIN) is None


@pytest.mark.parametrize(
    "space",
    [
        *SPACES.values(),
        lamcts.Space([lamcts.Permutation(["a", "b"]), lamcts.Float(0, 1)]),
        lamcts.Space([lamcts.Permutation(["a"]), lamcts.Float(0, 1)]),
        lamcts.Space([lamcts.Int(3, 3)]),
        lamcts.Simplex(3),
    ],
    ids=repr,
)
def test_a_space_is_numeric_where_its_coding_has_numbers_alone(space: Any) -> None:
    parameters = Parameters(space)
    coding = Coding(parameters)
    assert parameters.all_numeric == (not coding.n_categories and coding.n_numbers > 0)


def test_whether_there_is_an_estimate_is_asked_of_the_space_without_its_coding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("lamcts.models.remaining_gain.Coding")
    assert refusal(BOX, PLAIN) is None


def test_results_and_optimizers_report_it_in_the_sign_of_the_user() -> None:
    low = lamcts.minimize(valley, BOX, budget=30, seed=0)
    high = lamcts.maximize(lambda x: -valley(x), BOX, budget=30, seed=0)
    assert low.remaining_gain == high.remaining_gain and low.remaining_gain.mean >= 0
    assert "remaining_gain: RemainingGain(mean=" in repr(low) and "remaining_gain" in low._repr_html_()
    assert lamcts.minimize(valley, BOX, budget=8, seed=0).remaining_gain is None
    assert "remaining_gain" not in repr(lamcts.minimize(valley, BOX, budget=8, seed=0))


def test_failed_evaluations_and_huge_values_are_no_obstacle() -> None:
    def f(x: np.ndarray) -> float:
        return float("nan") if x[0] > 0.8 else (1e308 if x[1] > 0.8 else valley(x))

    result = lamcts.minimize(f, BOX, budget=40, seed=0)
    assert result.remaining_gain is not None and 0 <= result.remaining_gain.mean < 1
