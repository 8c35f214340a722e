"""Bounds of a mixture's ingredients: valid amounts, projection, uniform draws, refusals, searches, figures, text."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, ks_2samp

import lamcts
from lamcts import plot
from lamcts.cli.parameters import member_of
from lamcts.spaces import Simplex
from lamcts.spaces.serialization import from_json, from_signature, to_json

drawn = settings(max_examples=80, deadline=None, derandomize=True)


@st.composite
def bounded(draw: Any) -> Simplex:
    """Return a mixture that is made around one of its mixtures, so that bounds are feasible and often tight."""
    n, whole = draw(st.integers(2, 8)), draw(st.booleans())
    inside = np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(lambda each: sum(each) > 1)))
    low = inside - np.minimum(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), inside)
    high = inside + np.array(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    unit = draw(st.sampled_from([1.0, 0.1, 5.0, 1e-3]))
    total = round(float(inside.sum()) * unit, 9)
    try:
        return Simplex(n, total, step=unit if whole else None, low=(low * unit).tolist(), high=(high * unit).tolist())
    except ValueError:  # one mixture alone is within the bounds
        return Simplex(n, total, step=unit if whole else None, high=total * 0.75 if not whole else None)


def amounts_of(space: Simplex, x: Any) -> Any:
    points = space.decode_many(x)
    return np.array([[*point.values()] if isinstance(point, dict) else point for point in points])


def check_within(space: Simplex, amounts: Any) -> None:
    low, high = (0.0 if space.low is None else space.low), (space.total if space.high is None else space.high)
    assert (amounts >= low).all() and (amounts <= high).all()
    assert np.abs(amounts.sum(1) - space.total).max() <= 1e-12 * space.total
    if space.step is not None:
        assert np.abs(amounts / space.step - np.round(amounts / space.step)).max() <= 1e-6


@drawn
@given(bounded(), st.integers(0, 2**32))
def test_draws_projections_and_moves_keep_bounds_and_sums_and_come_back(space: Simplex, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = space.sample(20, rng)
    moved = np.vstack([space.random_neighbours(x, rng), *[space.neighbours(row, rng) for row in x[:3]]])
    wild = np.vstack([rng.random((10, space.dim)), rng.normal(0.3, 2.0, (10, space.dim)), 1e9 * x[:3], x[:3] - 1e9])
    for rows in (x, moved, space.snap(wild)):
        assert np.array_equal(space.snap(rows), rows) and rows.min() >= 0 and rows.max() <= 1
        assert np.abs(rows.sum(1) - 1).max() <= 1e-12
        amounts = amounts_of(space, rows)
        check_within(space, amounts)
        back = space.encode_many(amounts.tolist())
        assert np.array_equal(space.snap(back), back)
        assert np.allclose(amounts_of(space, back), amounts, rtol=0, atol=1e-12 * space.total)
    assert np.array_equal(space.spread(np.tile(0.3, (1, space.dim))), space.spread(np.tile(0.3, (3, space.dim)))[1:2])
    assert from_json(json.loads(json.dumps(to_json(space)))) == space == from_signature(space.signature())


@drawn
@given(bounded().filter(lambda space: space.step is None), st.integers(0, 2**32))
def test_snap_is_the_nearest_mixture_within_the_bounds(space: Simplex, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, others = rng.normal(0.3, 1.0, (10, space.dim)), space.sample(30, rng)
    snapped = space.snap(x)
    for other in others:  # of a nearest point z: (x - z)(t - z) <= 0 for all valid t
        assert ((x - snapped) * (other - snapped)).sum(1).max() <= 1e-9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"low": 0.5}, r"low, high: expected low <= high .* add up to 1, got low=.* of sum 1\.5"),
        ({"high": 0.3}, r"high=\[0\.3, 0\.3, 0\.3\] of sum 0\.9; lower low or raise high"),
        ({"low": [0.2, 0.3, 0.5]}, r"several mixtures between them that add up to 1, got low=.* of sum 1,"),
        ({"low": 0.2, "high": [0.2, 0.2, 1]}, "several mixtures"),
        ({"low": [0.5, 0, 0], "high": 0.4}, r"expected low <= high for each ingredient"),
        ({"low": -0.1}, "low: expected amounts of at least 0, got -0.1; raise"),
        ({"high": [0.5, 0.5]}, "high: expected one number, or 3, one for each ingredient, got"),
        ({"high": "0.5"}, "high: ingredient 0: expected a number, got"),
        ({"low": {"a": 0.1}}, r"low: expected keys out of \[0, 1, 2\], got 'a'; rename"),
        ({"low": 0.25, "step": 0.1}, "low: expected multiples of the step 0.1, got 0.25; round"),
    ],
)
def test_bounds_that_leave_no_choice_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Simplex(3, **settings)


def test_points_outside_the_bounds_are_errors_and_points_near_them_are_moved() -> None:
    space = Simplex(["a", "b", "c"], 100, low={"a": 20}, high={"b": 30})
    with pytest.raises(ValueError, match=r"expected 20 to 100 of ingredient 'a', got 19 in \{'a': 19"):
        space.encode({"a": 19, "b": 30, "c": 51})
    with pytest.raises(ValueError, match="expected 0 to 30 of ingredient 'b', got 31"):
        space.encode({"a": 20, "b": 31, "c": 49})
    assert space.decode(space.encode({"a": 19.99999, "b": 30.00001, "c": 50})) == {"a": 20.0, "b": 30.0, "c": 50.0}


def test_bounds_without_effect_are_no_bounds_and_implied_ones_are_found() -> None:
    assert Simplex(3, 10, low=0, high=[10, 12, 10]) == Simplex(3, 10) and "low" not in Simplex(3).signature()
    implied = Simplex(3, high=0.4)  # so each is at least 0.2
    assert np.allclose(implied.decode([1, 0, 0]), [0.4, 0.3, 0.3]) and np.allclose(
        implied.decode([0, 0.5, 0.5])[0], 0.2
    )
    fixed = Simplex(["a", "b", "c"], 8, low={"c": 3}, high={"c": 3})
    assert {fixed.decode(x)["c"] for x in fixed.sample(50, np.random.default_rng(0))} == {3.0}


LATTICE: Any = {"total": 20, "step": 1, "low": [2, 0, 0, 0, 0], "high": [6, 5, 5, 4, 4]}
EACH = [point for point in itertools.product(range(2, 7), range(6), range(6), range(5), range(5)) if sum(point) == 20]


@pytest.mark.parametrize("often", [True, False])
def test_a_draw_in_steps_is_any_mixture_with_the_same_chance(often: bool) -> None:
    space = Simplex(5, **LATTICE)
    vars(space)["_often"] = often
    points = [tuple(map(int, space.decode(x))) for x in space.sample(7000, np.random.default_rng(0))]
    counts = [points.count(each) for each in EACH]
    assert space.size == len(EACH) == 70 and sum(counts) == 7000 and chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(("n", "high"), [(3, 0.6), (7, 0.3), (12, 0.22)])
def test_walks_draw_as_free_draws_within_the_bounds_do(n: int, high: float) -> None:
    space = Simplex(n, high=high)
    assert space._often
    vars(space)["_often"] = False
    walks = space.sample(2000, np.random.default_rng(0))
    free = Simplex(n).sample(400_000, np.random.default_rng(1))
    exact = free[(free <= high).all(1)][:2000]
    amounts = amounts_of(space, walks)
    check_within(space, amounts)
    for a, b in zip(amounts.T, exact.T, strict=True):
        assert ks_2samp(a, b).pvalue > 1e-3
    assert ks_2samp(amounts.max(1), exact.max(1)).pvalue > 1e-3


def test_rare_mixtures_are_drawn_by_walks() -> None:
    space = Simplex(30, high=0.05)
    x = space.sample(200, np.random.default_rng(0))
    assert not space._often and len(np.unique(x, axis=0)) == 200
    assert np.abs(x.mean(0) - 1 / 30).max() < 0.004 and (x == 0).mean() < 0.01 and (x == space.most).mean() < 0.01


def far(goal: Any) -> Any:
    return lambda point: float(np.square(np.array(point) - goal).sum())


def test_every_mixture_in_steps_is_evaluated_once() -> None:
    result = lamcts.minimize(far([3, 4, 5, 4, 4]), Simplex(5, **LATTICE), budget=90, seed=0, sampler="mutate")
    assert {tuple(map(int, point)) for point in result.history.points} == {*EACH} and len(result.history.values) == 70


SAMPLERS = ["auto", "turbo", "mixed_gp", "gp_cma", "quadratic", "cma", "coordinate", "hillclimb", "mutate", "uniform"]


@pytest.mark.parametrize("sampler", [*SAMPLERS, "la_mcts:turbo"])
def test_searches_stay_within_the_bounds_and_find_a_point_on_them(sampler: str) -> None:
    if sampler == "cma":
        pytest.importorskip("cma", reason="cma is not installed")
    narrow = {"low": [0.1, 0, 0.125, 0.05], "high": [0.4, 0.35, 0.125, 0.5]}
    for step, more in ((None, narrow), (0.025, narrow), (None, {"high": 0.28})):
        space = Simplex(4, step=step, **more)
        result = lamcts.minimize(far([0.6, 0.3, 0.1, 0.0]), space, budget=25, seed=0, sampler=sampler)
        check_within(space, np.array(result.history.points))
        assert result.x[0] >= (0.24 if "low" not in more else 0.35)


def test_text_forms_have_bounds() -> None:
    space = Simplex(["flour", "sugar", "butter"], 200, step=5, low=[40, 10, 0], high=120)
    assert member_of("flour,sugar,butter:simplex=200:step=5:low=40,10,0:high=120") == space
    with pytest.raises(ValueError, match="expected one number, or 3"):
        member_of("3:simplex:low=0.1,0.2")


def test_runs_resume_and_figures_show_what_the_bounds_leave(tmp_path: Any) -> None:
    space = lamcts.Space(
        {"mix": Simplex(["a", "b", "c"], 100, low={"a": 10}, high={"b": 60, "c": 30}), "t": lamcts.Float(0, 1)}
    )

    def loss(point: Any) -> float:
        return abs(point["mix"]["a"] - 42) / 50 + abs(point["mix"]["b"] - 38) / 50 + (point["t"] - 0.4) ** 2

    whole = lamcts.minimize(loss, space, budget=20, seed=1)
    for budget in (12, 20):
        again = lamcts.minimize(loss, space, budget=budget, seed=1, journal=tmp_path / "run.db")
    assert [*again.history.points] == [*whole.history.points]
    shown = plot.evaluations.evaluations_of(tmp_path / "run.db")
    for name, (low, high) in {"mix.a": (10, 100), "mix.b": (0, 60), "mix.c": (0, 30)}.items():
        line = plot.surfaces.line_of(shown, shown.space.names.index(name))
        assert low <= min(line.values) <= low + 2 and high - 2 <= max(line.values) <= high
    ternary = plot.surfaces.planes_of(shown, 3)[0]
    corners = dict(corner.split() for corner in ternary.corners)
    assert corners == {"mix.a": "100", "mix.b": "90", "mix.c": "90"}
    place = {name: plot.surfaces.CORNERS[i] for i, name in enumerate(corners)}
    shares = np.linalg.solve(
        np.vstack([*zip(*place.values(), strict=True), (1, 1, 1)]), [ternary.x, ternary.y, 0 * ternary.x + 1]
    )
    found = dict(zip(place, shares, strict=True))
    assert found["mix.b"].max() == pytest.approx(60 / 90) and found["mix.c"].max() == pytest.approx(30 / 90)
    assert found["mix.a"].max() == pytest.approx(1) and found["mix.a"].min() == pytest.approx(0)


def test_no_plane_is_drawn_where_the_bounds_leave_no_area() -> None:
    space = Simplex(["a", "b", "c", "d"], high={"a": 0.3, "b": 0.3, "c": 0.3})
    history = lamcts.minimize(lambda p: p["d"], space, budget=12, seed=0, x0=[{"a": 0.3, "b": 0.3, "c": 0.3, "d": 0.1}])
    shown = plot.evaluations.evaluations_of(history)
    three = [shown.space.names.index(name) for name in "abc"]
    assert plot.surfaces._ternary(shown, three) is None
