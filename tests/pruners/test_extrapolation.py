"""Early prediction: trials that will not end as the best one are stopped, and no others."""

import math

import numpy as np
import pytest

from lamcts.pruners import NAMES, Curves, Extrapolation, make
from lamcts.pruners.extrapolation import predicted


def losses(end: float, speed: float = 0.5, steps: int = 8) -> list[float]:
    """Return a curve that falls from ten above its end to nearly there."""
    return [end + 10 * math.exp(-speed * step) for step in range(steps)]


def among(count: int) -> Curves:
    """Return finished trials whose ends and speeds differ."""
    rng, curves = np.random.default_rng(0), Curves()
    for number in range(count):
        told = np.array(losses(rng.uniform(0, 4), rng.uniform(0.4, 0.6)))
        for step, loss in enumerate(told):
            curves.add(number, step, float(loss))
        curves.finish(number, float(told[-1]))
    return curves


def stopped_at(curve: list[float], curves: Curves, rule: Extrapolation | None = None) -> int | None:
    for step, loss in enumerate(curve):
        curves.add(99, step, loss)
        if (rule or Extrapolation()).prune(99, curves):
            return step
    return None


def test_a_trial_that_will_end_badly_is_stopped_early_and_the_best_one_never() -> None:
    assert stopped_at(losses(4.0), among(30)) in (0, 1, 2, 3)
    assert stopped_at(losses(-0.5), among(30)) is None


def test_a_trial_that_is_behind_but_catches_up_is_kept_where_the_median_rule_would_stop_it() -> None:
    curves, late = among(30), [20.0, 14.0, 8.0, 4.0, 1.0, 0.0, -1.0, -1.0]
    kept = [step for step in range(4, 8) if step]  # once the gain of its second half shows
    for step, loss in enumerate(late):
        curves.add(99, step, loss)
        assert step not in kept or not Extrapolation().prune(99, curves)


def test_curves_that_tell_nothing_stop_nobody_but_where_only_the_best_counts() -> None:
    rng = np.random.default_rng(0)
    curves = Curves()
    for number in range(40):
        curves.add(number, 0, rng.normal())
        curves.finish(number, rng.normal())
    new = [[float(loss)] for loss in rng.normal(size=30)]
    assert sum(stopped_at(curve, curves) is not None for curve in new) <= 1
    assert sum(stopped_at(curve, curves, Extrapolation(best=0.0)) is not None for curve in new) > 10


def test_the_rule_waits_for_finished_trials_and_for_its_first_step() -> None:
    assert stopped_at(losses(9.0), among(9)) is None
    assert stopped_at(losses(9.0), among(10)) is not None
    assert stopped_at(losses(9.0), among(30), Extrapolation(warmup=5)) == 5
    assert not Extrapolation().prune(99, among(30))  # it has told nothing


def test_a_reported_nan_stops_a_trial_and_failed_ends_are_not_learnt_from() -> None:
    curves = among(30)
    curves.add(40, 0, 1.0)
    curves.finish(40, math.nan)
    assert stopped_at([5.0, math.inf], curves) == 1


def test_a_line_is_predicted_exactly() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 2))
    mean, deviation = predicted(x, 1 + 2 * x[:, 0] + 3 * (x[:, 0] - x[:, 1]), np.array([0.5, 0.25]))
    assert mean == pytest.approx(1 + 1 + 0.75) and deviation == pytest.approx(0, abs=1e-9)


def test_it_has_its_name_and_checks_its_settings() -> None:
    assert isinstance(make("extrapolation"), Extrapolation) and NAMES["extrapolation"] is Extrapolation
    for wrong in ({"warmup": -1}, {"best": 1.0}):
        with pytest.raises(ValueError, match="expected"):
            Extrapolation(**wrong)
