"""A ConfigSpace as a space of ours: each point is a valid configuration."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import lamcts
from lamcts.integrations.configspace import rule_of, space_of

C = pytest.importorskip("ConfigSpace", reason="ConfigSpace is not installed: pip install ConfigSpace")


def config(*parts):
    cs = C.ConfigurationSpace(seed=0)
    cs.add(*parts)
    return cs


def points(space, n=60):
    return [space.decode(x) for x in space.sample(n, np.random.default_rng(0))]


@pytest.mark.parametrize(
    ("parameter", "signature"),
    [
        (C.Float("p", (1e-3, 1), log=True), {"kind": "float", "low": 1e-3, "high": 1.0, "log": True}),
        (C.Integer("p", (1, 10)), {"kind": "int", "low": 1, "high": 10, "log": False}),
        (C.Integer("p", (1, 1000), log=True), {"kind": "int", "low": 1, "high": 1000, "log": True}),
        (C.Categorical("p", ["x", True, 3]), {"kind": "choice", "options": ["x", True, 3], "ordered": False}),
        (C.Categorical("p", ["s", "m"], ordered=True), {"kind": "choice", "options": ["s", "m"], "ordered": True}),
        (C.Constant("p", 3), {"kind": "choice", "options": [3], "ordered": False}),
        (
            C.NormalFloatHyperparameter("p", mu=0, sigma=1, lower=-3, upper=2),
            {"kind": "float", "low": -3.0, "high": 2.0, "log": False},
        ),
        (
            C.BetaIntegerHyperparameter("p", alpha=2, beta=2, lower=1, upper=9),
            {"kind": "int", "low": 1, "high": 9, "log": False},
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_hyperparameter_is_searched_as_what_it_is(parameter, signature):
    cs = config(parameter)
    space = space_of(cs)
    assert space.signature()["members"] == [signature]
    for point in points(space, 20):
        assert dict(C.Configuration(cs, values=point)).keys() == {"p"}
    space.encode(dict(cs.get_default_configuration()))


def test_what_is_forbidden_is_never_proposed():
    size, n = C.Categorical("size", ["s", "m", "l"], ordered=True), C.Integer("n", (1, 6))
    kind, low, high = C.Categorical("kind", ["a", "b", "c"]), C.Float("low", (0, 1)), C.Float("high", (0, 1))
    cs = config(size, n, kind, low, high)
    cs.add(
        C.ForbiddenAndConjunction(C.ForbiddenEqualsClause(size, "s"), C.ForbiddenInClause(n, [1, 2])),
        C.ForbiddenEqualsClause(kind, "b"),
        C.ForbiddenGreaterThanRelation(low, high),
        C.ForbiddenAndConjunction(C.ForbiddenEqualsClause(kind, "c"), C.ForbiddenGreaterThanClause(size, "m")),
    )
    space = space_of(cs)
    for point in points(space):
        C.Configuration(cs, values=point).check_valid_configuration()
    drawn = points(space.inner, 400)

    def valid(point):
        try:
            C.Configuration(cs, values=point).check_valid_configuration()
        except C.exceptions.ForbiddenValueError:
            return False
        return True

    assert [space.holds(point) for point in drawn] == [valid(point) for point in drawn]
    again = pickle.loads(pickle.dumps(space))
    assert again.signature() == space.signature() and "kind == 'b'" in space.name


def test_steps_of_older_versions_are_kept():
    cs = config(C.Float("x", (0, 1)), C.Integer("n", (2, 12)))
    cs["x"].q, cs["n"].q = 0.1, 5
    assert space_of(cs) == lamcts.Space({"n": lamcts.Int(2, 12, step=5), "x": lamcts.Float(0, 1, step=0.1)})


def test_what_cannot_be_read_is_told():
    with pytest.raises(ValueError, match=r"of ConfigSpace 1.0 on, got dict"):
        space_of({})
    with pytest.raises(ValueError, match="expected at least one hyperparameter"):
        space_of(C.ConfigurationSpace())
    cs = config(C.Float("x", (0, 1)))
    cs["x"].lower = None
    with pytest.raises(ValueError, match="'x': expected bounds"):
        space_of(cs)
    with pytest.raises(ValueError, match="expected forbidden clauses that compare values"):
        rule_of(SimpleNamespace())
