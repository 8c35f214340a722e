"""Problems of categories, integers and reals: what is known of them, and how their optima are hidden."""

import math
from itertools import product

import numpy as np
import pytest

from benchmarks.discrete import discrete_problems as dp
from benchmarks.discrete.discrete_problems import bits, categories, stages, tables
from lamcts import Bool, Canonical, Choice, Float, Int, Space
from lamcts.neural.nas import formats
from tests.neural.nas import made_up

PACKAGED = ("nb101", "nb101-keyed", "nb-graph")  # their own tests are the package's
UNKNOWN = ("pest", "kernel-ridge", "labs50")  # nobody knows a best point of them
OPEN = [name for name in dp.ALL if name not in PACKAGED]
KNOWN = [name for name in OPEN if name not in UNKNOWN]
FORMULAS = ("func2C", "func3C", "pest", "ackley53", "kernel-ridge", "labs50", "contamination", "maxsat28", "maxsat60")


def published(name):
    if lack := dp.lacking(name):
        pytest.skip(lack)
    return dp.find(name)


def drawn(space, n=5, seed=0):
    return [space.decode(x) for x in space.sample(n, np.random.default_rng(seed))]


def test_problems_of_formulas_need_no_table():
    assert not any(map(dp.lacking, FORMULAS)) and not set(dp.TUNE) & set(dp.JUDGE)


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("seed", [0, 7])
def test_the_optimum_is_reached_where_it_is_hidden(name, seed):
    problem, seen = published(name), dp.make(name, seed)
    assert seen.optimum == problem.optimum == pytest.approx(problem(problem.best), abs=1e-7)
    there = seen.seen(problem.best)
    assert seen(seen.space.decode(seen.space.encode(there))) == pytest.approx(problem.optimum, abs=1e-7)


@pytest.mark.parametrize("name", OPEN)
def test_a_hidden_problem_has_the_values_of_the_published_one_and_no_better_one(name):
    problem, seen = published(name), dp.make(name, 3)
    for point in drawn(seen.space):
        assert seen(point, seed=1) == problem(seen.true(point)) or math.isnan(seen(point))
        assert seen.seen(seen.true(point)) == pytest.approx(point)
        assert not dp.regret(seen, seen(point)) < 0


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "onemax"])
def test_each_seed_hides_the_optimum_elsewhere_and_the_same_seed_at_the_same_place(name):
    best = published(name).best
    places = [repr(dp.make(name, seed).seen(best)) for seed in range(5)]
    assert len(set(places)) == 5 and repr(dp.make(name, 0).seen(best)) == places[0]


def test_only_what_may_be_moved_is_moved():
    space = {
        "c": Choice(list("abcd")),
        "o": Choice(list("abcd"), ordered=True),
        "i": Int(0, 9),
        "j": Int(0, 9),
        "b": Bool(),
    }
    space |= {"x": Float(0, 1), "y": Float(0, 1)}
    problem = dp.Discrete("p", Space(space), lambda point: 0.0, reach={"y": 0.1}, mirrored=frozenset({"j"}))
    seen = [dp.hidden(problem, seed).maps for seed in range(40)]
    assert set.union(*map(set, seen)) == {"c", "b", "j", "y"}
    assert {m["b"].order for m in seen} == {(0, 1), (1, 0)} and len({m["c"].order for m in seen}) > 10
    assert 0 < sum("j" in m for m in seen) < 40 and all(m["j"].true(2) == 7 for m in seen if "j" in m)
    assert all(abs(m["y"].step) <= 0.1 for m in seen) and {m["y"].mirror for m in seen} == {False, True}


def test_what_the_package_tells_as_a_failed_evaluation_is_none():
    def fails(point):
        raise RuntimeError("nasbench101: no valid network")

    space = Space({"a": Bool()})
    assert math.isnan(dp.hidden(dp.Discrete("p", space, fails), 0)({"a": True}))


def test_a_key_sees_the_labels_behind():
    inner = Space({"a": Choice(list("xyz")), "b": Choice(list("xyz"))})
    space = Canonical(inner, lambda point: None if point["a"] == "x" else "".join(sorted(point.values())), "sorted")
    seen = dp.hidden(dp.Discrete("keyed", space, lambda point: 0.0), 1)
    for point in map(inner.decode, inner.rows()):
        assert seen.space.key(point) == space.key(seen.true(point))
    assert seen.space != dp.hidden(dp.Discrete("keyed", space, lambda point: 0.0), 2).space


