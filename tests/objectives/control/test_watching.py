"""What episodes show beside their returns, against gymnasium's own places and rewards."""

import numpy as np
import pytest

from lamcts.objectives.control.episodes import Episode, Rollouts
from lamcts.objectives.control.mujoco import gait
from lamcts.rng import Purpose, derive
from lamcts.samplers import Turbo
from lamcts.study import Study

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install '.[mujoco]'")
pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")


def weights(made, seed=0, size=0.3):
    return np.random.default_rng(seed).uniform(-size, size, made.space.dim)


@pytest.mark.parametrize("env", ["Hopper-v5", "Hopper-v4", "HalfCheetah-v5", "Walker2d-v4", "Swimmer-v5"])
def test_both_routes_know_the_same_of_an_episode(env):
    quick, slow = (gait(env, episode_steps=40, route=route) for route in ("auto", "gymnasium"))
    one, other = (made.evaluate(weights(made), seed=3) for made in (quick, slow))
    for name in ("returns", "steps", "ended", "alive"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.distance, other.distance, atol=1e-9)
    np.testing.assert_array_equal(one.ended, one.steps < 40)


def test_quantities_are_objectives_and_constraints():
    far = gait("Hopper-v5", episode_steps=40, objectives=["distance"])
    point = weights(far)
    found = far.evaluate(point, seed=3)
    assert far.maximize and far.objectives is None and far(point, seed=3) == pytest.approx(found.distance.mean())
    both = gait("Hopper-v5", episode_steps=40, objectives=["distance", "progress"], constraints=["falls <= 0"])
    columns = both(point, seed=3)
    assert both.objectives == {"distance": "max", "progress": "max"} and both.constraints == ("falls <= 0",)
    assert columns["falls"] == found.ended.mean() and columns["return"] == pytest.approx(found.mean)
    assert columns["progress"] == pytest.approx(found.mean - found.alive.mean())
    assert columns["speed"] == pytest.approx(columns["distance"] / (0.008 * found.steps.mean()), rel=0.2)
    assert both.fingerprint() != far.fingerprint() != gait("Hopper-v5", episode_steps=40).fingerprint()
    for wrong in ({"objectives": ["height"]}, {"constraints": ["height <= 1"]}):
        with pytest.raises(ValueError, match=r"expected quantities out of return, distance, .* got height"):
            gait("Hopper-v5", **wrong)


@pytest.mark.parametrize("env", ["Swimmer-v4", "Hopper-v5", "Walker2d-v4", "Ant-v4"])
def test_the_distance_is_how_far_the_body_came(env):
    made = gait(env, rollouts=1, episode_steps=25, route="gymnasium")
    point = weights(made, size=0.1)
    watched = made.evaluate(point, seed=1)
    inner = made.world.environment().unwrapped
    end = inner.data.qpos[0]
    inner.reset(seed=derive(1, Purpose.EVALUATION, 0))
    assert watched.distance[0] == pytest.approx(end - inner.data.qpos[0], abs=2e-3)  # v4's Ant asks another place


@pytest.mark.parametrize("env", ["Hopper-v4", "Hopper-v5", "Walker2d-v4", "Humanoid-v4", "Humanoid-v5", "Ant-v5"])
def test_the_bonus_for_being_alive_is_the_environments_own(env):
    made = gait(env, rollouts=2, episode_steps=6)
    watched = made.evaluate(made.x0, seed=0)
    bonus = made.world.environment().unwrapped._healthy_reward
    np.testing.assert_allclose(watched.alive, bonus * watched.steps)
    assert watched.idle  # six steps on its feet, nowhere yet


@pytest.mark.parametrize("env", ["Swimmer-v5", "HalfCheetah-v4"])
def test_a_body_that_cannot_fall_has_no_bonus(env):
    made = gait(env, rollouts=1, episode_steps=5)
    watched = made.evaluate(weights(made), seed=0)
    assert watched.alive_share is None and not watched.idle and not watched.ended.any()


def test_a_return_that_comes_from_motion_is_no_standing():
    seen = np.zeros((1, 1))
    standing = Episode(1058, 1000, False, 0.47, 1000, seen)
    walking = Episode(2000, 1000, False, 8.0, 1000, seen)
    assert Rollouts.of([standing] * 3).idle and not Rollouts.of([walking] * 3).idle
    assert Rollouts.of([standing, walking]).alive_share == pytest.approx(2000 / 3058)
    assert not Rollouts.of([Episode(-5, 10, True, -0.2, 10, seen)]).idle  # nothing gained
    assert Rollouts.of([standing, Episode(1.0, 1, True, None, 0.0, seen)]).distance is None


def test_the_search_is_the_one_that_the_objective_recommends():
    swimmer = gait("Swimmer-v5", rollouts=1, episode_steps=5)
    study = Study(swimmer, None, None, budget=4, seed=0, progress=False)
    study.solve()
    assert isinstance(study.optimizer.sampler, Turbo)
    two = gait("Swimmer-v5", rollouts=1, episode_steps=5, objectives=["speed", "effort"])
    assert two.recommended_sampler is None
    assert gait("HalfCheetah-v5", rollouts=1, episode_steps=5).recommended_sampler is None
