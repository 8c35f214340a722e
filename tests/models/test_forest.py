import numpy as np

from lamcts.models.forest import Forest, rank_of


def test_a_forest_ranks_and_takes_the_coordinates_of_an_option_together():
    np.testing.assert_allclose(rank_of(np.array([3.0, np.nan, 1.0, 2.0])), [1 / 3, np.nan, 1, 2 / 3])
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.random(300), np.eye(3)[rng.integers(3, size=300)]])
    forest = Forest(x, x[:, 0] + 4 * x[:, 2], [slice(0, 1), slice(1, 4)])
    assert forest.order == [1, 0] and forest.score > 0.8
    good, bad = forest.expected(1, np.eye(3)[[0, 1]])
    assert good > bad + 0.3
    assert not Forest(x, np.zeros(300), forest.parts).ready


def conditional(effect, n=300):
    """Return a forest of a parent (0 or 1) and a child that is active where the parent is 1, else encoded as 0.5."""
    rng = np.random.default_rng(1)
    parent, child = rng.integers(2, size=n), rng.random(n)
    loss = effect(parent, child) + 0.01 * rng.random(n)
    x = np.column_stack([parent.astype(float), np.where(parent == 1, child, 0.5)])
    parts = [slice(0, 1), slice(1, 2)]
    return Forest(x, loss, parts, lambda x: np.column_stack([np.ones(len(x), bool), x[:, 0] == 1]))


def test_a_child_without_an_effect_does_not_take_its_parents_importance():
    parent, child = conditional(lambda parent, child: parent).importance
    assert parent > 1 and child < 0.1 * parent


def test_the_effect_of_a_child_is_measured_where_it_is_active():
    few = conditional(lambda parent, child: np.where(parent == 1, child, 0.5))
    assert few.importance[1] > 1 and few.importance[1] > 2 * few.importance[0]
    grid = np.linspace(0.1, 0.9, 5)[:, None]
    assert (np.diff(few.expected(1, grid)) < 0).all() and np.ptp(few.expected(1, grid)) > 0.6


def test_a_forest_of_noise_is_not_trusted():
    rng = np.random.default_rng(0)
    x = rng.random((100, 3))
    parts = [slice(i, i + 1) for i in range(3)]
    assert not Forest(x, rng.random(100), parts).trusted and Forest(x, x[:, 0], parts).trusted
