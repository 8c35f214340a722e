"""Which rows are evaluated again: what a model may prefer, in rounds that a resumed run completes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.journal.tables import Check
from lamcts.models.predictor import Evaluated, RunModel
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
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
    first, second, *others = promising(model, seen, [])
    assert first == np.argmin(model(seen.x).mean) and second == seen.best != first
    assert sorted([first, second, *others]) == list(range(40))
    assert np.mean(np.abs(seen.x[others[:8], 0] - 0.4)) < np.mean(np.abs(seen.x[others[-8:], 0] - 0.4))


def test_without_noise_nothing_is_promising_once_the_best_value_was_repeated() -> None:
    def again(seen: Observations, off: float) -> list[Check]:
        assert seen.best is not None
        return [Check(seen.best, 1, float(seen.y[seen.best]) + off, 0.0, None)]

    model, seen = observed(0.0)
    assert promising(model, seen, []) and not promising(model, seen, again(seen, 0.0))
    assert not promising(model, seen, again(seen, 1e-9))  # as little as the model leaves open
    model, seen = observed(0.1)
    assert promising(model, seen, again(seen, 0.1)) and not promising(model, seen, again(seen, 0.0))


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


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("stop", [35, 37, 39])
def test_a_run_that_is_left_anywhere_goes_on_as_if_it_had_not_been(tmp_path: Path, noise: float, stop: int) -> None:
    def f(point: Any, seed: int) -> float:
        return float(((point - 0.4) ** 2).sum() + noise * np.random.default_rng(seed).standard_normal())

    box = lamcts.Box(0, 1, dim=3)
    options: Any = {"budget": 40, "noisy": True, "seed": 0}
    whole = lamcts.minimize(f, box, **options)
    for count, _ in enumerate(lamcts.run(f, box, journal=tmp_path / "run.db", **options), 1):
        if count == stop:
            break
    resumed = lamcts.minimize(f, box, journal=tmp_path / "run.db", **options)
    assert resumed.history.x.tobytes() == whole.history.x.tobytes() and resumed.nfev == 40
    assert resumed.history.repeats == whole.history.repeats and repr(resumed.candidates) == repr(whole.candidates)
    assert (len(whole.history) == 36) == bool(noise)
