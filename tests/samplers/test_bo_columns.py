"""GP-BO where rows have several columns: losses, and excesses of constraints."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_turbo_columns import Rows, Run, hopeless, nothing, patchy, wedge

import lamcts
from lamcts import objectives
from lamcts.outcomes.hypervolume import hypervolume
from lamcts.samplers import bo
from lamcts.samplers.bo import GpBo
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces import Choice, Int, Space
from lamcts.types import Floats

BRIEF = GpBo()


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let proposals of `GpBo` be quick."""
    monkeypatch.setattr(bo, "CANDIDATES", 100)


def ends(x: Floats) -> Rows:
    """Distances from two corners of a square inside: the front is the line between."""
    return np.column_stack([((x - 0.2) ** 2).sum(1), ((x - 0.8) ** 2).sum(1)]), np.empty((len(x), 0))


def many(x: Floats) -> Rows:
    return np.column_stack([((x - at) ** 2).sum(1) for at in np.linspace(0, 1, 6)]), x[:, :1] - 0.9


def run(formula: Callable[[np.ndarray], Rows], **kwargs: Any) -> Run:
    return Run(formula, settings=BRIEF, **kwargs)


def test_the_search_looks_at_the_columns_itself() -> None:
    assert adapt_to_goals(BRIEF, run(wedge).seen) is BRIEF


def test_it_finds_the_edge_of_the_constraints_in_a_few_evaluations() -> None:
    seen = run(wedge, dim=2).go(20, 1).seen
    assert 0.5 <= seen.f[seen.feasible, 0].min() < 0.52


def test_it_fills_a_front_in_a_few_evaluations() -> None:
    seen, line = run(ends, dim=2).go(25, 1).seen, np.linspace(0.2, 0.8, 1000)
    reference = np.array([1.0, 1.0])
    largest = hypervolume(np.column_stack([2 * (line - 0.2) ** 2, 2 * (line - 0.8) ** 2]), reference)
    assert hypervolume(seen.f, reference) > 0.97 * largest


@pytest.mark.parametrize("formula", [wedge, ends, patchy, many])
def test_a_search_that_is_resumed_proposes_the_same(formula: Callable[[np.ndarray], Rows]) -> None:
    straight, broken = run(formula).go(5), run(formula)
    for _ in range(5):
        broken.go(1).resumed()
    assert np.array_equal(straight.seen.x, broken.seen.x)
    assert straight.session.state() == broken.session.state()


@pytest.mark.parametrize("formula", [patchy, nothing, hopeless, many])
def test_whatever_is_missing_or_broken_the_search_goes_on(formula: Callable[[np.ndarray], Rows]) -> None:
    assert len(run(formula).go(6).seen) == 24


def test_the_violation_falls_where_nothing_is_feasible() -> None:
    seen = run(hopeless).go(16, 1).seen
    assert np.median(seen.g[-6:]) < 1.01 < np.median(seen.g[:4])


def test_parameters_that_are_no_numbers_are_searched_too() -> None:
    seen = run(ends, space=Space([Int(0, 3), Choice(["x", "y", "z"])])).go(3).seen
    assert len(np.unique(seen.x, axis=0)) == len(seen) == 12


def test_a_batch_covers_several_valleys_where_nothing_is_feasible_yet() -> None:
    covering = 0  # seeds; a batch may be drawn into one valley
    for seed in range(100, 103):
        search = run(lambda x: (x[:, :1], 3.0 + np.sin(9 * x).sum(1)[:, None]), dim=2, seed=seed).go(2)
        x = search.session.ask(6)[0]
        gaps = np.linalg.norm(x[:, None] - x[None], axis=-1)[np.triu_indices(6, 1)]
        covering += bool(gaps.min() > 1e-4 and gaps.max() > 0.1)
    assert covering >= 2


@pytest.mark.parametrize("formula", [wedge, ends])
def test_units_do_not_change_a_proposal(formula: Callable[[np.ndarray], Rows]) -> None:
    def scaled(x: np.ndarray) -> Rows:
        f, g = formula(x)
        return 8 * f, g * 2.0 ** -np.arange(g.shape[1])

    assert np.array_equal(run(formula).go(4).seen.x, run(scaled).go(4).seen.x)


def test_a_constraint_that_is_never_broken_changes_no_proposal() -> None:
    def further(x: np.ndarray) -> Rows:
        f, g = wedge(x)
        return f, np.column_stack([-1 - x[:, 0], g])

    assert np.array_equal(run(wedge).go(4).seen.x, run(further).go(4).seen.x)


@pytest.mark.parametrize(("name", "evaluations"), [("gramacy", 30), ("bnh", 30)])
def test_it_does_better_than_random_under_constraints(name: str, evaluations: int) -> None:
    for seed in (0, 1):
        bo, uniform = (_reached(name, sampler, evaluations, seed) for sampler in (BRIEF, "uniform"))
        assert bo < uniform


def _reached(name: str, sampler: Any, evaluations: int, seed: int) -> float:
    """Return the best value, or minus the volume of the front."""
    goal: Any = objectives.make(name)
    words = {"objectives": goal.objectives, "constraints": goal.constraints}
    opt = lamcts.Optimizer(goal.space, sampler=sampler, seed=seed, **words)
    for _ in range(evaluations // 2):
        trials = opt.ask(2)
        opt.tell(trials, [goal(trial.point, seed=0) for trial in trials])
    if len(goal.objectives) > 1:
        return -opt.front.hypervolume(goal.reference)
    assert opt.best is not None and opt.best.feasible
    return float(opt.best.value)
