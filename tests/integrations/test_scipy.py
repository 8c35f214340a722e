"""Lamcts as SciPy's users call a global optimiser."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeResult, OptimizeWarning

import lamcts
import lamcts.scipy

BOUNDS = [(-5, 10)] * 3
FAST: dict[str, Any] = {"rng": 0, "sampler": "uniform"}


def bowl(x: np.ndarray, shift: float = 1.0) -> float:
    return float(((x - shift) ** 2).sum())


def test_it_returns_a_true_result_and_the_arguments_arrive() -> None:
    result = lamcts.scipy.minimize(bowl, BOUNDS, args=(2.0,), maxfev=120, rng=0)
    assert type(result) is OptimizeResult and isinstance(result.x, np.ndarray) and result.x.shape == (3,)
    assert result.fun == bowl(result.x, 2.0) < 0.1 and result.nfev == 120 and len(result.history) == 120
    single = lamcts.scipy.minimize(bowl, BOUNDS, args=2.0, maxfev=12, **FAST)
    assert single.fun == bowl(single.x, 2.0)


def test_a_used_up_budget_is_no_success_as_in_scipy_and_an_end_before_it_is() -> None:
    used = lamcts.scipy.minimize(bowl, BOUNDS, maxfev=12, **FAST)
    theirs = optimize.minimize(bowl, [9, 9, 9], method="Nelder-Mead", options={"maxfev": 12})
    assert (used.success, used.status) == (theirs.success, theirs.status) == (False, 1)
    assert "budget of 12" in used.message
    assert lamcts.scipy.minimize(bowl, BOUNDS, maxfev=50, target=1e4, **FAST).status == 0
    ended = lamcts.scipy.minimize(bowl, BOUNDS, maxfev=500, patience=20, **FAST)
    assert (ended.success, ended.status) == (True, 0) and ended.nfev < 500
    late = lamcts.scipy.minimize(bowl, BOUNDS, maxfev=50, seconds=0, **FAST)
    assert (late.success, late.status, late.nfev) == (False, 3, 0)


def test_nothing_found_is_an_array_of_nan_and_says_so() -> None:
    with pytest.warns(RuntimeWarning, match="all failed"):
        result = lamcts.scipy.minimize(lambda x: np.nan, BOUNDS, maxfev=11, **FAST)
    assert np.isnan(result.x).all() and result.x.shape == (3,) and np.isnan(result.fun)
    assert (result.success, result.status) == (False, 3) and "failed" in result.message


@pytest.mark.parametrize(
    "bounds", [BOUNDS, np.array(BOUNDS), Bounds([-5] * 3, [10] * 3)], ids=lambda b: type(b).__name__
)
def test_bounds_of_each_kind_are_the_same(bounds: Any) -> None:
    expected = lamcts.minimize(bowl, BOUNDS, budget=9, seed=0, sampler="uniform")
    assert np.array_equal(lamcts.scipy.minimize(bowl, bounds, maxfev=9, **FAST).history.x, expected.history.x)


def test_whole_numbers_and_equal_bounds_are_kept() -> None:
    seen: list[np.ndarray] = []

    def f(x: np.ndarray) -> float:
        seen.append(x)
        return bowl(x)

    held = {"constraints": [NonlinearConstraint(lambda x: x.sum(), -np.inf, 20), LinearConstraint([1, 0, 0], 0, 9)]}
    bounds = [(-3.5, 7.5), (0, 1), (2, 2)]
    result = lamcts.scipy.minimize(
        f, bounds, integrality=[True, False, False], maxfev=15, x0=[1.0, 0.5, 2], **held, **FAST
    )
    points = np.array(seen)
    assert points.dtype == float and (points[:, 0] == np.round(points[:, 0])).all() and (points[:, 2] == 2).all()
    assert points[0].tolist() == [1.0, 0.5, 2.0] and (points[:, 0] >= 0).all() and len(set(points[:, 1])) > 5
    assert result.maxcv == 0 and result.constr_violation == 0
    with pytest.raises(ValueError, match="a whole number between them"):
        lamcts.scipy.minimize(f, [(0.2, 0.8)], integrality=True, maxfev=5)


def test_constraints_of_each_kind_are_kept_or_said_to_be_broken() -> None:
    sphere = NonlinearConstraint(lambda x: (x**2).sum(), 4, np.inf)
    result = lamcts.scipy.minimize(bowl, BOUNDS, maxfev=80, rng=0, constraints=sphere)
    assert (result.x**2).sum() >= 4 and result.maxcv == 0
    margin = {"type": "ineq", "fun": lambda x, least: x[0] - least, "args": (20,)}
    broken = lamcts.scipy.minimize(bowl, BOUNDS, maxfev=20, constraints=margin, **FAST)
    assert (broken.success, broken.status) == (False, 4) and broken.maxcv == pytest.approx(20 - broken.x[0])


def test_callbacks_of_both_kinds_see_the_best_and_may_stop() -> None:
    best: list[np.ndarray] = []
    lamcts.scipy.minimize(bowl, BOUNDS, maxfev=12, callback=best.append, **FAST)
    values = [bowl(x) for x in best]
    assert len(best) == 12 and values == sorted(values, reverse=True)

    def stop(intermediate_result: OptimizeResult) -> None:
        assert intermediate_result.fun == bowl(intermediate_result.x)
        if intermediate_result.nfev == 5:
            raise StopIteration

    result = lamcts.scipy.minimize(bowl, BOUNDS, maxfev=12, callback=stop, **FAST)
    assert (result.nfev, result.success, result.status) == (5, False, 99)
    assert lamcts.scipy.minimize(bowl, BOUNDS, maxfev=12, callback=lambda x: True, **FAST).nfev == 1


def test_a_vectorized_function_gets_columns() -> None:
    shapes: list[tuple[int, ...]] = []

    def f(x: np.ndarray) -> np.ndarray:
        shapes.append(x.shape)
        return ((x - 1) ** 2).sum(axis=0)

    result = lamcts.scipy.minimize(f, BOUNDS, maxfev=25, vectorized=True, **FAST)
    assert shapes == [(3, 10), (3, 10), (3, 5)] and result.fun == pytest.approx(bowl(result.x))


@pytest.mark.dear
def test_workers_may_be_a_number_or_something_like_map() -> None:
    assert lamcts.scipy.minimize(bowl, BOUNDS, maxfev=6, workers=2, **FAST).nfev == 6
    with ThreadPoolExecutor(2) as pool:

        def f(x: np.ndarray) -> float:
            return bowl(x) if x[0] > 0 else 1 / 0

        result = lamcts.scipy.minimize(f, BOUNDS, maxfev=12, workers=pool.map, batch=4, **FAST)
    points = np.array(list(result.history.points))
    assert result.nfev == 12 and result.history.failed.tolist() == (points[:, 0] <= 0).tolist()


def test_one_seed_is_one_run_wherever_it_comes_from() -> None:
    def points(**rng: Any) -> bytes:
        return lamcts.scipy.minimize(bowl, BOUNDS, maxfev=5, sampler="uniform", **rng).history.x.tobytes()

    assert points(rng=3) == points(seed=3) == points(rng=np.int64(3)) != points(rng=4)
    assert points(rng=np.random.default_rng(3)) == points(rng=np.random.default_rng(3)) != points(rng=3)
    assert points(rng=np.random.RandomState(3)) == points(rng=np.random.RandomState(3))


def test_the_function_may_change_its_array() -> None:
    def f(x: np.ndarray) -> float:
        x -= 1
        return float((x**2).sum())

    result = lamcts.scipy.minimize(f, BOUNDS, maxfev=9, **FAST)
    assert result.fun == pytest.approx(bowl(result.x))


def test_scipys_own_minimize_takes_the_method() -> None:
    options = {"maxfev": 60, "rng": 0}
    held = {"type": "ineq", "fun": lambda x: x[0] - 2}
    result = optimize.minimize(
        bowl, [9, 9, 9], args=(0.5,), method=lamcts.scipy.method, bounds=BOUNDS, constraints=held, options=options
    )
    assert type(result) is OptimizeResult and result.nfev == 60 and result.x[0] >= 2
    assert result.history.points[0].tolist() == [9, 9, 9] and result.fun == bowl(result.x, 0.5) < 60
    few = optimize.minimize(
        bowl, [9, 9, 9], method=lamcts.scipy.method, bounds=Bounds(-5, [10] * 3), options={"maxiter": 4, "rng": 0}
    )
    assert few.nfev == 4


def test_what_the_method_cannot_use_is_a_warning_and_what_it_lacks_an_error() -> None:
    given: dict[str, Any] = {"method": lamcts.scipy.method, "options": {"maxfev": 3, "rng": 0}}
    with pytest.raises(ValueError, match="bounds: expected"):
        optimize.minimize(bowl, [0, 0], **given)
    with pytest.warns(RuntimeWarning, match="does not use jac"):
        optimize.minimize(bowl, [0, 0], jac=lambda x: 2 * x, bounds=[(-1, 1)] * 2, **given)
    with pytest.warns(RuntimeWarning, match="does not use tol"):
        optimize.minimize(bowl, [0, 0], tol=1e-3, bounds=[(-1, 1)] * 2, **given)
    with pytest.warns(OptimizeWarning, match="not within the specified bounds"):
        assert optimize.minimize(bowl, [0, 5], bounds=[(-1, 1)] * 2, **given).history.points[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"bounds": [(0, np.inf)]}, ValueError, "bounds: expected finite ones"),
        ({"bounds": [(1, 0)]}, ValueError, "low <= high"),
        ({"bounds": []}, ValueError, "bounds: expected"),
        ({"bounds": [1, 2]}, ValueError, r"bounds: expected \(low, high\) pairs or Bounds, got \[1, 2\]"),
        ({"bounds": [(0, 1)], "x0": [2]}, ValueError, "x0: expected 1 numbers within the bounds"),
        ({"bounds": [(0, 1)], "budget": 5}, TypeError, "here it is called 'maxfev'"),
        ({"bounds": [(0, 1)], "popsize": 5}, TypeError, "unknown option 'popsize'; there is no population"),
    ],
)
def test_mistakes_are_told(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        lamcts.scipy.minimize(bowl, **{"maxfev": 3, **given})


@pytest.mark.parametrize(
    "pair", [Bounds(-1, 2), Bounds([-1], 2), Bounds([-1], [2], True), [(-1, 2)], np.array([[-1, 2]])]
)
def test_one_pair_of_bounds_holds_for_all_numbers_of_x0_as_in_scipy(pair: Any) -> None:
    start = np.full(3, 0.1)
    theirs = optimize.minimize(bowl, start, bounds=pair, options={"maxiter": 2})
    expected = lamcts.scipy.minimize(bowl, [(-1, 2)] * 3, x0=start, maxfev=5, integrality=[True, False, True], **FAST)
    ours = lamcts.scipy.minimize(bowl, pair, x0=start, maxfev=5, integrality=[True, False, True], **FAST)
    assert theirs.x.shape == ours.x.shape and np.array_equal(ours.history.x, expected.history.x)
    inside = optimize.minimize(bowl, start, bounds=pair, method=lamcts.scipy.method, options={"maxfev": 5, **FAST})
    assert inside.x.shape == (3,)
    with pytest.raises(ValueError, match="x0: expected 2 numbers"):
        lamcts.scipy.minimize(bowl, Bounds([-1, -1], 2), x0=start, maxfev=5)


@pytest.mark.parametrize("ends", [(0.2, 0.8), ([0.2], [0.8]), ([0.2], 0.8), ([0.2] * 2, 0.8), (0.2, np.array([0.8]))])
def test_ends_of_constraints_are_broadcast_as_in_scipy(ends: Any) -> None:
    def rows(*ends: Any) -> Any:
        held = [NonlinearConstraint(lambda x: x[:2], *ends), LinearConstraint(np.eye(3)[1:], *ends)]
        return lamcts.scipy.minimize(bowl, [(0, 1)] * 3, constraints=held, maxfev=8, **FAST).history.constraints

    theirs = optimize.minimize(bowl, [0.5] * 3, constraints=NonlinearConstraint(lambda x: x[:2], *ends), method="SLSQP")
    assert np.all((theirs.x[:2] > 0.199) & (theirs.x[:2] < 0.801))
    assert np.array_equal(rows(*ends), rows([0.2] * 2, [0.8] * 2)) and rows(*ends).shape == (8, 4)


def test_a_function_of_one_number_with_ends_in_a_list_may_fail_at_the_start() -> None:
    held = NonlinearConstraint(lambda x: x[0] if x[1] > 2 else 1 / 0, [0], [8])
    assert lamcts.scipy.minimize(bowl, BOUNDS, x0=[0.5] * 3, constraints=held, maxfev=20, **FAST).x[1] > 2
