"""The tree of LA-MCTS as published, next to numbers that scikit-learn and the printed formulas give (thesis 5.3)."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.svm import SVC

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


def test_no_leaf_has_as_many_rows_as_may_be_split_and_values_are_raw_means():
    seen = observed(300)
    root = LatentTree.paper(theta=30).incremental(BOX, seen, 0).root()
    leaves = [node for node in walk(root) if not node.kids]
    assert len(leaves) > 8 and np.median([len(node.rows) for node in leaves]) < 30
    assert all(node.value == pytest.approx(-seen.y[node.rows].mean()) for node in leaves)


def test_a_theta_that_cannot_be_split_is_refused():
    with pytest.raises(ValueError, match="paper: theta: expected a whole number of at least 4, got 3"):
        LatentTree.paper(theta=3)


WIDE, LOW, HIGH = 400, np.array([-5.0, 0.0, 1.0]), np.array([10.0, 1.0, 3.0])


def rosenbrock(x: np.ndarray) -> np.ndarray:
    return np.asarray(100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(1)


def printed(x: np.ndarray, f: np.ndarray) -> SVC:
    """Return the machine of a node with rows x [n, d], f [n], in their own units; 1 is the good side."""
    label = KMeans(2, n_init=20, random_state=0).fit_predict(np.column_stack([x, f]))
    good = label == (0 if f[label == 0].mean() < f[label == 1].mean() else 1)
    return SVC(C=1.0, gamma=1 / x.shape[1], random_state=0).fit((x - x.mean(0)) / x.std(0), good)


@pytest.mark.parametrize("seed", range(3))
def test_labels_regions_values_and_the_selected_leaf_are_those_of_the_printed_algorithm(seed: int) -> None:
    rng, space, seen = np.random.default_rng(seed), lamcts.Box(LOW, HIGH), Observations(3)
    u = rng.random((64, 3))
    x, fresh = LOW + u * (HIGH - LOW), rng.random((WIDE, 3))
    f = rosenbrock(x)
    seen.append(u, f, np.full(64, np.nan), np.arange(64), np.zeros(64, np.int64))
    tree, cp = LatentTree.paper(theta=20, cp=1.0), 1.0
    node, rows, steps = tree.incremental(space, seen).root(), np.arange(64), 0
    region = tree.incremental(space, seen).select(np.random.default_rng(0))
    while node.kids:
        machine, mean, spread = printed(x[rows], f[rows]), x[rows].mean(0), x[rows].std(0)
        np.testing.assert_array_equal(
            node.split.good(fresh), machine.predict((LOW + fresh * (HIGH - LOW) - mean) / spread)
        )
        side = machine.predict((x[rows] - mean) / spread).astype(bool)
        kids = rows[side], rows[~side]
        assert [kid.rows.tolist() for kid in node.kids] == [own.tolist() for own in kids]
        assert [kid.value for kid in node.kids] == pytest.approx([-f[own].mean() for own in kids])
        bounds = [-f[own].mean() + 2 * cp * np.sqrt(2 * np.log(len(rows)) / len(own)) for own in kids]  # (5.2)
        assert region.steps[steps].good == (bounds[0] >= bounds[1])
        chosen = int(np.argmax(bounds))
        node, rows, steps = node.kids[chosen], kids[chosen], steps + 1
    assert steps == len(region.steps) >= 1
