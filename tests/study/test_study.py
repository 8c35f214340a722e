"""Whole runs: what is evaluated, when it stops, and what comes back."""

import math
import signal
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from evaluations import failing, noisy, sphere
from stroll import Stroll

from lamcts import Fidelity, Float, Int, Optimizer
from lamcts.spaces.box import Box
from lamcts.spaces.choice import Choice
from lamcts.study import Study, maximize, minimize, run
from lamcts.study.result import Result

BOX = Box(-1, 1, dim=2)
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "n_init": 6}


def negated(point: np.ndarray) -> float:
    return -sphere(point)


def test_the_result_has_the_best_point_and_the_conventional_fields() -> None:
    result = minimize(sphere, BOX, budget=40, **OPTIONS)
    assert result.fun == sphere(result.x) == result["fun"] == result.history.values.min()
    assert (result.nfev, result.nit, result.success, result.status) == (40, 40, True, "budget")
    assert result.message == "the budget of 40 evaluations is used up"
    assert result.seed == 0 and "history" not in repr(result) and "success: True" in repr(result)
    with pytest.raises(AttributeError, match="no 'funn'; it has x, fun"):
        _ = result.funn


def test_a_printed_result_counts_failures_by_kind_and_has_the_constrained_quantities() -> None:
    def half(point: np.ndarray) -> dict[str, float]:
        if point[0] > 0:
            raise ValueError("singular")
        return {"loss": sphere(point), "load": 2.0}

    result = minimize(half, BOX, budget=12, objectives=["loss"], constraints=["load <= 3"], **OPTIONS)
    failed = int(result.history.failed.sum())
    assert "constraints: {'load': 2.0}\n" in repr(result) and f"   failed: {{'raised': {failed}}}\n" in repr(result)
    assert 0 < failed < 12 and "failed</th>" in result._repr_html_()
    whole = repr(minimize(sphere, BOX, budget=12, **OPTIONS))
    assert "failed" not in whole and "constraints" not in whole


def test_the_history_has_all_evaluations_in_order_and_decodes_points_when_asked() -> None:
    seen: list[np.ndarray] = []

    def f(point: np.ndarray) -> float | None:
        seen.append(point)
        return None if len(seen) % 4 == 2 else sphere(point)

    history = minimize(f, BOX, budget=12, **OPTIONS).history
    assert len(history) == len(history.points) == 12
    assert all(np.array_equal(a, b) for a, b in zip(history.points, seen, strict=True))
    assert np.array_equal(history.points[3:5][1], seen[4])
    assert np.flatnonzero(history.failed).tolist() == [1, 5, 9] == list(history.messages)
    assert set(history.messages.values()) == {"no value"}
    assert history.trial.tolist() == list(range(12)) and (history.seconds >= 0).all()
    good = ~history.failed
    assert np.array_equal(history.best[good], np.minimum.accumulate(history.values[good]))
    assert history.best[1] == history.best[0] and repr(history) == "<history of 12 evaluations, 3 failed>"


def test_to_maximise_is_to_minimise_the_negative() -> None:
    low, high = minimize(sphere, BOX, budget=30, **OPTIONS), maximize(negated, BOX, budget=30, **OPTIONS)
    assert high.fun == -low.fun and np.array_equal(low.x, high.x)
    assert np.array_equal(high.history.values, -low.history.values)
    assert np.array_equal(high.history.best, -low.history.best)


def test_bounds_as_scipy_takes_them_make_a_box() -> None:
    from scipy.optimize import Bounds

    expected = minimize(sphere, BOX, budget=9, **OPTIONS)
    for space in ([(-1, 1), (-1, 1)], np.array([[-1, 1], [-1, 1]]), Bounds([-1, -1], [1, 1])):
        assert minimize(sphere, space, budget=9, **OPTIONS).history.x.tobytes() == expected.history.x.tobytes()
    with pytest.raises(ValueError, match=r"pairs \[\(low, high\), ...\], got \[1, 2, 3\]"):
        minimize(sphere, [1, 2, 3], budget=9)


