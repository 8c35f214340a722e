"""What all problems of several quantities share: names, parameters in another order, copies."""

import json
import pickle
import re

import numpy as np
import pytest

from lamcts import objectives
from lamcts.objectives import base
from lamcts.objectives.problem import Problem

CONSTRAINT = re.compile(r"\w+ (<=|>=|==) -?[\d.e+-]+( \+- [\d.e+-]+)?")
BUILT = [
    name
    for name, row in base.names().items()
    if row.build.__module__.startswith(("lamcts.objectives.constr", "lamcts.objectives.pareto"))
]
PERMUTED = [name for name in BUILT if "permute" in base.entry(name).settings]


def drawn(f, n=20):
    return np.random.default_rng(0).uniform(f.space.low, f.space.high, (n, f.space.dim))


def test_both_rooms_are_found():
    assert {"keane", "g1", "welded-beam", "zdt1", "c2-dtlz2", "vehicle-safety"} <= set(BUILT)


@pytest.mark.parametrize("name", BUILT)
def test_a_problem_says_what_it_seeks_and_gives_it(name):
    f = objectives.make(name)
    assert f.name == name and not f.maximize and set(f.objectives.values()) <= {"min", "max"}
    assert all(CONSTRAINT.fullmatch(text) for text in f.constraints)
    named = {*f.objectives, *(text.split()[0] for text in f.constraints)}
    for x in drawn(f):
        found = f(x)
        assert set(found) == named and all(type(v) is float and np.isfinite(v) for v in found.values())
    if len(f.objectives) == 1:
        assert f.reference is f.hypervolume is None and f.optimum is not None
    else:
        assert f.optimum is None and set(f.reference) == set(f.objectives)


@pytest.mark.parametrize("name", BUILT)
def test_many_points_give_what_each_gives_alone_and_a_copy_gives_the_same(name):
    f = objectives.make(name)
    x, copy = drawn(f, 5), pickle.loads(pickle.dumps(f))
    for key, values in f.many(x).items():
        assert values.shape == (5,)
        assert [f(row, seed=3)[key] for row in x] == pytest.approx(list(values), rel=1e-12)
        np.testing.assert_array_equal(copy.many(x)[key], values)
    assert copy.fingerprint() == f.fingerprint() == json.loads(json.dumps(f.fingerprint()))


@pytest.mark.parametrize("name", PERMUTED)
def test_a_permutation_moves_box_and_best_with_the_parameters(name):
    f, moved = objectives.make(name), objectives.make(name, permute=5)
    assert sorted(moved.order) == list(range(f.space.dim)) and list(moved.order) != sorted(moved.order)
    np.testing.assert_array_equal(moved.space.low, f.space.low[moved.order])
    for x in drawn(f):
        assert moved(x[moved.order]) == f(x)
    if f.at is not None:
        assert moved(moved.at) == f(f.at)


def test_a_problem_refuses_points_of_another_dimension():
    with pytest.raises(ValueError, match=r"\[n, 4\], got \[1, 3\]"):
        objectives.make("welded-beam")([1.0, 2.0, 3.0])


def test_a_problem_of_ones_own_needs_a_box_and_a_formula():
    f = Problem("mine", objectives.make("tnk").space, lambda x: {"a": x[:, 0], "b": x[:, 1]}, {"a": "max"}, ("b <= 1",))
    assert f([0.5, 2.0]) == {"a": 0.5, "b": 2.0} and f.permuted(3)([2.0, 0.5]) == {"a": 0.5, "b": 2.0}
