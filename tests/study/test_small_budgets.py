"""Small budgets: how many evaluations a design may take, and the warning where no model comes after it."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamcts import load, minimize
from lamcts.errors import JournalError
from lamcts.spaces import Bool, Box, Choice, Int, Space
from lamcts.study import Study

BOX = Box(0.0, 1.0, dim=3)
MIXED = Space([Choice(list("abc")), Bool(), Int(0, 9), Int(0, 9)])


def bowl(point: Any) -> float:
    return float(np.square(np.asarray(point) - 0.3).sum())


def mixed(point: Any) -> float:
    return float("abc".index(point[0]) + point[1] + abs(point[2] - 4) + abs(point[3] - 7))


def design(budget: int, f: Any = bowl, space: Any = BOX, **options: Any) -> int:
    """Return how many points the initial design of a run has."""
    study = Study(f, space, False, budget, **{"seed": 0, "progress": False, "callback": lambda _: True, **options})
    study.solve()
    return study.optimizer.n_init


# The design ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "n"), [(5, 1), (8, 2), (20, 5), (39, 9), (40, 10), (400, 10)])
def test_a_design_of_no_given_size_takes_a_quarter_of_the_budget_at_most(budget: int, n: int) -> None:
    assert design(budget, sampler="turbo") == n
    assert design(budget, mixed, MIXED) == min(n, 8)
    assert design(budget) == 1


def test_a_size_and_points_that_are_given_are_kept() -> None:
    assert design(8, sampler="turbo", n_init=7) == 7
    assert design(8, sampler="turbo", x0=[[0.1] * 3, [0.2] * 3, [0.4] * 3]) == 3


@pytest.mark.parametrize(
    ("f", "space", "options"), [(bowl, BOX, {}), (bowl, BOX, {"sampler": "turbo"}), (mixed, MIXED, {})]
)
def test_a_journal_goes_on_with_its_own_design_whatever_the_budget(
    tmp_path: Path, f: Any, space: Any, options: dict[str, Any]
) -> None:
    given: dict[str, Any] = {"seed": 0, "progress": False, **options}
    whole = minimize(f, space, budget=16, **given)
    calls = iter(range(5))
    stop: dict[str, Any] = {"callback": lambda _: next(calls) == 2}
    minimize(f, space, budget=16, journal=tmp_path / "run.db", **given, **stop)
    again = minimize(f, space, budget=16, journal=tmp_path / "run.db", **given)
    assert again.history.x.tobytes() == whole.history.x.tobytes()
    longer = minimize(f, space, budget=30, journal=tmp_path / "run.db", **given)
    assert longer.history.x[:16].tobytes() == whole.history.x.tobytes() and len(longer.history.x) == 30
    again = minimize(f, space, budget=12, journal=tmp_path / "run.db", **given)
    assert again.history.x.tobytes() == longer.history.x.tobytes()
    assert load(tmp_path / "run.db").history.x.tobytes() == longer.history.x.tobytes()


def test_another_size_than_that_of_the_journal_is_refused(tmp_path: Path) -> None:
    given: dict[str, Any] = {"seed": 0, "progress": False, "journal": tmp_path / "run.db", "sampler": "turbo"}
    minimize(bowl, BOX, budget=12, **given)
    with pytest.raises(JournalError, match=r"design.n_init is 3 there and 9 here"):
        minimize(bowl, BOX, budget=12, n_init=9, **given)


# The warning --------------------------------------------------------------------------------------------------------


def warned(budget: int, f: Any = bowl, space: Any = BOX, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        minimize(f, space, budget=budget, seed=0, progress=False, **options)
    return [str(one.message) for one in caught if issubclass(one.category, UserWarning)]


def test_a_budget_too_small_for_a_model_is_warned_of_once_with_the_least_that_is_enough() -> None:
    (text,) = warned(4)
    assert text == (
        "budget: expected at least 5 evaluations, got 4: a model of 3 parameters needs 5; "
        "raise the budget, or give some parameters one value (fix=)"
    )
    assert not warned(5) and not warned(4, fix={0: 0.5})


def test_an_initial_design_that_takes_the_whole_budget_is_warned_of() -> None:
    (text,) = warned(12, n_init=12)
    assert text == (
        "n_init: expected fewer than the budget of 12 evaluations, got 12: the initial design is all of the run; "
        "leave it out for at most a quarter of the budget"
    )
    points = [[0.05 * i] * 3 for i in range(12)]
    assert not warned(12, n_init=11) and not warned(12) and not warned(12, x0=points)
    assert not warned(6, lambda point: float(len(point)), Choice(["a", "bc", "d", "ef"]), n_init=8)


def test_in_more_than_40_dimensions_the_model_needs_no_more() -> None:
    wide = [(0, 1)] * 60
    assert "a model of 60 parameters needs 42" in warned(41, space=wide)[0] and not warned(42, space=wide)


def test_known_results_count_and_a_space_of_few_points_needs_no_more_than_these() -> None:
    points = [[0.1, 0.2, 0.3], [0.5, 0.2, 0.7]]
    assert not warned(3, known=[(point, bowl(point)) for point in points])
    (text,) = warned(2, known=[(point, bowl(point)) for point in points])
    assert "at least 3 evaluations, got 2" in text
    assert not warned(2, lambda point: float(point), Bool())


def test_a_run_that_goes_on_is_not_warned_of(tmp_path: Path) -> None:
    assert len(warned(3, journal=tmp_path / "run.db")) == 1
    assert not warned(4, journal=tmp_path / "run.db")
