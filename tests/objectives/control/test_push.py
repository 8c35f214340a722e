import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lamcts import objectives
from lamcts.errors import MissingExtra
from lamcts.objectives.control.world import box2d

pytest.importorskip("Box2D", reason="Box2D is not installed: pip install '.[mujoco]'")

# Values of the authors' own code, without window and noise, at the first 40 of default_rng(0).random((60, 14)),
# stretched to the box. About a third of random points touch nothing.
# fmt: off
GOLDEN = [  # of zi-w/Ensemble-Bayesian-Optimization, commit 4e6f9ed, on Box2D 2.3.10
    0.08432171144342959, -0.12368645435029979, -0.20005916706571902, -0.9948467114742483, 0.0489172320051372, 0.0,
    0.016058550092929558, 0.0, 0.0, -0.023869615713532077, 0.04098929129099016, 0.5046577320630421, 0.0,
    -0.019484258225848983, 0.0, 0.0, 0.0, 0.0, 0.0, 0.023251417574606137, -0.4761282540650189, -1.8406418260758244,
    0.6648764145517312, -2.289429704378107, 0.0, -1.4944011090883853, -0.12488417724927903, -0.5223704553357544,
    -0.05651907027152525, 0.0, -0.844588990629016, 0.0, -0.004546454673756806, -0.5368708518713925,
    -0.08642975247906826, -0.06747644798796593, 0.0, 1.138537900456157, 1.2129094904222848, 0.0,
]
# fmt: on
AWAY = [5.0, 5.0, 10.0, 10.0, 2.0, 0.0, 5.0, -5.0, 10.0, -10.0, 2.0, 0.0, 0.0, 0.0]
RIGHT = [-3.0, 2.0, 5.0, 0.0, 10.0, np.pi / 2, 5.0, -5.0, 10.0, -10.0, 2.0, 0.0, 0.0, 0.0]


@pytest.fixture
def push():
    return objectives.make("push")


def points(push):
    low, high = push.space.low, push.space.high
    return low + (high - low) * np.random.default_rng(0).random((60, 14))


def test_the_values_are_those_of_the_original(push):
    values = [push(x) for x in points(push)[:40]]
    np.testing.assert_allclose(values, GOLDEN, rtol=0, atol=1e-6)


def test_the_box_and_the_most_that_can_be_had(push):
    assert push.space.dim == 14 and push.maximize
    assert push.space.low.tolist() == [-5, -5, -10, -10, 2, 0] * 2 + [-5, -5]
    np.testing.assert_allclose(push.space.high, [5, 5, 10, 10, 30, 2 * np.pi] * 2 + [5, 5])
    assert push.ceiling == pytest.approx(11.072737127026487)


def test_hands_that_meet_nothing_score_nothing(push):
    np.testing.assert_array_equal(push.places(AWAY), [[0, 2], [0, -2]])
    assert push(AWAY) == pytest.approx(0, abs=1e-12)


def test_a_push_to_the_right_moves_the_square_to_the_right_and_nothing_else(push):
    (x, y), disc = push.places(RIGHT)
    assert x > 1 and abs(y - 2) < 0.01
    assert disc.tolist() == [0, -2]
    assert push(RIGHT) > 1  # the square's goal lies on the right, and higher


def test_noise_follows_the_seed(push):
    noisy = objectives.make("push", noise=0.01)
    first = noisy(RIGHT, seed=1)
    assert noisy(RIGHT, seed=1) == first != noisy(RIGHT, seed=2)
    assert first == pytest.approx(push(RIGHT), abs=0.5)
    assert push(RIGHT, seed=1) == push(RIGHT, seed=2)


def test_worlds_of_several_threads_do_not_meet(push):
    some = points(push)[:12]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(push, some)) == [push(x) for x in some]


def test_pushing_is_the_same_after_pickling(push):
    assert pickle.loads(pickle.dumps(push))(RIGHT) == push(RIGHT)


@pytest.mark.parametrize("point", [np.zeros(13), np.zeros((1, 14)), np.full(14, np.inf)])
def test_a_wrong_point_is_refused(push, point):
    with pytest.raises(ValueError, match="14 finite numbers"):
        push(point)


def test_a_wrong_noise_is_refused():
    with pytest.raises(ValueError, match="standard deviation"):
        objectives.make("push", noise=-0.1)


@pytest.mark.parametrize("name", ["push", "lunar"])
def test_without_box2d_the_extra_is_named(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(MissingExtra, match=r"\.\[mujoco\]"):
        objectives.make(name)
    with pytest.raises(MissingExtra, match=r"gymnasium\[box2d\].*\.\[mujoco\]"):
        box2d.__wrapped__()
