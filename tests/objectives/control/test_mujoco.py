import pickle

import numpy as np
import pytest

from lamcts import objectives
from lamcts.objectives.control.moments import Moments
from lamcts.objectives.control.mujoco import gait

pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install '.[mujoco]'")
pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")

W = np.random.default_rng(0).uniform(-1, 1, 33)  # falls within ten steps: cheap
FALLING = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"


@pytest.fixture
def hopper():
    return objectives.make("hopper", moments="none", objectives=("return",))


def test_doing_nothing_with_the_swimmer_scores_about_ten():
    swimmer = objectives.make("swimmer")
    assert swimmer.maximize and swimmer.space.dim == 16 and swimmer.x0.shape == (16,)
    result = swimmer.evaluate(swimmer.x0, seed=1)
    assert result.steps.tolist() == [1000, 1000, 1000]
    assert -30 < result.mean < 50
    assert swimmer(swimmer.x0, seed=1) == result.mean


def test_the_hopper_has_33_weights_and_stands_for_a_while(hopper):
    assert hopper.space.dim == 33
    result = hopper.evaluate(hopper.x0, seed=0)
    assert 100 < result.mean < 200
    assert (result.steps < 300).all()
    assert result.states.count == result.steps.sum()


def test_a_seed_fixes_the_score_whatever_ran_before(hopper):
    first = hopper(W, seed=4)
    hopper(hopper.x0, seed=9)
    assert hopper(W, seed=4) == first != hopper(W, seed=5)
    assert hopper(W) != hopper(W)


def test_fixed_seeds_repeat_and_follow_the_base_seed():
    fixed = objectives.make("hopper", seeds="fixed")
    other = objectives.make("hopper", seeds="fixed", base_seed=1)
    assert fixed(W) == fixed(W) == fixed(W, seed=5) != other(W)


def test_the_first_rollouts_of_many_are_those_of_few(hopper):
    many = hopper.evaluate(W, seed=2, rollouts=5)
    few = hopper.evaluate(W, seed=2, rollouts=2)
    np.testing.assert_array_equal(many.returns[:2], few.returns)
    assert len(many.returns) == 5


def test_it_scores_the_same_after_pickling(hopper):
    score = hopper(W, seed=3)
    assert pickle.loads(pickle.dumps(hopper))(W, seed=3) == score


def test_given_moments_change_the_policy_and_unit_ones_do_not(hopper):
    plain = hopper(W, seed=1)
    assert objectives.make("hopper", moments=(np.zeros(11), np.ones(11)), objectives=("return",))(W, seed=1) == plain
    seen = hopper.evaluate(hopper.x0, seed=0).states
    assert objectives.make("hopper", moments=seen, objectives=("return",))(W, seed=1) != plain


def test_running_moments_know_nothing_at_first_and_then_what_was_merged(hopper):
    running = objectives.make("hopper", moments="running", objectives=("return",))
    plain = hopper.evaluate(W, seed=1)
    assert running(W, seed=1) == plain.mean
    assert hopper.memory is None
    value, seen = running.recall(W, seed=1, memory=running.memory)
    assert value == plain.mean and seen["count"] == plain.steps.sum()
    memory = running.learn(running.learn(running.memory, seen), hopper.evaluate(W, seed=2).states.to_json())
    assert memory["count"] == plain.steps.sum() + hopper.evaluate(W, seed=2).steps.sum()
    given = objectives.make("hopper", moments=Moments.from_json(memory), objectives=("return",))
    assert running.recall(W, seed=3, memory=memory)[0] == given(W, seed=3) != hopper(W, seed=3)
    assert running.recalling(memory)(W, seed=3) == given(W, seed=3)


def test_nothing_is_written_to_the_current_folder(hopper, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hopper(W, seed=0)
    import mujoco

    data = mujoco.MjData(model := mujoco.MjModel.from_xml_string(FALLING))
    data.qvel[:] = 1e12
    mujoco.mj_step(model, data)
    assert sum(warning.number for warning in data.warning) > 0  # unstable: by default it writes MUJOCO_LOG.TXT
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rollouts": 0}, "at least 1, got 0"),
        ({"rollouts": 2.5}, "whole number"),
        ({"seeds": "frsh"}, "'fresh' or 'fixed'"),
        ({"moments": "runing"}, "'running'"),
        ({"moments": (np.zeros(3), np.ones(3))}, "11 states"),
        ({"moments": Moments.none(8)}, "11 states"),
    ],
)
def test_wrong_settings_say_what_was_expected(settings, message):
    with pytest.raises(ValueError, match=message):
        objectives.make("hopper", **settings)


def test_an_unknown_environment_is_refused():
    with pytest.raises(ValueError, match="'Swimer-v5'"):
        gait("Swimer-v5")


def test_weights_of_another_size_are_refused(hopper):
    with pytest.raises(ValueError, match="33 weights"):
        hopper(np.zeros(16))
