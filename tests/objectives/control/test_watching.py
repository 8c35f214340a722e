"""What episodes show beside their returns, against gymnasium's own places and rewards."""

import numpy as np
import pytest

from lamcts.objectives.control.episodes import Watched, WatchedEpisode
from lamcts.objectives.control.mujoco import gait
from lamcts.rng import Purpose, derive

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install '.[mujoco]'")
pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")


def weights(made, seed=0, size=0.3):
    return np.random.default_rng(seed).uniform(-size, size, made.space.dim)


@pytest.mark.parametrize("env", ["Hopper-v5", "Hopper-v4", "HalfCheetah-v5"])
def test_watched_episodes_are_those_that_are_scored(env):
    made = gait(env, episode_steps=40)
    scored, watched = made.evaluate(weights(made), seed=3), made.watch(weights(made), seed=3)
    np.testing.assert_array_equal(watched.returns, scored.returns)
    np.testing.assert_array_equal(watched.steps, scored.steps)
    np.testing.assert_array_equal(watched.ended, scored.steps < 40)


@pytest.mark.parametrize("env", ["Swimmer-v4", "Hopper-v5", "Walker2d-v4", "Ant-v4"])
def test_the_distance_is_how_far_the_body_came(env):
    made = gait(env, rollouts=1, episode_steps=25)
    point = weights(made, size=0.1)
    watched = made.watch(point, seed=1)
    inner = made.world.environment().unwrapped
    end = inner.data.qpos[0]
    inner.reset(seed=derive(1, Purpose.EVALUATION, 0))
    assert watched.distance[0] == pytest.approx(end - inner.data.qpos[0], abs=2e-3)  # v4's Ant asks another place


@pytest.mark.parametrize("env", ["Hopper-v4", "Hopper-v5", "Walker2d-v4", "Humanoid-v4", "Humanoid-v5", "Ant-v5"])
def test_the_bonus_for_being_alive_is_the_environments_own(env):
    made = gait(env, rollouts=2, episode_steps=6)
    watched = made.watch(made.x0, seed=0)
    bonus = made.world.environment().unwrapped._healthy_reward
    np.testing.assert_allclose(watched.alive, bonus * watched.steps)
    assert watched.idle  # six steps on its feet, nowhere yet


@pytest.mark.parametrize("env", ["Swimmer-v5", "HalfCheetah-v4"])
def test_a_body_that_cannot_fall_has_no_bonus(env):
    made = gait(env, rollouts=1, episode_steps=5)
    watched = made.watch(weights(made), seed=0)
    assert watched.alive_share is None and not watched.idle and not watched.ended.any()


def test_a_return_that_comes_from_motion_is_no_standing():
    standing, walking = WatchedEpisode(1058, 1000, False, 0.47, 1000), WatchedEpisode(2000, 1000, False, 8.0, 1000)
    assert Watched.of([standing] * 3).idle and not Watched.of([walking] * 3).idle
    assert Watched.of([standing, walking]).alive_share == pytest.approx(2000 / 3058)
    assert not Watched.of([WatchedEpisode(-5, 10, True, -0.2, 10)]).idle  # nothing gained
    assert Watched.of([standing, WatchedEpisode(1.0, 1, True, None, 0.0)]).distance is None