def test_a_function_with_a_seed_parameter_gets_the_trials_seed() -> None:
    seeds: list[int] = []

    def f(point: np.ndarray, *, seed: int) -> float:
        seeds.append(seed)
        return sphere(point)

    minimize(f, BOX, budget=8, **OPTIONS)
    study = Study(f, BOX, False, 8, **OPTIONS)
    study.solve()
    assert seeds[:8] == seeds[8:] and len(set(seeds)) == 8


class Hill:
    """An objective in the sense of the protocol."""

    name, space, maximize, x0, optimum = "hill", BOX, True, np.array([0.25, 0.5]), 0.0

    def __call__(self, point: np.ndarray, *, seed: int | None = None) -> float:
        return negated(point)


def test_an_objective_brings_its_space_sense_and_start() -> None:
    result = maximize(Hill(), budget=10, **OPTIONS)
    assert result.history.points[0].tolist() == [0.25, 0.5]
    evaluations = list(run(Hill(), budget=10, **OPTIONS))
    assert evaluations[-1].best == result.fun  # run() takes the sense of the objective
    with pytest.raises(ValueError, match=r"there to maximize, got minimize; call lamcts\.maximize"):
        minimize(Hill(), budget=10)
    elsewhere = maximize(Hill(), Box(-0.1, 0.1, dim=2), budget=10, **OPTIONS)  # its x0 is not in there
    assert elsewhere.nfev == 10


def test_run_yields_each_evaluation_and_returns_the_result() -> None:
    result: list[Result] = []

    def outer() -> Any:
        result.append((yield from run(sphere, BOX, budget=15, **OPTIONS)))

    evaluations = list(outer())
    assert [e.count for e in evaluations] == list(range(1, 16)) == [e.trial + 1 for e in evaluations]
    assert [e.value for e in evaluations] == result[0].history.values.tolist()
    assert [e.best for e in evaluations] == result[0].history.best.tolist()
    assert [sphere(e.point) for e in evaluations] == [e.value for e in evaluations]
    assert not any(e.failed for e in evaluations)


# Stop rules -----------------------------------------------------------------------------------------------------------


def test_it_stops_at_the_target_in_the_users_sign() -> None:
    result = minimize(sphere, BOX, budget=500, target=0.05, **OPTIONS)
    assert result.status == "target" and result.message == "the target 0.05 is reached"
    assert result.fun <= 0.05 < np.delete(result.history.values, -1).min()
    mirrored = maximize(negated, BOX, budget=500, target=-0.05, **OPTIONS)
    assert mirrored.status == "target" and mirrored.nfev == result.nfev


def test_it_stops_when_patience_runs_out_and_failures_count() -> None:
    values = iter([5.0, 3.0, 4.0, math.nan, 3.0, 2.0, 9.0, math.inf, 9.0, 2.0] + [9.0] * 90)
    result = minimize(lambda p: next(values), BOX, budget=100, patience=4, **OPTIONS)
    assert (result.status, result.nfev, result.fun) == ("patience", 10, 2.0)
    assert minimize(failing, BOX, budget=100, patience=4, **OPTIONS).nfev == 4


def test_it_starts_nothing_after_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("lamcts.study.stopping.time.monotonic", lambda: now[0])

    def f(point: np.ndarray) -> float:
        now[0] += 1.0
        return sphere(point)

    result = minimize(f, BOX, budget=100, seconds=6.5, noisy=True, **OPTIONS)
    assert (result.status, result.nfev, result.message) == ("seconds", 7, "the 6.5 seconds are over")
    assert "candidates" not in result


@pytest.mark.parametrize("way", ["true", "scipy"])
def test_the_callback_sees_the_result_so_far_and_may_stop_the_run(way: str) -> None:
    counts = []

    def callback(result: Result) -> bool:
        counts.append(result.nfev)
        assert result.status == "running" and result.fun == result.history.values.min()
        if way == "scipy" and result.nfev == 7:
            raise StopIteration
        return result.nfev == 7

    result = minimize(sphere, BOX, budget=20, callback=callback, **OPTIONS)
    assert counts == list(range(1, 8)) and (result.status, result.nfev) == ("callback", 7)


