"""Which rows are evaluated again: what a model may prefer, in rounds that a resumed run completes."""

import numpy as np
import pytest

import lamcts
from lamcts.journal.tables import Check
from lamcts.models.predictor import Evaluated, RunModel
from lamcts.observations import Observations
from lamcts.outcomes.goals import Goals
from lamcts.study.replicates import finished, plan, promising

BOX = lamcts.Box(0, 1, dim=1)


def observed(noise: float) -> tuple[RunModel, Observations]:
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 40)[:, None]
    y = (x[:, 0] - 0.4) ** 2 + noise * rng.standard_normal(40)
    seen = Observations(1)
    seen.append(x, y, np.ones(40), np.arange(40), np.zeros(40, np.int64))
    return RunModel(BOX, Goals(), Evaluated(x, y[:, None], np.empty((40, 0)), None), robust=True), seen


def test_the_choice_of_the_model_is_first_then_the_best_value_then_neighbours() -> None:
    model, seen = observed(0.1)
    first, second, *others = promising(model, seen, set())
    assert first == np.argmin(model(seen.x).mean) and second == seen.best != first
    assert sorted([first, second, *others]) == list(range(40))
    assert np.mean(np.abs(seen.x[others[:8], 0] - 0.4)) < np.mean(np.abs(seen.x[others[-8:], 0] - 0.4))


def test_without_noise_nothing_is_promising_once_the_best_value_was_repeated() -> None:
    model, seen = observed(0.0)
    assert promising(model, seen, set()) and not promising(model, seen, {seen.best})
    noisy, seen = observed(0.1)
    assert promising(noisy, seen, {seen.best})


def test_a_round_is_completed_and_rows_of_earlier_rounds_get_a_further_repeat() -> None:
    done = [Check(7, 1, 0.0, 0.0, None), Check(3, 1, 0.0, 0.0, None)]
    assert finished(2, 10) == 2 and finished(3, 10) == 2
    assert plan([7, 5, 3], done, 10) == [(7, 2), (5, 1)]
    assert plan([7, 5, 3], [*done, Check(5, 1, 0.0, 0.0, None)], 10) == [(7, 2)]
    assert plan([7, 5, 3], done, 2) == []


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_robust_model_passes_by_outliers(sign: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.random((60, 1))
    y = sign * (x[:, 0] - 0.4) ** 2
    wild = np.flatnonzero(rng.random(60) < 0.2)
    data = Evaluated(x, y[:, None].copy(), np.empty((60, 0)), None)
    data.f[wild, 0] += 5 * rng.standard_cauchy(len(wild))
    error, bare = (np.median(np.abs(RunModel(BOX, Goals(), data, robust)(x).mean - y)) for robust in (True, False))
    assert error < 0.1 < 1 < bare
