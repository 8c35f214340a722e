"""A user's words about objectives and constraints become columns, or an error that says what was expected."""

import math

import numpy as np
import pytest

from lamcts.outcomes.goals import Constraint, Goals
from lamcts.types import MAX_SIZE


@pytest.mark.parametrize(
    ("words", "text", "kept", "broken"),
    [
        ("stress <= 250", "stress <= 250", 250.0, 250.5),
        ("stress<=2.5e2", "stress <= 250", -1e9, 251.0),
        ("mass < 3", "mass <= 3", 3.0, 3.1),
        ("range >= -1.5", "range >= -1.5", -1.5, -1.6),
        ("max stress (MPa) > 1", "max stress (MPa) >= 1", 2.0, 0.0),
        ("gap == 0 +- 1e-3", "gap == 0 +- 0.001", -0.001, 0.0011),
        ("gap = 2 ± 0.5", "gap == 2 +- 0.5", 1.5, 2.6),
    ],
)
def test_a_constraint_is_read_from_words_and_written_so_that_it_reads_the_same(words, text, kept, broken):
    held = Constraint.read(words)
    assert str(held) == text and Constraint.read(text) == held
    assert held.violation(kept) <= 0 < held.violation(broken)


@pytest.mark.parametrize(
    "words",
    ["stress", "stress <= ", "<= 3", "a <= b", "a == 1", "a <= 1 +- 2", "a <= 1e999", "a == 1 +- -1", 3.5, None],
)
def test_words_that_are_no_constraint_are_refused(words):
    with pytest.raises(ValueError, match="constraints: "):
        Goals.of(constraints=[words])


def test_excesses_say_by_how_much_and_an_infinite_one_stays_a_number():
    le, ge, eq = (Constraint.read(text) for text in ("a <= 2", "a >= 2", "a == 2 +- 0.5"))
    assert (le.violation(3.0), ge.violation(3.0), eq.violation(3.0)) == (1.0, -1.0, 0.5)
    assert le.violation(math.inf) == MAX_SIZE and ge.violation(math.inf) == -MAX_SIZE
    assert all(math.isnan(held.violation(math.nan)) for held in (le, ge, eq))


def test_an_equality_is_the_same_as_its_two_inequalities():
    both = Goals.of(constraints=["a >= 1.5", "a <= 2.5"])
    one = Goals.of(constraints=["a == 2 +- 0.5"])
    for value in np.linspace(0, 4, 33):
        assert sorted(both.violations({"a": value})) == pytest.approx(sorted(one.violations({"a": value})))


def test_what_is_kept_apart_inside_is_told_as_one_by_the_users_words():
    goals = Goals.of(constraints=["a == 2 +- 0.5", "b <= 1", "c == 0 +- 0.25"])
    g = np.array([goals.violations({"a": 3.0, "b": 0.0, "c": -1.0}), goals.violations({"a": 2.0, "c": 0.125})])
    assert g.shape == (2, goals.columns) == (2, 5)
    np.testing.assert_array_equal(goals.per_constraint(g), [[0.5, -1.0, 0.75], [-0.5, math.nan, -0.125]])
    assert goals.measured(g[0]) == {"a": 3.0, "b": 0.0, "c": -1.0}
    assert repr(goals.measured(g[1])) == "{'a': 2.0, 'b': nan, 'c': 0.125}"
    assert Goals.of().per_constraint(np.empty((3, 0))).shape == (3, 0)


@pytest.mark.parametrize(
    "constraints", [["a <= 1", "a >= 2"], ["a == 0 +- 0.1", "a == 1 +- 0.1"], ["a <= 3", "a >= 1", "a >= 4"]]
)
def test_constraints_that_cannot_all_be_kept_are_refused(constraints):
    with pytest.raises(ValueError, match="can all be kept, got a "):
        Goals.of(constraints=constraints)