def test_a_finite_space_that_is_spent_ends_the_run_with_that_message() -> None:
    space = Choice(["a", "b", "c", "d", "e"])
    result = minimize(ord, space, budget=50, batch=2, seed=0, sampler=Stroll())
    assert (result.status, result.nfev, result.x, result.fun) == ("exhausted", 5, "a", 97.0)
    assert "5 points" in result.message and result.success
    more = minimize(ord, space, budget=9, seed=0, sampler=Stroll(), repeat=True)
    assert (more.status, more.nfev) == ("budget", 9)


@pytest.fixture
def _listening() -> Iterator[None]:
    """Hear Ctrl-C, which a job in the background may have been told to ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_listening")
def test_ctrl_c_returns_what_was_found() -> None:
    calls = []

    def f(point: np.ndarray) -> float:
        calls.append(point)
        if len(calls) == 9:
            signal.raise_signal(signal.SIGINT)
        return sphere(point)

    result = minimize(f, BOX, budget=50, **OPTIONS)
    assert (result.status, result.nfev, result.success) == ("interrupted", 8, True)
    assert result.fun == result.history.values.min()
    with pytest.raises(KeyboardInterrupt):  # your own loop hears of it itself
        calls.clear()
        list(run(f, BOX, budget=50, **OPTIONS))


# Failures -------------------------------------------------------------------------------------------------------------


def test_exceptions_are_failures_with_their_message_and_the_run_goes_on() -> None:
    def f(point: np.ndarray) -> float:
        if point[0] < 0:
            raise ValueError("left half")
        return sphere(point)

    result = minimize(f, BOX, budget=30, **OPTIONS)
    left = np.array([point[0] < 0 for point in result.history.points])
    assert np.array_equal(result.history.failed, left) and 0 < left.sum() < 30
    assert set(result.history.messages.values()) == {"ValueError: left half"} and result.success


def test_a_function_that_never_works_is_warned_of_once_and_quoted_in_the_end() -> None:
    with pytest.warns(RuntimeWarning, match="first 6 evaluations all failed with: ZeroDivisionError: always") as caught:
        result = minimize(failing, BOX, budget=20, **OPTIONS)
    assert len(caught) == 1
    assert (result.nfev, result.success, result.x) == (20, False, None) and math.isnan(result.fun)
    assert result.message.endswith("all 20 evaluations failed, the first with: ZeroDivisionError: always")


def test_a_value_of_the_wrong_type_is_an_error_at_once() -> None:
    with pytest.raises(ValueError, match="expected one number, None or an exception, got tuple"):
        minimize(lambda p: (1.0, 2.0, 3.0), BOX, budget=20, **OPTIONS)


def test_one_number_in_any_coat_is_a_value() -> None:
    for coat in (int, np.float32, np.array, lambda v: np.array([v]), lambda v: np.array([[v]])):
        assert minimize(lambda p, coat=coat: coat(3), BOX, budget=2, **OPTIONS).fun == 3.0


def test_sys_exit_in_the_function_is_a_failed_evaluation_and_the_run_goes_on() -> None:
    def f(point: np.ndarray) -> float:
        if point[0] < 0:
            sys.exit("bad config")
        return sphere(point)

    result = minimize(f, BOX, budget=30, **OPTIONS)
    assert result.nfev == 30 and set(result.history.messages.values()) == {"SystemExit: bad config"}


def test_sys_exit_in_a_handler_of_the_users_ends_the_run() -> None:
    def f(point: np.ndarray) -> float:
        signal.raise_signal(signal.SIGTERM)
        return sphere(point)

    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(3))
    try:
        with pytest.raises(SystemExit, match="3"):
            minimize(f, BOX, budget=30, **OPTIONS)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_integer_beyond_all_floats_is_a_failure_and_a_tensor_with_a_gradient_a_number() -> None:
    torch = pytest.importorskip("torch")
    result = minimize(lambda p: 10**400 if p[0] < 0 else sphere(p), BOX, budget=10, **OPTIONS)
    assert set(result.history.messages.values()) == {"the value is inf"} and result.success
    weight = torch.tensor(3.0, requires_grad=True)
    assert minimize(lambda p: weight * 2, BOX, budget=2, **OPTIONS).fun == 6.0


# Noise ----------------------------------------------------------------------------------------------------------------


def test_under_noise_points_that_may_be_best_are_evaluated_again_and_a_model_of_all_values_chooses() -> None:
    evaluations = list(run(noisy, BOX, budget=100, noisy=0.3, **OPTIONS))
    result = minimize(noisy, BOX, budget=100, noisy=0.3, **OPTIONS)
    again = [e for e in evaluations if e.repeat]
    assert len(evaluations) == 100 == result.nfev and len(again) == 30
    best = result.candidates[0]
    assert result.fun == best.mean and np.array_equal(result.x, best.point)
    assert all(c.repeats for c in result.candidates[1:]) and result.history.again.sum() == 30
    most = max(result.candidates, key=lambda c: c.repeats)
    values = [e.value for e in again if np.array_equal(e.point, most.point)]
    assert 1 < most.repeats == len(set(values))  # fresh noise each time
    assert most.mean == pytest.approx(np.mean(values))
    assert most.error == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)))
    means = result.predict([c.point for c in result.candidates]).mean
    assert (np.diff(means) >= 0).all() and any(c.first == min(result.history.values) for c in result.candidates)
    assert sphere(result.x) < np.median([sphere(point) for point in result.history.points])


def test_where_there_is_no_noise_new_points_get_the_evaluations_that_were_kept(tmp_path: Any) -> None:
    path = tmp_path / "run.db"
    result = minimize(sphere, BOX, budget=60, noisy=True, journal=path, **OPTIONS)
    again = sum(c.repeats for c in result.candidates)
    assert 0 < again < 6 and result.nfev == 60 == len(result.history) and result.status == "budget"
    assert result.fun == sphere(result.x) == min(result.history.values)
    same = minimize(sphere, BOX, budget=60, noisy=True, journal=path, **OPTIONS)
    assert same.nfev == 60 and np.array_equal(same.x, result.x)


def test_outliers_do_not_mislead_the_choice() -> None:
    def tailed(point: np.ndarray, seed: int) -> float:
        rng = np.random.default_rng(seed)
        return sphere(point) + (10 * float(rng.standard_cauchy()) if rng.random() < 0.2 else 0.0)

    result = minimize(tailed, BOX, budget=80, noisy=True, **OPTIONS)
    lucky = result.history.points[int(np.argmin(result.history.values))]
    assert sphere(result.x) < 0.05 < sphere(lucky)


def test_a_longer_budget_goes_on_with_the_search_after_the_re_evaluations(tmp_path: Any) -> None:
    path = tmp_path / "run.db"
    short = minimize(noisy, BOX, budget=40, noisy=True, journal=path, **OPTIONS)
    long = minimize(noisy, BOX, budget=80, noisy=True, journal=path, **OPTIONS)
    assert (short.nfev, short.history.again.sum()) == (40, 4) and (long.nfev, long.history.again.sum()) == (80, 12)
    assert long.history.x[:40].tobytes() == short.history.x.tobytes() and not long.history.again[40:72].any()


def test_a_search_that_is_over_early_confirms_its_best_with_what_is_kept(tmp_path: Any) -> None:
    options: Any = {"budget": 60, "noisy": True, "target": -0.2, "journal": tmp_path / "run.db", **OPTIONS}
    for evaluation in run(noisy, BOX, **options):
        if evaluation.repeat == 2:
            break
    result = minimize(noisy, BOX, **options)
    assert result.status == "target" and result.history.again.sum() == 6 and result.nfev < 60
    whole = minimize(noisy, BOX, **options | {"journal": None})
    assert np.array_equal(whole.history.x, result.history.x)


def test_points_of_a_small_space_are_evaluated_again_until_the_best_is_decided() -> None:
    def level(point: Any, seed: int) -> float:
        return abs(point["n"] - 3) ** 0.5 + float(np.random.default_rng(seed).normal())

    result = minimize(level, {"n": Int(0, 7)}, budget=60, noisy=True, seed=0)
    assert result.history.again.sum() == result.nfev - 8 > 6 and result.status in ("budget", "exhausted")


def test_noise_next_to_other_goals_is_refused_by_the_optimizer_too() -> None:
    with pytest.raises(ValueError, match="noisy: expected False with several objectives, got True"):
        Optimizer(BOX, noisy=True, objectives=2)
    with pytest.raises(ValueError, match="noisy: expected False with a Fidelity, got"):
        Optimizer({"x": Float(0, 1), "n": Fidelity(1, 9)}, noisy=0.2)
    with pytest.raises(ValueError, match="noisy: expected True, False or a share"):
        Optimizer(BOX, noisy=0.9)


# Options -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"budget": 0}, ValueError, "budget: expected a whole number of at least 1, got 0"),
        ({"budget": 2.5}, ValueError, "budget: .* got 2.5"),
        ({"budget": 5, "batch": 0}, ValueError, "batch"),
        ({"budget": 5, "workers": -2}, ValueError, "workers"),
        ({"budget": 5, "patience": True}, ValueError, "patience"),
        ({"budget": 5, "seconds": -1.0}, ValueError, "seconds: expected at least 0"),
        ({"budget": 5, "target": math.nan}, ValueError, "target: expected a number"),
        ({"budget": 5, "noisy": 0.9}, ValueError, r"share of the budget in \[0, 0.5\]"),
        ({"budget": 5, "callback": 3}, ValueError, "callback"),
        ({"budget": 5, "executor": 3}, ValueError, "executor: expected a concurrent.futures executor"),
        ({"budget": 5, "journal": 3}, ValueError, "journal: expected the path"),
        ({"budget": 5, "pateince": 3}, TypeError, "unknown option 'pateince'; did you mean 'patience'"),
    ],
)
def test_bad_options_are_named_before_anything_starts(options: dict[str, Any], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        run(lambda p: pytest.fail("evaluated"), BOX, **options)


def test_a_missing_function_or_space_is_named() -> None:
    with pytest.raises(ValueError, match="expected a function of a point, got float"):
        minimize(3.0, BOX, budget=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="space: expected a space such as"):
        minimize(sphere, budget=5)


def test_the_other_spelling_of_maximize_is_refused_with_the_cure() -> None:
    class Mine:
        maximise = True

        def __call__(self, point: np.ndarray) -> float:
            return float(point.sum())

    with pytest.raises(ValueError, match="the objective Mine has an attribute 'maximise': call it 'maximize'"):
        minimize(Mine(), [(0, 1)], budget=3)
    with pytest.raises(TypeError, match="unknown option 'maximise'; did you mean 'maximize'"):
        run(Mine(), [(0, 1)], budget=3, maximise=True)
    with pytest.raises(TypeError, match=r"maximize: not here; call lamcts.maximize"):
        minimize(Mine(), [(0, 1)], budget=3, maximize=True)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_errors_of_means_near_the_largest_float_do_not_overflow() -> None:
    draws = iter(np.random.default_rng(0).uniform(1e307, 1e308, 60))
    result = minimize(lambda x: float(next(draws)), BOX, budget=60, seed=0, sampler="uniform", noisy=0.4)
    repeated = [c for c in result.candidates if c.repeats > 1]
    assert repeated and all(0 < c.error < 1e308 and 1e307 < c.mean < 1e308 for c in repeated)
