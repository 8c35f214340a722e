"""Methods that see categories as they are: they keep to the budget and to the space, and the reference ones work."""

import math
from contextlib import suppress

import numpy as np
import pytest

from benchmarks.discrete import discrete_problems as dp
from benchmarks.discrete.discrete_problems import bits
from benchmarks.harness.search import Enough, Search
from benchmarks.peers import native
from benchmarks.peers.native.evaluated_codes import EvaluatedCodes
from benchmarks.peers.native.optuna import distribution
from lamcts import Bool, Box, Canonical, Choice, Float, Int, Space

SLOW = ("optuna gp", "smac", "hebo")  # they load torch or take seconds a batch: run small
REPEAT = ("evolution", "evolution 100", "tpe", "optuna gp", "hebo")  # as published


class Mixed:
    """Every kind of parameter, and failures where the category is the last."""

    name, maximize, optimum, x0 = "mixed", True, 3.0, None
    space = Space(
        {
            "c": Choice(["a", "b", "fails"]),
            "o": Choice([0.1, 1.0, 10.0], ordered=True),
            "b": Bool(),
            "i": Int(1, 100, log=True),
            "x": Float(1e-3, 1.0, log=True),
        }
    )

    def __init__(self):
        self.asked = []

    def __call__(self, point, *, seed=None):
        self.space.encode(point)  # ValueError where it is no point of the space
        self.asked.append(point)
        if point["c"] == "fails":
            return math.nan
        return (point["c"] == "b") + point["b"] + (point["o"] == 1.0) - point["x"] - point["i"] / 100


def run(name, objective, budget=30, batch=1, seed=0):
    if package := native.missing(name):
        pytest.skip(f"{package} is not installed")
    search = Search(objective, seed, budget, batch)
    with suppress(Enough):
        native.load(name)(search)
    return search


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("name", native.NATIVE)
def test_a_peer_keeps_to_the_budget_and_to_the_space_failures_or_not(name, batch):
    objective = Mixed()
    search = run(name, objective, 14 if name in SLOW else 30, batch)
    assert not search.left and len(objective.asked) == search.budget
    assert 0 < np.isnan(search.values).sum() < search.budget
    if name not in REPEAT:
        assert len({repr(point) for point in objective.asked}) == search.budget


@pytest.mark.parametrize("name", [name for name in native.NATIVE if name not in SLOW])
def test_the_same_seed_gives_the_same_points_and_another_one_others(name):
    points = []
    for seed in (1, 1, 2):
        objective = Mixed()
        run(name, objective, seed=seed)
        points.append(objective.asked)
    assert points[0] == points[1] != points[2]


def test_local_search_reaches_the_optimum_of_a_one_max_with_each_bit_asked_about_once_or_twice():
    search = run("local search", dp.hidden(bits.onemax(12), 3), 60)
    values = np.array(search.values)
    assert values.min() == 0
    first = int(values.argmin())
    assert first <= 12 * 13 / 2 and all(np.diff([loss for _, loss in search.improved]) < 0)


def test_local_search_takes_the_first_improvement_and_no_neighbour_twice():
    objective = Mixed()
    search = run("local search", objective, 60)
    best, here = -math.inf, None
    for point, loss in zip(objective.asked[:10], search.values[:10], strict=True):
        if here is not None:
            assert sum(point[name] != here[name] for name in point) == 1
        if here is None or -loss > best:
            best, here = -loss if not math.isnan(loss) else -math.inf, point


def test_evolution_finds_what_random_draws_do_not():
    found = {name: [] for name in ("evolution", "random")}
    for name, seed in ((name, seed) for name in found for seed in range(5)):
        found[name].append(run(name, dp.hidden(bits.onemax(20), seed), 200, seed=seed).improved[-1][1])
    assert np.mean(found["evolution"]) < np.mean(found["random"]) - 0.1


def test_the_population_of_evolution_ages():
    asked = []
    objective = bits.onemax(16)
    search = Search(dp.Discrete("p", objective.space, lambda p: asked.append(p) or objective(p)), 0, 60)
    with suppress(Enough):
        native.load("evolution")(search)
    for k in range(20, 60):  # a child differs in one bit from one of the 20 before it
        assert 1 in [sum(asked[k][b] != old[b] for b in old) for old in asked[k - 20 : k]]


@pytest.mark.parametrize("name", ["random", "local search", "forest", "lamcts"])
def test_a_space_that_is_used_up_ends_the_run(name):
    search = run(name, dp.hidden(bits.onemax(3), 0), 50)
    assert len(search.values) == 8 and min(search.values) == 0


@pytest.mark.parametrize("name", ["random", "local search", "evolution", "forest"])
def test_points_that_a_key_forbids_are_not_asked_for_and_equal_ones_once(name):
    inner = Space({f"c{i}": Choice(["x", "y", "z"]) for i in range(4)})

    def key(point):
        return None if point["c0"] == "z" else "".join(sorted(point.values()))

    asked = []
    objective = dp.Discrete("p", Canonical(inner, key), lambda p: asked.append(p) or "".join(p.values()).count("x"))
    run(name, objective, 12)
    keys = [key(point) for point in asked]
    assert None not in keys and (name == "evolution" or len(set(keys)) == len(keys))


def test_optuna_sees_categories_as_such_and_numbers_in_their_order():
    assert distribution(Choice(["u", "v", "w"])).choices == (0, 1, 2)
    assert distribution(Choice([8, 64], ordered=True)).high == 1
    assert distribution(Bool()).choices == (False, True)
    whole, real = distribution(Int(1, 9, log=True)), distribution(Float(0.1, 1.0))
    assert (whole.low, whole.high, whole.log) == (1, 9, True) and (real.low, real.high, real.log) == (0.1, 1.0, False)
    with pytest.raises(ValueError, match="expected Choice, Bool, Int or Float"):
        distribution(Box(0, 1, dim=2))


def test_unseen_rows_are_told_once_and_in_their_order():
    codes = EvaluatedCodes(Search(bits.onemax(3), 0, 8))
    z = np.array([[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]], float)
    codes.losses(z[1:2])
    assert codes.unseen(z).tolist() == [[0, 0, 1], [0, 1, 0]]


def test_evolution_comes_in_both_published_settings():
    from inspect import signature

    from benchmarks.peers.native import evolution

    usual = {name: given.default for name, given in signature(evolution.search).parameters.items()}
    sizes = [usual | native.find(name).settings for name in ("evolution", "evolution 100")]
    assert [(given["size"], given["sample"]) for given in sizes] == [(20, 5), (100, 25)]


def test_names_of_ours_carry_sampler_and_tree():
    assert native.find("lamcts turbo, no tree").settings == {"sampler": "turbo", "tree": None}
    assert native.find("lamcts bo").settings == {"sampler": "bo"}
    with pytest.raises(ValueError, match=r"expected a method out of lamcts, .*random"):
        native.find("gp-smac")
