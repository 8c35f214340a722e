"""Turbo where rows have a loss and excesses of constraints."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK
from lamcts.outcomes.observations import Observations
from lamcts.samplers.scalarised import Scalarised, adapt_to_goals
from lamcts.samplers.turbo import Turbo
from lamcts.samplers.turbo.session import penalty, picked
from lamcts.spaces import Box, Choice, Space
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats

Rows = tuple[Floats, Floats]  # losses [k, m], excesses [k, c]
BRIEF = Turbo()


class Run:
    """A session over rows of several columns."""

    def __init__(
        self,
        formula: Callable[[Floats], Rows],
        dim: int = 3,
        settings: Any = BRIEF,
        space: Any = None,
        seed: int = 7,
    ) -> None:
        self.formula, self.settings = formula, settings
        self.space: Space = Box(0, 1, dim=dim) if space is None else space
        f, g = formula(np.full((1, self.space.dim), 0.5))
        self.seen = Observations(self.space.dim, losses=f.shape[1], constraints=g.shape[1])
        self.session = settings.start(self.region(), self.seen, np.random.default_rng(seed))

    def region(self) -> Region:
        return Region(self.space, (), self.seen.good)

    def go(self, batches: int, size: int = 4) -> "Run":
        for _ in range(batches):
            self.session.move(self.region())
            x, notes, _ = self.session.ask(size)
            f, g = self.formula(x)
            none = np.full(len(x), -1)
            kind = np.where(np.isfinite(f).all(1), OK, np.where(np.isfinite(g).any(1), CHECKED, FAILED))
            rows = self.seen.append(x, f, np.full(len(x), np.nan), none, none, g, kind)
            self.session.tell(notes, rows)
        return self

    def resumed(self) -> "Run":
        state = json.loads(json.dumps(self.session.state(), allow_nan=False))
        self.session = self.settings.restore(state, [], self.region(), self.seen)
        return self


def wedge(x: Floats) -> Rows:
    """The nearest point to the origin beyond a plane and a circle: at 0.5 on each axis, in two dimensions or more."""
    return (x**2).sum(1)[:, None], np.column_stack([1.0 - x[:, 0] - x[:, 1], (x[:, 0] - 0.5) ** 2 - 0.04])


def patchy(x: Floats) -> Rows:
    """A loss that is missing here and there, and three constraints, one never measured and one now and then."""
    f = ((x - 0.2) ** 2).sum(1)[:, None]
    f[x[:, 1] > 0.8] = np.nan
    g = np.column_stack([x[:, 0] - 0.7, np.full(len(x), np.nan), np.where(x[:, 2] > 0.5, np.nan, x[:, 2] - 0.4)])
    return f, g


def nothing(x: Floats) -> Rows:
    return np.full((len(x), 1), np.nan), np.full((len(x), 1), np.nan)


def hopeless(x: Floats) -> Rows:
    return (x**2).sum(1)[:, None], 1.0 + ((x - 0.6) ** 2).sum(1)[:, None]


def test_turbo_looks_at_the_columns_itself() -> None:
    assert adapt_to_goals(BRIEF, Run(wedge).seen) is BRIEF


def test_it_ends_nearer_under_constraints_than_by_one_number() -> None:
    best = [_best(Run(wedge, settings=own).go(20).seen) for own in (BRIEF, Scalarised(BRIEF))]
    assert best[0] < 0.51 and best[0] < best[1]


def _best(seen: Observations) -> float:
    return float(seen.f[seen.feasible, 0].min())


@pytest.mark.parametrize("formula", [wedge, patchy])
def test_a_search_that_is_resumed_proposes_the_same(formula: Callable[[Floats], Rows]) -> None:
    straight, broken = Run(formula).go(12), Run(formula)
    for _ in range(12):
        broken.go(1).resumed()
    assert np.array_equal(straight.seen.x, broken.seen.x)
    assert straight.session.state() == broken.session.state()


@pytest.mark.parametrize("formula", [patchy, nothing, hopeless])
def test_whatever_is_missing_or_broken_the_search_goes_on(formula: Callable[[Floats], Rows]) -> None:
    seen = Run(formula).go(10).seen
    assert len(seen) == 40


def test_the_violation_falls_where_nothing_is_feasible() -> None:
    seen = Run(hopeless).go(12).seen
    assert np.median(seen.g[-16:]) < 1.01 < np.median(seen.g[:6])


def test_units_do_not_change_a_proposal() -> None:
    def scaled(x: Floats) -> Rows:
        f, g = wedge(x)
        return 8 * f, g * 2.0 ** -np.arange(g.shape[1])

    assert np.array_equal(Run(wedge).go(10).seen.x, Run(scaled).go(10).seen.x)


def test_a_constraint_that_is_never_broken_changes_no_proposal() -> None:
    def further(x: Floats) -> Rows:
        f, g = wedge(x)
        return f, np.column_stack([-1 - x[:, 0], g])

    assert np.array_equal(Run(wedge).go(10).seen.x, Run(further).go(10).seen.x)


def test_the_order_of_constraints_does_not_matter_but_for_rounding() -> None:
    def turned(x: Floats) -> Rows:
        f, g = wedge(x)
        return f, g[:, ::-1]

    first, second = Run(wedge).go(4), Run(turned).go(4)
    assert np.allclose(first.seen.x, second.seen.x, atol=1e-3)


def test_a_first_feasible_row_is_a_success() -> None:
    run = Run(lambda x: ((x**2).sum(1)[:, None], 0.9 - x[:, :1]))
    run.session.progress.incumbent = 0
    none, x = np.full(2, -1), np.array([[0.1, 0.1, 0.1], [0.95, 1.0, 1.0]])
    run.seen.append(x, *run.formula(x)[:1], np.full(2, np.nan), none, none, run.formula(x)[1])
    assert run.session._improving(np.array([1])) == [True]
    run.session.progress.incumbent = 1
    assert run.session._improving(np.array([0])) == [False]


def test_among_candidates_drawn_feasible_the_best_is_picked_else_the_least_broken() -> None:
    draws = np.zeros((3, 2, 3))  # candidates, draws, columns
    draws[:, 0] = [[-2, 1, -1], [0, -1, -1], [1, -1, -1]]
    draws[:, 1] = [[0, 1, 1], [0, 2, -1], [0, 0.5, 0.5]]
    assert picked(draws) == [1, 2]


def test_parameters_that_are_no_numbers_are_searched_too() -> None:
    space = Space([Box(0, 1, dim=2), Choice(["x", "y", "z"])])
    seen = Run(wedge, space=space).go(8).seen
    assert len(np.unique(seen.x, axis=0)) == len(seen) == 32


def test_a_violation_costs_what_its_slope_says() -> None:
    values, gradient = np.array([[1.0, -2.0, 0.5]]), np.array([[[1.0, 0.0], [0.0, 3.0], [2.0, 2.0]]])
    value, way = penalty(values, gradient)
    assert value == pytest.approx([6.0]) and way[0] == pytest.approx([21.0, 20.0])