def test_objectives_are_named_counted_or_left_out():
    assert Goals.of().plain and Goals.of(maximize=True).signs.tolist() == [-1.0]
    named = Goals.of(objectives={"cost": "min", "range": "max"})
    assert named.names == ("cost", "range") and named.losses({"range": 3.0, "cost": 2.0}).tolist() == [2.0, -3.0]
    assert Goals.of(True, objectives=2).signs.tolist() == [-1.0, -1.0]
    assert Goals.of(objectives=["a", "b"]).names == ("a", "b")
    assert not Goals.of(constraints=1).plain and Goals.of(constraints=0).plain


def test_a_constraint_on_an_objective_needs_no_quantity_of_its_own():
    goals = Goals.of(
        objectives={"cost": "min", "range": "max"}, constraints=["range >= 1", "stress <= 4", "stress >= 0"]
    )
    assert goals.quantities == ("stress",)
    assert goals.violations({"cost": 0.0, "range": 3.0, "stress": 5.0}).tolist() == [-2.0, 1.0, -5.0]


@pytest.mark.parametrize(
    "objectives", [{}, [], {"a": "up"}, {"a": None}, ["a", "a"], [3], 0, -1, 2.5, "", {"": "min"}, True]
)
def test_other_objectives_are_refused(objectives):
    with pytest.raises(ValueError, match="objectives: "):
        Goals.of(objectives=objectives)


@pytest.mark.parametrize(
    "reference", [[1.0], {"a": 1.0}, {"a": 1.0, "b": "x"}, {"a": 1, "b": 2, "c": 3}, 5, [1, math.nan]]
)
def test_a_reference_names_every_objective_with_a_finite_number(reference):
    with pytest.raises(ValueError, match="reference: expected a number for each of a, b"):
        Goals.of(objectives=["a", "b"], reference=reference)
    assert Goals.of(objectives=["a", "b"], reference={"b": 2, "a": 1}).reference == (1.0, 2.0)


def test_a_signature_makes_the_same_goals_again():
    goals = Goals.of(
        objectives={"cost": "min", "range": "max"}, constraints=["gap == 0.1 +- 1e-3", "cost <= 0.30000000000000004"]
    )
    assert Goals.from_signature(goals.signature()) == goals
    assert Goals.of().signature() == {}


@pytest.mark.parametrize("text", ["impurity <= 2", "impurity >= -7.3", "impurity == 0.1 +- 1e-3"])
@pytest.mark.parametrize("value", [1.933, 0.0, -3.1, 1e-7, 123456.789, 0.1])
def test_a_quantity_is_shown_as_it_was_told(text, value):
    goals = Goals.of(constraints=[text])
    assert goals.measured(goals.violations({"impurity": value})) == {
        "impurity": pytest.approx(value, rel=1e-9, abs=1e-15)
    }
    assert goals.violations(goals.measured(goals.violations({"impurity": value}))) == pytest.approx(
        goals.violations({"impurity": value})
    )


def test_a_short_quantity_is_shown_with_its_own_digits():
    goals = Goals.of(constraints=["impurity <= 2"])
    assert goals.measured(goals.violations({"impurity": 1.933})) == {"impurity": 1.933}


@pytest.mark.parametrize(
    "words", ["a= <= 3", "a => 3", "load> >= 1", "1 <= a <= 3", "a < b <= 2", "a + b <= 3", "2*a <= 1"]
)
def test_a_formula_for_a_name_is_refused_with_the_cure(words):
    with pytest.raises(
        ValueError, match=r"is no name: return the quantity by a name, and give it a constraint for each"
    ):
        Goals.of(constraints=[words])


@pytest.mark.parametrize(
    "name", ["p(>3)", "load [kN/m + 1]", "top-5 error", "miles/hour", "Na+", "share %", "mass ratio"]
)
def test_names_may_have_signs(name):
    assert Goals.of(constraints=[f"{name} <= 0.1"]).quantities == (name,)
