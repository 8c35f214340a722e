"""The rule that stops trials by the model of learning curves."""

import math

import numpy as np
import pytest

from lamcts import pruners
from lamcts.pruners import Curves, Model
from lamcts.pruners.forecast import forecast

LAST = 9


def filled(limits, ended=None, last=LAST):
    """Return curves that fall to limits; the first `ended` trials have finished, the others reported three steps."""
    curves, ended = Curves(), len(limits) if ended is None else ended
    for number, limit in enumerate(limits):
        curves.x[number] = np.array([limit, 0.5])
        for step in range(1, last + 1 if number < ended else 4):
            curves.add(number, step, limit + 1 / step)
        if number < ended:
            curves.finish(number, limit + 1 / last)
    return curves


def test_a_hopeless_trial_is_stopped_and_one_that_leads_goes_on():
    curves = filled([0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.05], ended=5)
    assert not Model().prune(6, curves)
    assert Model().prune(5, curves)


def test_nothing_is_stopped_before_the_startup_trials_have_finished_nor_at_the_last_step():
    curves = filled([0.1, 0.3, 0.5, 0.7, 0.9, 0.95], ended=5)
    assert not Model(startup=6).prune(5, curves) and Model().prune(5, curves) and not Model().prune(99, curves)
    for step in range(4, LAST + 1):
        curves.add(5, step, 0.95 + 1 / step)
    assert not Model().prune(5, curves)
    assert not Model(startup=1).prune(0, filled([0.5], ended=0))


def test_the_model_depends_on_the_trials_that_have_ended_alone():
    step_by_step, at_once = filled([0.1, 0.3, 0.5], ended=3), filled([0.1, 0.3, 0.5], ended=3)
    for curves, looks in ((step_by_step, True), (at_once, False)):
        for number in range(3, 12):
            curves.x[number] = np.array([number / 12, 0.5])
            for step in range(1, 4):
                curves.add(number, step, number / 12 + 1 / step)
            if looks:
                curves.forecast()
            curves.stop(number)
    curves = at_once
    assert step_by_step.forecast().ends(step_by_step) == curves.forecast().ends(curves)
    assert set(curves.forecast().ends(curves)) == set(range(3, 12))
    assert forecast(Curves()) is None


def test_a_trial_that_ends_early_counts_as_at_the_final_step():
    curves = filled([0.1, 0.3, 0.5, 0.7], ended=4)
    curves.x[4] = np.array([0.2, 0.5])
    curves.add(4, 1, 1.2)
    curves.add(4, 2, 0.1)
    curves.finish(4, 0.1)
    found = curves.forecast()
    assert found.last == LAST and len(curves.ends) == 5
    curves.add(5, 1, 1.1)
    assert found.predict(5, curves) is None  # without a point
    curves.x[5] = np.array([0.3, 0.5])
    assert found.predict(5, curves)[1] > 0


def test_a_trial_that_reports_longer_than_all_others_is_predicted_near_its_last_value():
    curves = filled([0.1, 0.3, 0.5, 0.7, 0.9], ended=5)
    curves.x[7] = np.array([0.2, 0.5])
    for step in range(1, 2 * LAST):
        curves.add(7, step, 0.2 + 1 / step)
    mean, sd = curves.forecast().predict(7, curves)
    assert abs(mean - (0.2 + 1 / (2 * LAST - 1))) < 0.1 and sd > 0


def test_a_nan_counts_as_the_worst_loss():
    curves = filled([0.1, 0.3, 0.5, 0.7, 0.9], ended=5)
    curves.x[8] = np.array([0.1, 0.5])
    curves.add(8, 1, 1.1)
    alive = curves.forecast().predict(8, curves)[0]
    curves.add(8, 2, math.inf)
    curves.add(8, 3, math.inf)
    assert curves.forecast().predict(8, curves)[0] > alive and Model().prune(8, curves)


@pytest.mark.parametrize("settings", [{"startup": 0}, {"startup": 1.5}])
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))}: expected"):
        Model(**settings)


def test_the_rule_is_found_by_its_name():
    assert pruners.make("model") == Model() and "model" in pruners.NAMES
