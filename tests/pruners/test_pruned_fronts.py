"""The rule that stops trials whose predicted losses are probably dominated, with several objectives."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from lamcts.pruners import Curves, Model
from lamcts.pruners.model import chances_on_front

LAST = 9
FRONT = [(0.1, 0.9), (0.3, 0.5), (0.5, 0.45), (0.7, 0.2), (0.9, 0.1)]


def filled(finished, running=(), steps=3):
    """Return curves of trials that fall to limits [m]; running ones have reported some steps."""
    trials = [*finished, *running]
    curves = Curves(len(trials[0]))
    for number, limits in enumerate(trials):
        curves.x[number] = np.array([limits[0], limits[-1]])
        ended = number < len(finished)
        for own, limit in zip(curves.objectives, limits, strict=True):
            for step in range(1, 1 + (LAST if ended else steps)):
                own.add(number, step, limit + 1 / step)
            if ended:
                own.finish(number, limit + 1 / LAST)
    return curves


def test_one_objective_is_one_case_of_several(monkeypatch):
    monkeypatch.setattr("lamcts.pruners.model.MIN_IMPROVEMENT", 0.0)
    curves = filled([(limit,) for limit, _ in FRONT], [(0.2,), (0.95,)])
    for number in (5, 6):
        model, best = curves.forecast(), np.array(min(curves.ends.values()))
        for chance, so_far in zip(chances_on_front(number, curves), (False, True), strict=True):
            mean, sd = model.moments(number, curves, so_far)
            assert chance == pytest.approx(NormalDist(mean, sd).cdf(float(model.model.standard(best))), abs=1e-12)
    assert curves.objectives == (curves,)


def test_an_equal_cost_that_is_known_exactly_is_no_gain():
    curves = filled(FRONT, [(0.6, 0.5), (0.6, 0.5)])
    second = curves.objectives[1]
    for number in range(7):
        for step in second.losses[number]:
            second.losses[number][step] = 1.0 if number > 4 else float(number % 2)
        if number < 5:
            second.ends[number] = float(number % 2)
    second.losses[6] = dict.fromkeys(second.losses[6], -1.0)
    assert Model().prune(5, curves) and not Model().prune(6, curves)


@pytest.mark.parametrize("m", [2, 3])
def test_the_chance_is_that_of_draws_that_no_finished_trial_dominates(m, monkeypatch):
    monkeypatch.setattr("lamcts.pruners.model.MIN_IMPROVEMENT", 0.0)
    rng = np.random.default_rng(0)
    curves = filled(rng.random((8, m)).tolist(), rng.random((4, m)).tolist(), steps=2)
    models = [own.forecast() for own in curves.objectives]
    pairs = list(zip(models, curves.objectives, strict=True))
    ends = np.array([each.model.standard(np.array([*own.ends.values()])) for each, own in pairs]).T
    for number in range(8, 12):
        moments = [model.moments(number, own) for model, own in pairs]
        drawn = np.array([rng.normal(mean, sd, 40_000) for mean, sd in moments]).T
        free = ~(ends[None] <= drawn[:, None]).all(2).any(1)
        assert abs(chances_on_front(number, curves)[1] - free.mean()) < 0.01


def test_a_dominated_trial_is_stopped_and_a_compromise_goes_on():
    curves = filled(FRONT, [(0.8, 0.85), (0.4, 0.3), (0.05, 2.0)])
    assert [Model().prune(number, curves) for number in (5, 6, 7)] == [True, False, False]
    assert not Model(startup=6).prune(5, curves)
    assert not Model().prune(5, filled([], [(0.8, 0.85)] * 6))


def test_a_nan_counts_as_the_worst_loss_of_its_objective():
    curves = filled(FRONT, [(0.4, 0.3)])
    before = chances_on_front(5, curves)[1]
    first, second = curves.objectives
    for step in (4, 5):
        first.add(5, step, math.inf)
        second.add(5, step, 0.3 + 1 / step)
    assert 0 <= chances_on_front(5, curves)[1] < before
