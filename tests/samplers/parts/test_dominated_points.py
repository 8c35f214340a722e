"""Which points a front dominates: of two losses by one sort, as by comparing all pairs."""

import numpy as np

from lamcts.outcomes.scalarisation import dominated


def test_points_that_a_front_of_two_losses_dominates_are_those_of_all_pairs():
    rng = np.random.default_rng(0)
    for size in (1, 2, 50):
        front, points = rng.integers(0, 9, (size, 2)).astype(float), rng.integers(0, 9, (200, 2)).astype(float)
        points[0], points[1] = front[0], [np.nan, 9.0]
        pairs = (points[:, None] >= front).all(2).any(1)
        assert dominated(points, front).tolist() == pairs.tolist()
    assert not dominated(points, np.empty((0, 2))).any()
