"""What normal losses are expected to add to a front."""

import numpy as np
import pytest

from lamcts.models.acquisition import expected_hypervolume, log_expected_hypervolume
from lamcts.outcomes.cells import cells_of
from lamcts.outcomes.hypervolume import default_reference, improvement


@pytest.mark.parametrize("m", [2, 3])
def test_the_expected_gain_in_hypervolume_is_the_mean_over_draws(m):
    rng = np.random.default_rng(0)
    front, mean, sd = rng.random((6, m)), rng.random((5, m)) - 0.2, 0.05 + 0.4 * rng.random((5, m))
    draws = mean[:, None] + sd[:, None] * rng.standard_normal((5, 200_000, m))
    reference = default_reference(front)
    expected = [improvement(own, front, reference).mean() for own in draws]
    assert expected_hypervolume(mean, sd, cells_of(front, reference)) == pytest.approx(expected, rel=0.02)


def test_of_points_that_gain_next_to_nothing_the_nearer_one_is_worth_more():
    front, reference = np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]]), np.array([3.0, 3.0])
    cells = cells_of(front, reference)
    near = np.array([[1.5, 1.5], [0.0, 0.5], [1.0, 1.0]])
    sd = np.full((3, 2), 0.3)
    assert log_expected_hypervolume(near, sd, cells) == pytest.approx(np.log(expected_hypervolume(near, sd, cells)))
    far = np.array([[10.0, 10.0], [11.0, 10.0], [12.0, 30.0]])
    sd = np.full((3, 2), 0.01)
    assert not expected_hypervolume(far, sd, cells).any()
    value = log_expected_hypervolume(far, sd, cells)
    assert np.isfinite(value).all()
    assert value[0] > value[1] > value[2]


def test_the_logarithm_of_a_volume_goes_on_where_the_volume_ends():
    cells = cells_of(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([2.0, 2.0]))
    mean = np.stack([np.linspace(20.0, 40.0, 400), np.full(400, 0.5)], axis=1)
    value = log_expected_hypervolume(mean, np.ones((400, 2)), cells)
    assert value[0] > -300 and value[-1] < -700
    steps = np.diff(value)
    assert (steps < 0).all() and np.abs(np.diff(steps)).max() < 0.02  # smooth: about -z^2 / 2
