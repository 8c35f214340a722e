"""Mixtures: what is a point, its coordinates, uniform draws, moves that keep the sum, and searches over them."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamcts
from lamcts import samplers, testing
from lamcts.cli.parameters import member_of
from lamcts.optimizer.export import names_of, write_csv
from lamcts.spaces import Bool, Box, Choice, Float, Simplex, Space, Subset
from lamcts.spaces.base import sums_of, with_sums_kept
from lamcts.spaces.exchanges import exchanges, mutations
from lamcts.spaces.fixed import fixed
from lamcts.spaces.named_parameters import NamedParameters
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.serialization import from_json, from_signature, to_json

drawn = settings(max_examples=60, deadline=None, derandomize=True)


@drawn
@given(st.lists(st.floats(0, 1) | st.just(0.0), min_size=2, max_size=40).filter(any), st.floats(1e-6, 1e6))
def test_amounts_come_back_with_zeros_as_they_were(amounts: list[float], total: float) -> None:
    space = Simplex(len(amounts), total)
    point = (total * (np.array(amounts) / sum(amounts))).tolist()
    x = space.encode(point)
    back = np.array(space.decode(x))
    assert np.allclose(back, point, rtol=0, atol=1e-12 * total) and abs(back.sum() - total) <= 1e-12 * total
    assert np.array_equal(back == 0, np.array(point) == 0)
    assert np.array_equal(space.snap(x[None])[0], x)
    assert from_json(json.loads(json.dumps(to_json(space)))) == space == from_signature(space.signature())


@drawn
@given(st.integers(2, 12), st.integers(0, 2**32))
def test_snap_is_the_nearest_mixture(n: int, seed: int) -> None:
    rng, space = np.random.default_rng(seed), Simplex(n)
    x = rng.normal(0.3, 1.0, (20, n))
    snapped = space.snap(x)
    assert np.array_equal(space.snap(snapped), snapped) and np.abs(snapped.sum(1) - 1).max() <= 1e-12
    gap = x - snapped  # of a nearest point z: (x - z)(t - z) <= 0 for all mixtures t, so for all corners
    assert (gap - (gap * snapped).sum(1, keepdims=True)).max() <= 1e-9


def test_a_uniform_draw_is_a_flat_dirichlet_draw() -> None:
    from scipy.stats import kstest

    for n in (2, 3, 8):
        x = Simplex(n).sample(4000, np.random.default_rng(n))
        assert all(kstest(column, "beta", (1, n - 1)).pvalue > 1e-3 for column in x.T)
        assert np.allclose(np.corrcoef(x.T)[0, 1], -1 / (n - 1), atol=0.05)
    corners = Simplex(3).spread(np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    assert np.array_equal(corners, [[0, 0, 1], [1 / 3, 1 / 3, 1 / 3], [1, 0, 0]])


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ((0.5, 0.5), "3 amounts, got"),
        ("abc", "3 amounts"),
        ({"a": 1.0}, "3 amounts"),
        ((0.5, 0.3, 0.1), r"add up to 1, got .*, whose sum is 0\.9"),
        ((1.2, -0.2, 0.0), "expected 0 to 1 of ingredient 0, got 1.2"),
        ((np.nan, 0.5, 0.5), "ingredient 0: expected a finite number"),
        ((True, 0.0, 0.0), "ingredient 0: expected a number"),
        ((1e308, 1e308, 1e308), "whose sum is inf"),
    ],
)
def test_what_is_no_mixture_is_an_error(point: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Simplex(3).encode(point)


@pytest.mark.parametrize("point", [(0.5, 0.5), {"a": 1.0}, {"a": 0.5, "b": 0.2, "c": 0.3}])
def test_a_mixture_by_name_has_exactly_these_names(point: Any) -> None:
    with pytest.raises(ValueError, match="a dict with the names"):
        Simplex(["a", "b"]).encode(point)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1,), "at least 2 ingredients"),
        ((2.5,), "at least 2 ingredients"),
        ((True,), "at least 2 ingredients"),
        ((["a"],), "at least 2 ingredients"),
        ((["a", "a"],), "2 ingredients, or distinct names"),
        (([1, 2],), "2 ingredients, or distinct names"),
        ((3, 0), "total: expected a number above 0"),
        ((3, -1.0), "total: expected a number above 0"),
        ((3, float("nan")), "total: expected a finite number"),
        ((3, "1"), "total: expected a number"),
    ],
)
def test_arguments_that_make_no_mixture_are_errors(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Simplex(*arguments)


def test_amounts_that_miss_the_total_by_rounding_are_scaled() -> None:
    assert Simplex(3, 100).decode(Simplex(3, 100).encode([33.33333, 33.33333, 33.33334])) == (
        33.33333,
        33.33333,
        33.33334,
    )
    scaled = np.array(Simplex(3).decode(Simplex(3).encode(np.float32([0.1, 0.2, 0.7]))))
    assert abs(scaled.sum() - 1) <= 1e-15 and np.allclose(scaled, [0.1, 0.2, 0.7], atol=1e-7)


def test_moves_keep_the_sum_and_reach_zeros() -> None:
    space, rng = (
        Space({"mix": Simplex(5), "on": Bool(), "more": Simplex(["a", "b"], when={"on": True})}),
        np.random.default_rng(0),
    )
    parameters = Parameters(space)
    z = parameters.codes(space.sample(50, rng))
    for codes in (exchanges(parameters, z[0], rng), mutations(parameters, z, rng, 2.0)):
        assert np.abs(codes[:, :5].sum(1) - 1).max() <= 1e-12 and codes[:, :5].min() >= 0
        rows = parameters.rows(codes)
        assert np.array_equal(parameters.codes(rows), codes)
    near = Simplex(5).neighbours(np.full(5, 0.2), rng)
    assert (near == 0).any() and ((near != 0.2).sum(1) == 2).all()
    assert np.count_nonzero(Simplex(5).random_neighbours(np.eye(5), rng), axis=1).max() == 2


def test_sums_are_known_inside_products_and_adapters() -> None:
    space = lamcts.Valid(Space([Float(0, 1), Simplex(3), Space([Simplex(2)])]), lambda point: True)
    assert sums_of(space) == (slice(1, 4), slice(4, 6)) and sums_of(Box(0, 1, dim=2)) == ()
    ways = with_sums_kept(space, np.eye(6))
    assert np.allclose(ways[:, 1:4].sum(1), 0) and np.allclose(ways[:, 4:].sum(1), 0) and ways[0, 0] == 1


def test_names_of_ingredients_stand_in_tables_and_figures() -> None:
    space = Space({"mix": Simplex(["flour", "sugar"], 200), "w": Simplex(2)})
    named = NamedParameters(space.signature(), space.dim)
    x = space.encode({"mix": {"flour": 150, "sugar": 50}, "w": (0.25, 0.75)})[None]
    assert named.names == ["mix.flour", "mix.sugar", "w.1", "w.2"]
    assert named.values(x) == [[150.0], [50.0], [0.25], [0.75]]
    assert NamedParameters(Simplex(["u", "v"]).signature(), 2).names == ["u", "v"]
    assert NamedParameters(Simplex(2).signature(), 2).names == ["x1", "x2"]
    assert fixed(space, {"w": (0.5, 0.5)}).free == ["mix"]


def test_the_command_line_can_say_a_mixture() -> None:
    assert member_of("3:simplex") == Simplex(3) and member_of("3:simplex=100") == Simplex(3, 100)
    assert member_of("flour, sugar:simplex=2.5") == Simplex(["flour", "sugar"], 2.5)
    for text, message in (("x:simplex", "expected a number, or options A,B,C"), ("3:simplex=a", "expected a number")):
        with pytest.raises(ValueError, match=message):
            member_of(text)


def far(goal: Any) -> Any:
    return lambda point: float(np.square(np.array(point) - goal).sum())


@pytest.mark.parametrize("sampler", ["auto", "turbo", "mixed_gp"])
def test_searches_find_the_nearest_mixture_inside_and_on_a_face(sampler: str) -> None:
    inside = lamcts.minimize(far([0.5, 0.3, 0.2]), Simplex(3), budget=35, seed=0, sampler=sampler)
    assert inside.fun <= 1e-3 and all(abs(sum(point) - 1) <= 1e-12 for point in inside.history.points)
    edge = lamcts.minimize(far([0.8, 0.6, -0.5, -0.4, -0.3]), Simplex(5), budget=60, seed=0, sampler=sampler)
    assert np.allclose(edge.x, [0.6, 0.4, 0, 0, 0], atol=0.03) and edge.x.count(0.0) >= 2


@pytest.mark.dear
@pytest.mark.parametrize("sampler", ["gp_cma", "turbo", "quadratic", "coordinate", "hillclimb", "mutate"])
def test_samplers_hold_their_contract_over_mixtures_and_subsets(sampler: str) -> None:
    mixed = {
        "mix": Simplex(["a", "b", "c"], 5),
        "pick": Subset(5, 2, when={"on": True}),
        "on": Bool(),
        "x": Float(0, 1),
    }
    testing.check_sampler(samplers.make(sampler, Space(mixed)), Space(mixed))


@pytest.mark.parametrize("sampler", ["uniform", "quadratic", "coordinate", "bo", "hillclimb", "mutate"])
def test_other_samplers_propose_mixtures_too(sampler: str) -> None:
    result = lamcts.minimize(far([0.5, 0.3, 0.2]), Simplex(3), budget=40, seed=0, sampler=f"la_mcts:{sampler}")
    assert result.fun <= 0.02 and len(set(result.history.points)) == 40


def test_a_run_goes_on_from_its_journal_and_predicts(tmp_path: Any) -> None:
    space = Space({"mix": Simplex(["a", "b", "c"], 10), "kind": Choice(["u", "v"])})

    def loss(point: Any) -> float:
        return (point["mix"]["a"] - 4) ** 2 / 10 + abs(point["mix"]["b"] - 6) + (point["kind"] == "v")

    whole = lamcts.minimize(loss, space, budget=25, seed=3)
    journal = tmp_path / "run.db"
    lamcts.minimize(loss, space, budget=25, seed=3, journal=journal, callback=lambda run: len(run.history.values) < 12)
    again = lamcts.minimize(loss, space, budget=25, seed=3, journal=journal)
    assert [*again.history.points] == [*whole.history.points] and again.predict([again.x]).mean[0] <= 1
    rows = again.rows()
    with open(tmp_path / "k.csv", "w", newline="") as file:
        write_csv(rows, names_of(rows), file)
    for known in (again, tmp_path / "k.csv"):
        assert lamcts.minimize(loss, space, budget=8, seed=0, known=known).fun <= again.fun


def test_amounts_in_steps_keep_their_total_and_are_short_numbers():
    space = lamcts.Simplex(["a", "b", "c"], total=1.2, step=0.1)
    points = [space.decode(x) for x in space.sample(200, np.random.default_rng(0))]
    assert {amount for point in points for amount in point.values()} <= {round(0.1 * k, 1) for k in range(13)}
    assert all(sum(point.values()) == pytest.approx(1.2) for point in points) and space.size == 91
    result = lamcts.minimize(lambda p: (p["a"] - 0.72) ** 2 + (p["b"] - 0.31) ** 2, space, budget=25, seed=0)
    assert result.x == {"a": 0.7, "b": 0.3, "c": 0.2}


@pytest.mark.parametrize("step", [0, -1, 3, 200, "x"])
def test_a_step_must_divide_the_total(step):
    with pytest.raises(ValueError, match="step"):
        lamcts.Simplex(3, total=100, step=step)


def test_an_amount_between_steps_is_an_error():
    with pytest.raises(ValueError, match="expected amounts in steps of 5"):
        lamcts.Simplex(3, total=100, step=5).encode((51, 24, 25))
