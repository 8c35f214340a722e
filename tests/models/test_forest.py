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
