"""Conditions of a ConfigSpace as ours: each point has exactly the parameters that are active there."""

import numpy as np
import pytest

import lamcts
from lamcts.integrations.configspace import space_of

C = pytest.importorskip("ConfigSpace", reason="ConfigSpace is not installed: pip install ConfigSpace")

KIND = C.Categorical("kind", ["a", "b", "c"])
SIZE = C.Categorical("size", ["s", "m", "l"], ordered=True)
COUNT = C.Integer("count", (1, 6))
RATE = C.Float("rate", (1e-3, 1), log=True)
DEPTH = C.Integer("depth", (1, 4))
CASES = {
    "equals": [C.EqualsCondition(RATE, KIND, "b")],
    "unequal": [C.NotEqualsCondition(RATE, KIND, "b")],
    "in": [C.InCondition(RATE, COUNT, [2, 5])],
    "greater in a sequence": [C.GreaterThanCondition(RATE, SIZE, "s")],
    "less": [C.LessThanCondition(RATE, COUNT, 3)],
    "and": [C.AndConjunction(C.EqualsCondition(RATE, KIND, "b"), C.GreaterThanCondition(RATE, COUNT, 3))],
    "or": [C.OrConjunction(C.EqualsCondition(RATE, KIND, "b"), C.EqualsCondition(RATE, KIND, "c"))],
    "both of one": [
        C.AndConjunction(C.GreaterThanCondition(RATE, COUNT, 2), C.LessThanCondition(RATE, COUNT, 5)),
    ],
    "nested": [C.EqualsCondition(DEPTH, KIND, "a"), C.GreaterThanCondition(RATE, DEPTH, 2)],
}


def config(*conditions):
    cs = C.ConfigurationSpace(seed=0)
    cs.add(KIND, SIZE, COUNT, RATE, DEPTH)
    cs.add(*conditions)
    return cs


@pytest.mark.parametrize("conditions", CASES.values(), ids=CASES)
def test_a_point_has_the_parameters_that_its_configuration_has(conditions):
    cs = config(*conditions)
    space = space_of(cs)
    points = [space.decode(x) for x in space.sample(60, np.random.default_rng(0))]
    assert {"rate" in point for point in points} == {True, False}
    for point in points:
        assert dict(C.Configuration(cs, values=point)).keys() == point.keys()  # it refuses what is inactive, or missing
    for theirs in cs.sample_configuration(60):
        space.encode(dict(theirs))


def test_what_is_forbidden_may_be_inactive():
    cs = config(*CASES["equals"])
    cs.add(C.ForbiddenAndConjunction(C.ForbiddenEqualsClause(KIND, "b"), C.ForbiddenInClause(COUNT, [1, 2, 3])))
    cs.add(C.ForbiddenLessThanRelation(RATE, DEPTH))
    space = space_of(cs)
    assert space.holds({"kind": "a", "size": "s", "count": 1, "depth": 4})
    for x in space.sample(200, np.random.default_rng(0)):
        if space.holds(point := space.decode(x)):
            C.Configuration(cs, values=point).check_valid_configuration()


def test_a_run_goes_through_the_branches():
    def loss(point):
        return (np.log10(point["rate"]) + 2) ** 2 if point["kind"] == "b" else 3 + point["count"] / 6

    result = lamcts.minimize(loss, space_of(config(*CASES["equals"])), budget=40, seed=0)
    assert result.x["kind"] == "b" and result.fun < 0.05


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (C.GreaterThanCondition(DEPTH, RATE, 0.1), "expected conditions on options, or on integers"),
        (
            C.OrConjunction(C.EqualsCondition(RATE, KIND, "b"), C.EqualsCondition(RATE, COUNT, 2)),
            "expected 'or' between conditions on one parameter",
        ),
    ],
    ids=["a real parent", "or of two"],
)
def test_conditions_that_no_list_of_values_says_are_told(condition, message):
    with pytest.raises(ValueError, match=message):
        space_of(config(condition))
