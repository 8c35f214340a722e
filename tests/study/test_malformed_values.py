"""Values that are none, or of another form: what fails an evaluation, what ends a run, and what is left out."""

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.study.reporting import Reporter

SPACE = {"x": lamcts.Float(0, 1)}


def answering(values: dict[int, Any], otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that gives some values at the calls of these numbers."""
    calls: list[Any] = []

    def f(point: Any) -> Any:
        calls.append(point)
        return values.get(len(calls) - 1, otherwise(point))

    return f


@pytest.mark.parametrize("lone", [math.nan, math.inf, np.float32("nan"), [math.nan], np.ma.masked, np.array(-math.inf)])
def test_a_single_nan_of_several_objectives_is_a_failed_evaluation(lone: Any) -> None:
    f = answering({0: lone, 3: lamcts.Measured(math.nan)}, lambda point: (point["x"], -point["x"]))
    result = lamcts.minimize(f, SPACE, budget=12, seed=0, objectives=["a", "b"])
    assert result.nfev == 12 and np.flatnonzero(result.history.failed).tolist() == [0, 3]
    opt = lamcts.Optimizer(SPACE, objectives=["a"], constraints=["c <= 1"])
    opt.tell(opt.ask()[0], lone)
    assert "value is" in opt.failures[0]


def test_a_masked_value_is_no_zero() -> None:
    result = lamcts.minimize(answering({4: np.ma.masked}, lambda point: 5 + point["x"]), SPACE, budget=12, seed=0)
    assert result.fun >= 5 and np.flatnonzero(result.history.failed).tolist() == [4]


@pytest.mark.parametrize("malformed", ["text", [1.0, 2.0, 3.0], {"status": "fail"}, {"a": 1, "b": 2}, {1.5}])
@pytest.mark.parametrize("goals", [{}, {"objectives": ["a", "b"]}])
def test_a_malformed_value_ends_a_run_at_its_first_evaluation_only(malformed: Any, goals: Any, tmp_path: Any) -> None:
    if goals and malformed == {"a": 1, "b": 2}:
        malformed = {"a": 1}
    good = (lambda point: (point["x"], -point["x"])) if goals else (lambda point: point["x"])
    options = {"budget": 12, "seed": 0, "journal": tmp_path / "run.db", **goals}
    with pytest.raises(ValueError, match="expected"):
        lamcts.minimize(answering({0: malformed}, good), SPACE, **options)
    result = lamcts.minimize(answering({5: malformed}, good), SPACE, **options)  # the same run, and another function
    assert result.nfev == 12 and np.flatnonzero(result.history.failed).tolist() == [5]
    assert "expected" in result.history.messages[5]


def test_a_malformed_value_of_a_re_evaluation_fails_it() -> None:
    calls = []

    def f(point: Any) -> Any:
        calls.append(point["x"])
        return "text" if calls.count(point["x"]) > 1 else point["x"] + 0.1 * math.sin(1e3 * len(calls))

    result = lamcts.minimize(f, SPACE, budget=40, seed=0, noisy=0.2)
    assert result.nfev == 40 and result.success and max(map(calls.count, calls)) > 1


CURVE = [3, 2, 1]


@pytest.mark.parametrize("metric", [CURVE, {"a": 1}, np.zeros(3), np.datetime64("2020"), object()])
def test_a_metric_that_cannot_be_stored_is_left_out_and_costs_nothing(metric: Any) -> None:
    def noting(point: Any, trial: Any) -> float:
        trial.note(odd=metric, good=1)
        return float(point["x"])

    def returning(point: Any) -> Any:
        return {"value": point["x"], "odd": metric, "good": 1}

    for f in (noting, returning):
        with pytest.warns(RuntimeWarning, match="for 'odd', got .* it is not stored"):
            result = lamcts.minimize(f, SPACE, budget=12, seed=0)
        assert result.nfev == 12 and not result.history.failed.any()
        assert all(row["good"] == 1 and "odd" not in row for row in result.rows())


def test_one_warning_names_a_metric_that_is_left_out() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        lamcts.minimize(
            lambda point: {"value": point["x"], "odd": CURVE[: 1 + int(3 * point["x"])]}, SPACE, budget=12, seed=0
        )
    assert len([each for each in caught if "'odd'" in str(each.message)]) == 1


def test_an_infinity_in_a_report_is_the_worst_value() -> None:
    trial = Reporter(0)
    for step, value in enumerate([math.inf, -math.inf, 1.0, np.ma.masked]):
        trial.report(step, value)
    assert repr(trial.reports) == "[(0, nan), (1, nan), (2, 1.0), (3, nan)]"
    several = Reporter(0, names=["a", "b"])
    several.report(1, [math.inf, 2.0])
    several.report(2, math.nan)
    assert repr(several.reports) == "[(1, (nan, 2.0)), (2, (nan, nan))]"


def test_steps_are_whole_numbers_of_any_type_and_a_repeated_one_is_ignored() -> None:
    trial = Reporter(0)
    for step in (0.0, np.int64(1), np.array([2])):
        trial.report(step, 1.0)
    for step in (2, 1):
        with pytest.warns(RuntimeWarning, match="expected a step after 2"):
            trial.report(step, 5.0)
    assert trial.reports == [(0, 1.0), (1, 1.0), (2, 1.0)]
    for wrong in (1.5, True, "3", math.nan, -1):
        with pytest.raises(ValueError, match="a whole number of at least 0 as step"):
            trial.report(wrong, 1.0)  # type: ignore[arg-type]


def seeded(point: Any, seed: int = 5, trial: Any = None) -> float:
    assert trial is not None
    return seed + float(point["x"])


class Seeded:
    def __call__(self, point: Any, *, seed: int = 5) -> float:
        return seed + float(point["x"])


@pytest.mark.parametrize(
    "f", [seeded, functools.partial(seeded, seed=5), Seeded(), functools.partial(Seeded(), seed=5)]
)
def test_a_value_that_the_user_has_bound_is_not_replaced(f: Any) -> None:
    result = lamcts.minimize(f, SPACE, budget=12, seed=0)
    assert all(5 <= value <= 6 for value in result.history.values)


def test_a_parameter_without_a_value_is_filled() -> None:
    def open_seed(point: Any, seed: int) -> float:
        return float(seed)

    def no_seed(point: Any, seed: int | None = None) -> float:
        return math.nan if seed is None else float(seed)

    for f in (open_seed, no_seed, functools.partial(no_seed)):
        assert len({*lamcts.minimize(f, SPACE, budget=12, seed=0).history.values}) == 12
    bound = functools.partial(no_seed, seed=None)
    assert lamcts.minimize(lambda point: repr(bound(point)) == "nan", SPACE, budget=3, seed=0).fun == 1.0
    with pytest.warns(RuntimeWarning, match="all failed with: the value is nan"):
        lamcts.minimize(bound, SPACE, budget=12, seed=0)


@pytest.mark.parametrize("whole", [np.int64, np.int32, np.uint8])
def test_numbers_of_numpy_are_settings_as_those_of_python(whole: Any, tmp_path: Any) -> None:
    options = {"patience": whole(20), "batch": whole(2), "give_up": whole(9), "n_init": whole(3), "workers": whole(1)}
    result = lamcts.minimize(lambda p: p["x"], SPACE, budget=whole(8), seed=whole(0), journal=tmp_path / "a", **options)
    assert result.message == "the budget of 8 evaluations is used up"
    words = {"seconds": np.float32(100), "target": np.float64(5), "timeout": whole(60), "noisy": np.float32(0.1)}
    assert lamcts.maximize(lambda p: p["x"], SPACE, budget=whole(20), seed=0, **words).nfev == 20
    fidelity = SPACE | {"epochs": lamcts.Fidelity(whole(1), whole(9))}
    assert lamcts.minimize(lambda p: p["x"] + 1 / p["epochs"], fidelity, budget=whole(4), seed=0).cost <= 4


def test_a_result_with_classes_and_objects_as_options_is_json() -> None:
    class Rows:
        rows = signature = tolist = 3

    options = lamcts.Choice([np.float32, Rows, Rows(), len])
    result = lamcts.minimize(lambda p: p["x"], SPACE | {"kind": options}, budget=12, seed=0)
    assert {type(row["kind"]) for row in result.to_dict()["history"]} == {str}
