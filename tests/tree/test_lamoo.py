"""The tree of LaMOO: labels by dominance number, a node's value the hypervolume of its rows, the best leaf."""

import numpy as np
import pytest

import lamcts
from lamcts.outcomes.dominance import dominance_numbers
from lamcts.outcomes.observations import Observations
from lamcts.samplers import GpBo, LaMcts, Uniform
from lamcts.tree import LatentTree, paths, walk
from lamcts.tree.select import best_leaf, upper_bound

BOX = lamcts.Box(0, 1, dim=3)


def observed(n=120, seed=0):
    """Return rows of two losses that pull apart along the first coordinate, and grow with the second."""
    x = np.random.default_rng(seed).random((n, 3))
    f = np.stack([x[:, 0] + 3 * x[:, 1], 1 - x[:, 0] + 3 * x[:, 1]], axis=1)
    seen = Observations(3, losses=2)
    nobody = np.full(n, -1)
    seen.append(x, f, np.full(n, np.nan), nobody, nobody)
    return seen


def test_a_node_is_worth_the_share_of_the_box_that_its_rows_dominate():
    seen = observed()
    root = LatentTree.lamoo().incremental(BOX, seen, 0).root()
    f = (seen.f - seen.f.min(0)) / (seen.f.max(0) - seen.f.min(0))
    draws = 1.1 * np.random.default_rng(1).random((20_000, 2))
    assert len(list(walk(root))) > 4
    for node in walk(root, 2):
        share = (f[node.rows][:, None, :] <= draws).all(2).any(0).mean()
        assert node.value == pytest.approx(share, abs=0.015)


def test_the_first_split_sets_the_better_half_by_dominance_number_apart():
    seen = observed()
    numbers = dominance_numbers(seen.f)
    good, bad = LatentTree.lamoo().incremental(BOX, seen, 0).root().kids
    assert numbers[good.rows].mean() < 0.3 * numbers[bad.rows].mean()
    assert abs(len(good.rows) - len(bad.rows)) < 0.3 * len(seen)


def test_the_leaf_of_the_highest_upper_bound_is_selected():
    seen, tree = observed(300, 3), LatentTree.lamoo()
    root = tree.incremental(BOX, seen, 0).root()
    found = list(paths(root))
    node_at = {len(steps): node for steps, node in found}
    bounds = []
    for steps, node in found:  # parents come first, so the last of each depth is the parent
        node_at[len(steps)] = node
        if not node.kids:
            bounds.append((upper_bound(node_at[len(steps) - 1], node, tree.cp), steps))
    region = best_leaf(root, np.random.default_rng(0), tree.cp)
    assert region.steps == max(bounds, key=lambda pair: pair[0])[1] and len(bounds) > 4
    assert region.contains(seen.x[region.rows]).all()


def test_without_a_feasible_row_every_node_is_worth_nothing_and_the_search_goes_on():
    tree = LatentTree.lamoo()
    opt = lamcts.Optimizer(BOX, seed=0, sampler=LaMcts(GpBo(), tree), objectives=2, constraints=1)
    for _ in range(15):
        trials = opt.ask(3)
        opt.tell(trials, [(*t.point[:2], 1 + t.point[2]) for t in trials])
    assert tree.incremental(opt.space, opt.seen).root().value == 0.0 and len(opt.front) == 0


@pytest.mark.parametrize("selector", ["leaf", "ucb"])
def test_a_search_uses_it_and_a_file_holds_it(selector, tmp_path):
    sampler = LaMcts(GpBo(), LatentTree.lamoo(selector=selector))
    opt = lamcts.Optimizer(BOX, seed=0, sampler=sampler, objectives=2)
    for _ in range(20):
        trials = opt.ask(3)
        opt.tell(trials, [(t.point[0] + 3 * t.point[1], 1 - t.point[0] + 3 * t.point[1]) for t in trials])
    opt.save(tmp_path / "run.db")
    later = lamcts.Optimizer.load(tmp_path / "run.db")
    assert later.sampler == sampler and [t.x.tolist() for t in later.ask(3)] == [t.x.tolist() for t in opt.ask(3)]


def test_one_objective_has_such_a_tree_too():
    tree = LatentTree.lamoo()
    opt = lamcts.Optimizer(BOX, seed=0, sampler=LaMcts(Uniform(), tree))
    for _ in range(40):
        trials = opt.ask()
        opt.tell(trials, [float(t.point.sum()) for t in trials])
    root, y = tree.incremental(opt.space, opt.seen).root(), opt.seen.y
    assert root.value == pytest.approx(1.0) and root.kids
    for node in walk(root):
        assert node.value == pytest.approx((1.1 - (y[node.rows].min() - y.min()) / (y.max() - y.min())) / 1.1)
