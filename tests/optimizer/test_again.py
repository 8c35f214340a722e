"""Which known points are evaluated again: those that a model of all values may still prefer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.models.predictor import Evaluated, RunModel
from lamcts.optimizer.again import first_rows, promising, re_evaluations, reserve
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import CONFIRMING, Observations
from lamcts.types import Rows

BOX = lamcts.Box(0, 1, dim=1)


def observed(noise: float, repeated: tuple[int, ...] = (), off: float = 0.0) -> tuple[Rows, Observations, RunModel]:
    """Return what is promising after 40 values of a parabola, and after repeats of some rows that are `off`."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 40)[:, None]
    y = (x[:, 0] - 0.4) ** 2 + noise * rng.standard_normal(40)
    seen, rows = Observations(1), np.array(repeated, np.int64)
    seen.append(x, y, np.ones(40), np.arange(40), np.zeros(40, np.int64))
    seen.append(x[rows], y[rows] + off, np.ones(len(rows)), 40 + np.arange(len(rows)), np.full(len(rows), CONFIRMING))
    model = RunModel(BOX, Goals(), Evaluated(seen.x, seen.f, np.empty((len(seen), 0)), None), robust=True)
    return promising(model, seen, re_evaluations(BOX, seen)), seen, model


def test_the_best_value_is_first_then_what_may_change_the_choice() -> None:
    (first, *others), seen, model = observed(0.1)
    assert first == seen.best and sorted([first, *others]) == list(range(40))
    assert np.mean(np.abs(seen.x[others[:8], 0] - 0.4)) < np.mean(np.abs(seen.x[others[-8:], 0] - 0.4))
    assert int(np.argmin(model(seen.x).mean)) in others[:3]


def test_without_noise_nothing_is_promising_once_the_best_value_came_again() -> None:
    rows, seen, _ = observed(0.0)
    assert seen.best is not None and len(rows) == 40
    best = (int(seen.best),)
    assert not len(observed(0.0, best)[0])
    assert not len(observed(0.0, best, 1e-9)[0])  # as little as the model leaves open
    best = (int(np.argmin(observed(0.1)[1].y)),)
    assert len(observed(0.1, best, 0.1)[0]) and not len(observed(0.1, best)[0])


def test_each_point_is_named_once_by_its_first_success() -> None:
    seen = Observations(1)
    x = np.array([[0.5], [0.2], [0.5], [0.2], [0.7]])
    seen.append(x, np.array([np.nan, 2.0, 1.0, 0.5, np.nan]), np.ones(5), np.arange(5), np.zeros(5, np.int64))
    assert first_rows(seen).tolist() == [2, 1, 2, 1, 4]


def test_the_share_of_the_budget() -> None:
    assert [reserve(n, 0.1) for n in (1, 3, 4, 40, 100)] == [0, 1, 2, 4, 10] and reserve(100, 0.0) == 0


def test_trials_at_points_that_are_out_are_not_asked_twice_and_a_saved_run_goes_on(tmp_path: Path) -> None:
    opt = lamcts.Optimizer(BOX, seed=0, noisy=0.5)
    rng = np.random.default_rng(0)
    for _ in range(15):
        (trial,) = opt.ask()
        opt.tell(trial, float(trial.point[0] - 0.4) ** 2 + 0.2 * rng.normal())
    trials = opt.ask(5, left=5)
    points = [trial.x.tobytes() for trial in (*trials, *opt.confirm(3))]
    for wrong in (0, 1.5, "many"):
        with pytest.raises(ValueError, match="ask: left: expected"):
            opt.ask(left=wrong)  # type: ignore[arg-type]
    assert len(set(points)) == 8 and set(points) <= set(map(bytes, opt.seen.x))
    opt.save(tmp_path / "saved.db")
    again = lamcts.Optimizer.load(tmp_path / "saved.db")
    assert again.noisy == 0.5 and again.ask(left=5)[0].x.tobytes() == opt.ask(left=5)[0].x.tobytes()


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
    assert resumed.history.again.tolist() == whole.history.again.tolist()
    assert repr(resumed.candidates) == repr(whole.candidates) and (whole.history.again.sum() == 4) == bool(noise)
