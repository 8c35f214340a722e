import json

import numpy as np
import pytest

from lamcts.objectives.control.moments import Moments
from lamcts.objectives.control.network import LinearPolicy

STATES = np.random.default_rng(0).normal([1, -2, 300], [1, 0.1, 50], (40, 3))


def test_moments_one_by_one_merged_and_at_once_agree():
    at_once = Moments.of(STATES)
    one_by_one = Moments.none(3)
    for state in STATES:
        one_by_one = one_by_one.merge(Moments.of(state))
    merged = Moments.of(STATES[:7]).merge(Moments.of(STATES[7:])).merge(Moments.none(3))
    for moments in (one_by_one, merged):
        assert moments.count == 40
        np.testing.assert_allclose(moments.mean, STATES.mean(0), rtol=1e-12)
        np.testing.assert_allclose(moments.std, STATES.std(0, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(at_once.std, STATES.std(0, ddof=1), rtol=1e-12)


def test_merging_nothing_with_nothing_is_nothing():
    assert Moments.none(2).merge(Moments.none(2)).count == 0


def test_moments_go_through_json_bit_for_bit():
    moments = Moments.of(STATES)
    back = Moments.from_json(json.loads(json.dumps(moments.to_json())))
    assert back.count == 40
    np.testing.assert_array_equal(back.mean, moments.mean)
    np.testing.assert_array_equal(back.squares, moments.squares)


def test_weights_are_read_action_by_action():
    policy = LinearPolicy.of([1, 2, 3, 4, 5, 6], states=3, actions=2)
    np.testing.assert_array_equal(policy.action(np.array([1.0, 10, 100])), [321, 654])


def test_standardised_states_enter_the_action():
    moments = Moments.of(STATES)
    policy = LinearPolicy.of(np.ones(3), states=3, actions=1, moments=moments)
    expected = ((STATES[5] - moments.mean) / moments.std).sum()
    np.testing.assert_allclose(policy.action(STATES[5]), [expected])


def test_an_input_that_does_not_vary_is_switched_off():
    moments = Moments.of([[1, 5], [2, 5], [3, 5]])
    policy = LinearPolicy.of([0, 1], states=2, actions=1, moments=moments)
    assert policy.action(np.array([9.0, 1e6])) == 0


def test_a_wrong_number_of_weights_is_refused():
    with pytest.raises(ValueError, match=r"16 weights in one row .2 actions x 8 states., got shape .15."):
        LinearPolicy.of(np.zeros(15), states=8, actions=2)
