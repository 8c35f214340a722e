"""The tree of LA-MCTS as published: it splits at θ rows whatever they say, and holds a search in its leaf."""

import numpy as np
import pytest

import lamcts
from lamcts.outcomes.observations import Observations
from lamcts.tree import LatentTree, walk

BOX = lamcts.Box(0, 1, dim=3)


def observed(n, seed=0):
    """Return rows whose values say nothing of their places."""
    rng, seen, nobody = np.random.default_rng(seed), Observations(3), np.full(n, -1)
    seen.append(rng.random((n, 3)), rng.random((n, 1)), np.full(n, np.nan), nobody, nobody)
    return seen


def root_of(tree, n):
    return tree.incremental(BOX, observed(n), 0).root()


def test_it_splits_at_theta_rows_though_nothing_can_be_learned():
    assert not root_of(LatentTree.paper(theta=40), 39).kids
    assert root_of(LatentTree.paper(theta=40), 40).kids
    assert not root_of(LatentTree(), 40).kids, "the default's check finds nothing that ranks held-out rows"


def test_no_leaf_has_as_many_rows_as_may_be_split_and_values_are_raw_means():
    seen = observed(300)
    root = LatentTree.paper(theta=30).incremental(BOX, seen, 0).root()
    leaves = [node for node in walk(root) if not node.kids]
    assert len(leaves) > 8 and np.median([len(node.rows) for node in leaves]) < 30
    assert all(node.value == pytest.approx(-seen.y[node.rows].mean()) for node in leaves)


def test_the_region_round_a_point_is_its_leaf():
    tree = LatentTree.paper()
    root, x = root_of(tree, 200), np.full(3, 0.5)
    region = tree.around(root, x)
    assert region.steps in [steps for steps, node in lamcts.tree.paths(root) if not node.kids]
    assert region.contains(x[None]).all()


def test_a_theta_that_cannot_be_split_is_refused():
    with pytest.raises(ValueError, match="paper: theta: expected a whole number of at least 4, got 3"):
        LatentTree.paper(theta=3)