@pytest.mark.parametrize(("problem", "published"), [(categories.func2c(), -0.20632), (categories.func3c(), -0.72214)])
def test_the_published_minimum_is_the_least_over_all_categories(problem, published):
    from scipy.optimize import minimize

    names = [
        name
        for name, member in zip(problem.space.names, problem.space.members, strict=True)
        if isinstance(member, Choice)
    ]
    sizes = [member.options for member in problem.space.members if isinstance(member, Choice)]
    lowest = math.inf
    for chosen in product(*sizes):
        fixed = dict(zip(names, chosen, strict=True))
        for start in ((0, -0.3), (0.5, 0.25), (-0.8, 0.4)):
            found = minimize(lambda z, f=fixed: problem(f | {"x": z[0], "y": z[1]}), start, bounds=[(-1, 1)] * 2)
            lowest = min(lowest, found.fun)
    assert lowest == pytest.approx(published, abs=1e-5) == problem.optimum


def test_camels_are_best_beyond_the_box_too_as_far_as_it_is_moved():
    rng = np.random.default_rng(0)
    z = rng.uniform(-2 - 8 * categories.REACH, 2 + 8 * categories.REACH, (20_000, 2))
    assert min(categories.camel(a, b) for a, b in z) > -categories.CAMEL / 10
    assert min(min(categories.rosenbrock(a, b), categories.beale(a, b)) for a, b in z[:2000]) >= 0


def test_no_flip_of_one_or_two_variables_improves_the_best_clauses():
    problem = bits.clauses(28)
    names = problem.space.names
    for i, first in enumerate(names):
        for second in names[i:]:
            flipped = problem.best | {first: not problem.best[first], second: not problem.best[second]}
            assert problem(flipped) >= problem.optimum


def test_labs_is_the_merit_factor():
    barker = "1111100110101"  # of 13: no lag is above 1, and the merit factor is 169 / 12
    problem = bits.labs(13)
    point = {name: bit == "1" for name, bit in zip(problem.space.names, barker, strict=True)}
    assert problem(point) == pytest.approx(-169 / 12)


def test_doing_nothing_costs_nothing_but_the_pest():
    first, spread, _ = stages.draws()
    share, infested = first, 0.0
    for stage in range(stages.STAGES):
        infested += (share > 0.1).mean()
        share = share + spread[stage] * (1 - share)
    assert stages.pest()({f"s{i:02}": 0 for i in range(25)}) == pytest.approx(infested)


def test_a_pesticide_that_is_used_often_is_cheaper_and_weaker():
    problem = stages.pest()
    always = {f"s{i:02}": 2 for i in range(25)}
    paid = 25 * 0.8 * (1 - 0.3)
    assert paid < problem(always) < paid + 25
    assert problem(always) != problem(always | {"s00": 0}) != problem(always | {"s24": 0})


def test_a_network_of_a_problem_has_the_value_of_its_row_and_one_without_a_row_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("LAMCTS_DATA", str(tmp_path))
    made_up.write(tmp_path, formats.TRANSNAS, made_up.transnas())
    made_up.write(tmp_path, formats.MACRO, made_up.macro())
    macro, transnas = tables.macro(), tables.transnas()
    assert macro(dict.fromkeys(macro.space.names, "identity")) == 50 and macro(macro.best) == macro.optimum == 90
    assert set(macro.best.values()) == {"k5 e6"}
    assert transnas(transnas.best) == transnas.optimum == 50
    assert transnas(transnas.best | {"0->2": "conv3x3"}) == 50  # an idle operation: nothing leads on from there
    assert math.isnan(transnas(dict.fromkeys(transnas.space.names, "none")))


def test_what_lacks_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("LAMCTS_DATA", str(tmp_path))
    assert "no nasbench_macro.npz" in dp.lacking("macro") and not dp.lacking("pest")
    with pytest.raises(ValueError, match="expected a problem out of"):
        dp.lacking("pets")
