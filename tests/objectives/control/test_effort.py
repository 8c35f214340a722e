"""Speed and effort of a gait, against gymnasium's own account of each step."""

import numpy as np
import pytest

from lamcts import objectives, testing
from lamcts.rng import Purpose, derive

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install '.[mujoco]'")
pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")

ENVIRONMENTS = {"swimmer-effort": "Swimmer-v5", "halfcheetah-effort": "HalfCheetah-v5"}


def played(name, weights, seed, steps):
    """Return mean speed and squared torque of an episode, from what the environment says of each step."""
    env = gymnasium.make(ENVIRONMENTS[name], disable_env_checker=True, max_episode_steps=steps)
    state, _ = env.reset(seed=seed)
    speeds, efforts, over = [], [], False
    while not over:
        action = weights.reshape(-1, len(state)) @ state
        state, _, fallen, late, info = env.step(action)
        speeds.append(info["x_velocity"])
        efforts.append(np.square(env.unwrapped.data.ctrl.clip(*env.unwrapped.model.actuator_ctrlrange.T)).sum())
        over = fallen or late
    env.close()
    return np.mean(speeds), np.mean(efforts)


@pytest.mark.parametrize("size", [0.05, 1.0])  # the second asks for more than the actuators give
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_speed_and_effort_are_what_the_environment_says(name, size):
    f = objectives.make(name, rollouts=2, episode_steps=40)
    weights = np.random.default_rng(0).uniform(-size, size, f.space.dim)
    expected = np.mean([played(name, weights, derive(5, Purpose.EVALUATION, i), 40) for i in range(2)], axis=0)
    found = f(weights, seed=5)
    assert [found["speed"], found["effort"]] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_keeps_the_contract_of_objectives(name):
    testing.check_objective(objectives.make(name, rollouts=1, episode_steps=20))


def test_doing_nothing_takes_no_effort_and_fixed_starts_repeat():
    f = objectives.make("swimmer-effort", rollouts=1, episode_steps=20, seeds="fixed", base_seed=3)
    assert f(f.x0)["effort"] == 0.0 and abs(f(f.x0)["speed"]) < 0.2
    assert f(f.x0 + 0.1) == f(f.x0 + 0.1, seed=9)
    assert f.reference == {"speed": 0.0, "effort": 2.0} and f.objectives == {"speed": "max", "effort": "min"}
    assert (
        f.fingerprint()
        != objectives.make("swimmer", rollouts=1, episode_steps=20, seeds="fixed", base_seed=3).fingerprint()
    )
