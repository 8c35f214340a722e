"""What new rows gained: by nearness to the best of one loss, by volume of several, most of all the first feasible."""

import numpy as np
import pytest

from lamcts.outcomes.observations import Observations
from lamcts.samplers.portfolio.bandit import gains


def observed(f, g=None):
    """Return rows of losses f [n, m] and excesses g [n, c]."""
    f = np.array(f, float)
    g = np.empty((len(f), 0)) if g is None else np.array(g, float)
    seen = Observations(1, losses=f.shape[1], constraints=g.shape[1])
    nobody, unknown = np.full(len(f), -1), np.full(len(f), np.nan)
    seen.append(np.arange(len(f))[:, None] / 100, f, unknown, nobody, nobody, g)
    return seen


def test_the_first_feasible_row_gains_most_and_before_it_a_row_that_is_ahead_a_little():
    seen = observed([[1], [1], [1], [1]], [[3], [2], [-1], [4]])
    assert gains(seen, 0, [[2], [3], []]).tolist() == [1.0, 0.0, 0.0]
    seen = observed([[1], [1], [1]], [[3], [2], [4]])
    first = gains(seen, 0, [[1], [2]])
    assert 0 < first[0] < 1 and first[1] == 0


def test_a_better_loss_gains_its_share_of_the_distance_to_a_good_row_and_an_infeasible_one_nothing():
    seen = observed([[0], [1], [2], [3], [-0.5], [-9]], [[-1], [-1], [-1], [-1], [-1], [1]])
    assert gains(seen, 0, [[4], [5]]).tolist() == [pytest.approx(0.5), 0.0]


def test_of_several_losses_a_row_gains_the_volume_that_it_adds_whatever_their_units():
    f = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [0.9, 0.9], [2.0, 2.0]])
    own = gains(observed(f), 0, [[2], [3], [4], []])
    assert own[0] > own[1] > own[2] == own[3] == 0.0
    assert gains(observed(f * [4, 0.5] + [8, 16]), 0, [[2], [3], [4], []]) == pytest.approx(own)
