import importlib.util
import threading
from dataclasses import replace

import numpy as np
import pytest

from lamcts.objectives.control.mujoco import batch, gait
from lamcts.rng import Purpose, derive

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install '.[mujoco]'")
pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
if importlib.util.find_spec("mujoco.batch") is None:
    pytest.skip("this mujoco has no batch: pip install 'mujoco>=4'", allow_module_level=True)


def by_hand(env, w, seed, moments=None):
    """Return the rewards of one episode, from gymnasium and numpy alone."""
    mean, std = moments or (0.0, 1.0)
    state, _ = env.reset(seed=seed)
    rewards, over = [], False
    while not over:
        state, reward, fallen, late, _ = env.step(w @ ((state - mean) * (1 / std)))
        rewards.append(reward)
        over = fallen or late
    return rewards


def starts(seed, k):
    return [derive(seed, Purpose.EVALUATION, i) for i in range(k)]


@pytest.mark.parametrize("env", batch.BODIES)
def test_returns_are_gymnasiums_bit_for_bit(env):
    made = gait(env, rollouts=2, episode_steps=120)
    assert batch.can_play(made.world)
    rng = np.random.default_rng(0)
    points = [made.x0, *rng.uniform(-1, 1, (2, made.space.dim)), *rng.normal(0, 0.05, (3, made.space.dim))]
    plain = gymnasium.make(gymnasium.spec(env), disable_env_checker=True, max_episode_steps=120)
    lengths = set()
    for found, point, seed in zip(made.many(points, range(6)), points, range(6), strict=True):
        rewards = [by_hand(plain, point.reshape(made.actions, made.states), s) for s in starts(seed, 2)]
        assert found.returns.tolist() == [sum(map(float, r)) for r in rewards]
        assert found.steps.tolist() == [len(r) for r in rewards]
        lengths |= set(found.steps.tolist())
    assert len(lengths) > 3 if "Hopper" in env or "Walker" in env else lengths == {120}


@pytest.mark.parametrize("env", ["Hopper-v5", "HalfCheetah-v5"])
def test_states_and_moments_are_the_same_by_both_routes(env):
    quick, slow = (gait(env, route=route, episode_steps=60) for route in ("auto", "gymnasium"))
    point = np.random.default_rng(1).uniform(-1, 1, quick.space.dim)
    states = slow.evaluate(quick.x0, seed=0).states
    np.testing.assert_array_equal(quick.evaluate(quick.x0, seed=0).states.mean, states.mean)
    np.testing.assert_array_equal(quick.evaluate(quick.x0, seed=0).states.squares, states.squares)
    quick, slow = (gait(env, route=route, episode_steps=60, moments=states) for route in ("auto", "gymnasium"))
    assert quick.evaluate(point, seed=5).returns.tolist() == slow.evaluate(point, seed=5).returns.tolist()


def test_more_episodes_than_a_batch_holds_are_played_in_parts(monkeypatch):
    made = gait("Hopper-v5", episode_steps=40)
    points = np.random.default_rng(2).uniform(-1, 1, (5, 33))
    whole = [found.returns.tolist() for found in made.many(points, range(5))]
    monkeypatch.setattr(batch, "TOGETHER", 4)  # parts that end in the midst of a point's episodes
    assert [found.returns.tolist() for found in made.many(points, range(5))] == whole
    assert [made.evaluate(point, seed=i).returns.tolist() for i, point in enumerate(points)] == whole


def test_a_simulation_that_blows_up_scores_as_in_gymnasium(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quick, slow = (gait("Swimmer-v5", rollouts=2, route=route, episode_steps=30) for route in ("auto", "gymnasium"))
    monkeypatch.setitem(batch.BODIES, "Swimmer-v5", replace(batch.BODIES["Swimmer-v5"], noise=1e9))
    env = slow.world.environment().unwrapped
    monkeypatch.setattr(env, "_reset_noise_scale", 1e9)  # accelerations that MuJoCo refuses: it resets the simulation
    one, other = (made.evaluate(made.x0, seed=3) for made in (quick, slow))
    np.testing.assert_array_equal(one.returns, other.returns)
    assert np.abs(one.returns).min() > 1e6
    assert env.data.warning.number.sum() > 0
    assert list(tmp_path.iterdir()) == []


def test_threads_do_not_disturb_each_other():
    made = gait("Hopper-v5", episode_steps=100)
    points = np.random.default_rng(3).uniform(-1, 1, (4, 33))
    alone = [made(point, seed=i) for i, point in enumerate(points)]
    found = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: made(points[i], seed=i)})) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(4)] == alone


def test_bodies_with_contact_forces_options_or_an_old_mujoco_take_gymnasium(monkeypatch):
    hopper = gait("Hopper-v5", episode_steps=20)
    assert not batch.can_play(gait("Ant-v4", options={"use_contact_forces": True}).world)
    assert not batch.can_play(gait("Hopper-v5", options={"ctrl_cost_weight": 0.1}).world)
    score = hopper(hopper.x0, seed=0)
    monkeypatch.setattr(batch, "_installed", lambda: False)
    monkeypatch.setattr(batch, "play", lambda *_: pytest.fail("played in a batch"))
    assert not batch.can_play(hopper.world) and hopper(hopper.x0, seed=0) == score
