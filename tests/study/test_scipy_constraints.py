"""Constraints as SciPy takes them, and points that are never proposed."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import lamcts

BOX = lamcts.Box(-1.0, 1.0, dim=2)
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": "uniform", "progress": False, "n_init": 8}


def sphere(point: np.ndarray) -> float:
    return float(((point - 0.3) ** 2).sum())


def product(point: np.ndarray, factor: float = 1.0) -> float:
    return factor * point[0] * point[1]


def both(point: np.ndarray) -> np.ndarray:
    return np.array([point.sum(), point[0] - point[1]])


def test_a_function_is_called_at_each_point_and_its_bounds_are_constraints() -> None:
    held = [NonlinearConstraint(product, -0.1, 0.2), {"type": "ineq", "fun": product, "args": (-1.0,)}, "sum <= 1"]
    f = lambda p: {"value": sphere(p), "sum": p.sum()}  # noqa: E731
    history = lamcts.minimize(f, BOX, budget=30, constraints=held, **OPTIONS).history
    assert list(map(str, history.goals.constraints)) == ["sum <= 1", "c1 >= -0.1", "c1 <= 0.2", "c2 >= 0"]
    z = np.array([product(point) for point in history.points])
    total = np.array([point.sum() for point in history.points])
    np.testing.assert_allclose(history.constraints, np.column_stack([total - 1, -0.1 - z, z - 0.2, z]))
    assert np.array_equal(history.feasible, (z >= -0.1) & (z <= 0) & (total <= 1)) and history.feasible.any()


def test_several_numbers_have_names_of_their_own_and_an_equality_a_tolerance() -> None:
    for low, high in ((-np.inf, [0.5, np.inf]), ([0, 0], [0, 0.2]), (-1, 1)):
        history = lamcts.minimize(
            sphere, BOX, budget=10, constraints=NonlinearConstraint(both, low, high), **OPTIONS
        ).history
        words = list(map(str, history.goals.constraints))
        assert words in (
            ["c1[0] <= 0.5"],
            ["c1[0] == 0 +- 0.0001", "c1[1] >= 0", "c1[1] <= 0.2"],
            ["c1[0] >= -1", "c1[0] <= 1", "c1[1] >= -1", "c1[1] <= 1"],
        )
        assert np.isfinite(history.constraints).all()
    equal = lamcts.minimize(sphere, BOX, budget=5, constraints={"type": "eq", "fun": product}, **OPTIONS).history
    z = np.array([product(point) for point in equal.points])
    np.testing.assert_allclose(equal.constraints[:, 0], np.abs(z) - 1e-4)


@pytest.mark.parametrize("how", [{"check_first": True}, {"keep": True}], ids=str)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_point_that_breaks_one_is_checked_and_not_run_where_that_is_wanted(how: dict, workers: int) -> None:
    held = NonlinearConstraint(product, 0, np.inf, keep_feasible="keep" in how)
    given = {name: value for name, value in how.items() if name != "keep"}
    history = lamcts.minimize(sphere, BOX, budget=12, constraints=held, workers=workers, **given, **OPTIONS).history
    z = np.array([product(point) for point in history.points])
    assert np.array_equal(history.checked, z < 0) and 0 < history.checked.sum() < 12
    assert np.array_equal(np.isnan(history.values), z < 0) and not history.failed.any()


def test_the_function_is_run_all_the_same_where_nobody_says_otherwise_and_its_failure_keeps_the_numbers() -> None:
    def f(point: np.ndarray) -> float:
        if point[0] < 0:
            raise ArithmeticError("left")
        return sphere(point)

    history = lamcts.minimize(f, BOX, budget=12, constraints=NonlinearConstraint(product, 0, 1), **OPTIONS).history
    left = np.array([point[0] < 0 for point in history.points])
    assert np.array_equal(history.failed, left) and left.any() and np.isfinite(history.constraints).all()
    assert np.isfinite(history.values[~left]).all() and (history.constraints[~left] > 0).any()


def test_a_constraint_that_raises_is_a_failed_evaluation() -> None:
    def broken(point: np.ndarray) -> float:
        if point[0] < 0:
            raise ArithmeticError("left")
        return 0.0

    held = NonlinearConstraint(broken, [0.0], [1.0])
    history = lamcts.minimize(sphere, BOX, budget=12, constraints=held, **OPTIONS).history
    assert set(history.messages.values()) == {"ArithmeticError: left"} and not history.failed.all()


@pytest.mark.parametrize("sampler", ["auto", "turbo", "coordinate", "cma", "uniform"])
def test_points_that_break_a_linear_one_or_a_rule_are_never_proposed(sampler: str) -> None:
    rules = {
        "constraints": [LinearConstraint([[1, 1]], -np.inf, 0.5), Bounds([-0.8, -1], [1, 1])],
        "valid": lambda point: point[1] > point[0] - 1,
    }
    given = OPTIONS | {"sampler": sampler}
    history = lamcts.minimize(sphere, BOX, budget=60, **rules, **given).history
    x = np.array(list(history.points))
    assert len(x) == 60 and (x.sum(1) <= 0.5 + 1e-9).all() and (x[:, 0] >= -0.8).all() and (x[:, 1] > x[:, 0] - 1).all()
    assert history.goals.plain and history.best[-1] < 0.05  # the minimum is (0.25, 0.25), at the edge


def test_a_rule_works_for_points_with_names_and_the_design_is_full() -> None:
    space = lamcts.Space({"a": lamcts.Int(1, 8), "b": lamcts.Choice(["x", "y"])})
    rule = lambda point: point["a"] % 2 == 0 or point["b"] == "y"  # noqa: E731
    result = lamcts.minimize(lambda point: point["a"], space, budget=40, valid=rule, seed=0, progress=False)
    assert result.status == "exhausted" and result.nfev == 12
    assert all(rule(point) for point in result.history.points)
    opt = lamcts.Optimizer(lamcts.Valid(lamcts.Box(0, 1, dim=2), lambda point: point[0] < 0.1), n_init=10, seed=0)
    assert all(trial.point[0] < 0.1 for trial in opt.ask(10)) and opt.design.fresh(opt.seen, 0, 10)[1] == 10


def test_a_journal_goes_on_with_the_rules_it_began_with_and_with_no_others(tmp_path: Any) -> None:
    def run(budget: int, bound: float, journal: str) -> Any:
        held = [LinearConstraint([[1, 1]], -np.inf, bound), NonlinearConstraint(product, 0, 1)]
        return lamcts.minimize(
            sphere, BOX, budget=budget, constraints=held, journal=tmp_path / journal, check_first=True, **OPTIONS
        )

    run(7, 0.5, "a.db")
    assert repr(run(20, 0.5, "a.db")) == repr(run(20, 0.5, "b.db"))
    with pytest.raises(lamcts.JournalError, match=r"space\.rule is 'Within.*0\.5.* there and 'Within"):
        run(20, 0.25, "a.db")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"valid": lambda point: False}, "valid: expected some valid points, got none among"),
        ({"valid": 3}, "valid: expected a function of a point, got 3"),
        ({"constraints": LinearConstraint([[1, 1, 1]], 0, 1)}, "expects points that are arrays of 3 numbers"),
        ({"constraints": LinearConstraint([[1, 1]], 5, 6)}, "valid: expected some valid points, got none among"),
        ({"constraints": {"type": "less", "fun": product}}, "expected {'type': 'ineq' or 'eq', 'fun': function"),
        ({"constraints": {"type": "eq"}}, "expected {'type': 'ineq' or 'eq', 'fun': function"),
        ({"constraints": {"type": "eq", "fun": 3}}, "expected a function as 'fun', got 3"),
        ({"constraints": NonlinearConstraint(lambda point: 1 / 0, 0, 1)}, "c1 was called at .* raised ZeroDivisionErr"),
        ({"constraints": [NonlinearConstraint(product, 0, 1), "c1 <= 3"]}, "'c1' is the name of a constraint that is"),
        ({"constraints": [NonlinearConstraint(product, 0, 1), 2]}, "expected texts or a number of them, got both"),
        ({"constraints": 0.5}, "constraints: expected texts such as"),
        ({"check_first": True}, "check_first: expected constraints that are functions, got none"),
        ({"valid": lambda point: point[0] > 0, "x0": [-0.5, 0]}, "x0: expected points that are valid"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        lamcts.minimize(lambda point: pytest.fail("it started"), BOX, budget=10, **options)
