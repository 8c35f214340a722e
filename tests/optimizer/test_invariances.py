"""What must not matter where there are constraints and several objectives: units, order, and what is never broken."""

import numpy as np
import pytest

import lamcts
from tests.extras import samplers

BOX = lamcts.Box(0, 1, dim=3)
SAMPLERS = samplers("auto", "turbo", "quadratic", "coordinate", "cma", "uniform")
EXACT = samplers("coordinate", "cma", "uniform")


def columns(point):
    """Return two losses and two excesses of a point."""
    a, b = np.square(point - 0.3).sum(), np.square(point - 0.7).sum()
    return np.array([a, b]), np.array([0.4 - point[0], point[1] + point[2] - 1.2])


def proposals(sampler, objectives, constraints, told, rounds=10, batch=3):
    """Return all points of a run, [n, d], and its optimizer; `told(f, g)` returns what is told of a point."""
    opt = lamcts.Optimizer(BOX, seed=5, sampler=sampler, objectives=objectives, constraints=constraints)
    points = []
    for _ in range(rounds):
        trials = opt.ask(batch)
        points += [t.x for t in trials]
        opt.tell(trials, [tuple(np.concatenate(told(*columns(t.point)))) for t in trials])
    return np.array(points), opt


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("m", [1, 2])
def test_a_constraint_that_is_never_broken_changes_no_proposal(sampler, m):
    one, _ = proposals(sampler, m, 1, lambda f, g: (f[:m], g[:1]))
    two, _ = proposals(sampler, m, 2, lambda f, g: (f[:m], g[:1], [-1.0]))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("m", [1, 2])
def test_powers_of_two_in_the_units_of_objectives_and_constraints_change_no_proposal(sampler, m):
    one, _ = proposals(sampler, m, 2, lambda f, g: (f[:m], g))
    two, _ = proposals(sampler, m, 2, lambda f, g: (f[:m] * [8.0, 0.25][:m], g * [0.5, 16.0]))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("sampler", EXACT)
def test_another_order_of_the_constraints_changes_no_proposal(sampler):
    one, _ = proposals(sampler, 1, 2, lambda f, g: (f[:1], g))
    two, _ = proposals(sampler, 1, 2, lambda f, g: (f[:1], g[::-1]))
    assert np.array_equal(one, two)


def root_of(opt):
    return lamcts.LatentTree().incremental(BOX, opt.seen).root()


@pytest.mark.parametrize("change", [lambda f: f**3, lambda f: np.exp(f), lambda f: f[::-1], lambda f: np.r_[f, f[:1]]])
def test_increasing_maps_another_order_and_a_repeated_objective_leave_the_tree_as_it_is(change):
    rng = np.random.default_rng(0)
    points = rng.random((200, 3))
    found = [columns(p) for p in points]
    trees = []
    for alter in (lambda f: f, change):
        told = [tuple(alter(f)) for f, _ in found]
        opt = lamcts.Optimizer(BOX, seed=0, objectives=len(told[0]), constraints=2)
        opt.tell_points(points, told, [tuple(g) for _, g in found])
        trees.append([(node.rows.tolist(), node.value) for node in lamcts.tree.walk(root_of(opt))])
    assert len(trees[0]) > 3 and trees[0] == trees[1]


def test_increasing_maps_of_the_excesses_that_keep_0_leave_the_tree_as_it_is():
    points = np.random.default_rng(1).random((200, 3))
    trees = []
    for alter in (lambda g: g, lambda g: g**3, lambda g: 100 * g):
        opt = lamcts.Optimizer(BOX, seed=0, constraints=2)
        found = [columns(p) for p in points]
        opt.tell_points(points, [f[0] for f, _ in found], [tuple(alter(g)) for _, g in found])
        trees.append([(node.rows.tolist(), node.value) for node in lamcts.tree.walk(root_of(opt))])
    assert len(trees[0]) > 3 and trees[0] == trees[1] == trees[2]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_to_maximize_is_to_minimize_the_negative(sampler):
    def run(objectives, sign):
        opt = lamcts.Optimizer(BOX, seed=5, sampler=sampler, objectives=objectives, constraints=["h <= 0"])
        points = []
        for _ in range(10):
            trials = opt.ask(3)
            points += [t.x for t in trials]
            found = [columns(t.point) for t in trials]
            opt.tell(trials, [{"a": sign * f[0], "b": f[1], "h": g[0]} for f, g in found])
        return np.array(points)

    assert np.array_equal(run({"a": "min", "b": "min"}, 1.0), run({"a": "max", "b": "min"}, -1.0))


def test_one_call_of_tell_or_several_leads_to_the_same_standing():
    def run(split):
        opt = lamcts.Optimizer(BOX, seed=5, sampler="uniform", objectives=2, constraints=2)
        trials = opt.ask(30)
        found = [tuple(np.concatenate(columns(t.point))) for t in trials]
        for i in range(0, 30, split):
            opt.tell(trials[i : i + split], found[i : i + split])
        return opt.seen.y, opt.seen.front.tolist()

    for split in (1, 7):
        assert np.array_equal(run(30)[0], run(split)[0]) and run(30)[1] == run(split)[1]
