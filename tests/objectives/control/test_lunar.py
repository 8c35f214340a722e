import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lamcts import objectives
from lamcts.objectives.control.lunar import HEURISTIC, action

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install '.[mujoco]'")
pytest.importorskip("Box2D", reason="Box2D is not installed: pip install '.[mujoco]'")

from gymnasium.envs.box2d import lunar_lander  # noqa: E402

DROP = np.zeros(12)  # asks for no angle, no height, and turns nothing on: falls within 2 s of its time


@pytest.fixture
def lander():
    return objectives.make("lunar", rollouts=2)


@pytest.mark.parametrize("terrain", [0, 1, 7])
def test_the_heuristics_constants_act_as_gymnasiums_heuristic(terrain):
    env = gymnasium.make("LunarLander-v3")
    state, _ = env.reset(seed=terrain)
    mine, theirs, over = [], [], False
    while not over:
        mine.append(action(HEURISTIC, state))
        theirs.append(lunar_lander.heuristic(env, state))
        state, _, landed, late, _ = env.step(theirs[-1])
        over = landed or late
    assert mine == theirs
    assert set(mine) == {0, 1, 2, 3}


def test_the_same_actions_wherever_the_lander_may_be():
    env = gymnasium.make("LunarLander-v3")
    states = np.random.default_rng(0).normal(0, 0.1, (4000, 8)).astype(np.float32)
    states[:, 6:] = np.random.default_rng(1).integers(0, 2, (4000, 2))
    mine = [action(HEURISTIC, state) for state in states]
    assert mine == [lunar_lander.heuristic(env, state) for state in states]
    assert min(mine.count(a) for a in range(4)) > 50


def test_returns_are_those_of_gymnasiums_own_demonstration():
    plain = objectives.make("lunar", initial_random=1000.0)
    env = gymnasium.make("LunarLander-v3")
    expected = [lunar_lander.demo_heuristic_lander(env, seed=terrain) for terrain in range(4)]
    assert plain.land(HEURISTIC, range(4)).returns.tolist() == expected


@pytest.mark.parametrize(
    ("weight", "change", "state", "before", "after"),
    [
        (0, 0.0, [0.5, 1, 0, 0, 0, 0, 0, 0], 1, 0),  # no turn towards the pad
        (1, 0.0, [0, 1, 0.5, 0, 0, 0, 0, 0], 1, 0),  # nor against the drift
        (2, 0.05, [2, 1, 0, 0, 0.25, 0, 0, 0], 1, 3),  # a smaller steepest angle is overstepped
        (3, 2.0, [1, 0.6, 0, 0, 0.4, 0, 0, 0], 0, 2),  # hover higher when far away
        (4, 0.0, [0, 1, 0, 0, 0.5, 0, 0, 0], 3, 0),  # a miss of the angle does not count
        (5, 0.0, [0, 1, 0, 0, 0, 0.5, 0, 0], 3, 0),  # nor does its speed
        (6, 0.0, [0, -1, 0, 0, 0, 0, 0, 0], 2, 0),  # nor the height
        (7, 0.0, [0, 0, 0, -0.5, 0, 0, 0, 0], 2, 0),  # nor the fall
        (8, 1.0, [0, 0, 0, 0, 0, 0, 1, 0], 0, 1),  # a turn when a leg stands
        (9, 0.0, [0, 0, 0, -0.5, 0, 0, 0, 1], 2, 0),  # no brake when a leg stands
        (10, 1.0, [0, 0, 0, -0.5, 0, 0, 0, 0], 2, 0),  # a wide dead zone of the main engine
        (11, 1.0, [0, 1, 0, 0, 0.5, 0, 0, 0], 3, 0),  # and of the others
    ],
)
def test_each_weight_does_what_it_says(weight, change, state, before, after):
    w = list(HEURISTIC)
    assert action(w, state) == before
    w[weight] = change
    assert action(w, state) == after


def test_fixed_terrains_have_no_noise_and_follow_the_base_seed(lander):
    assert lander(HEURISTIC) == lander(HEURISTIC, seed=5) == lander.land(HEURISTIC, [0, 1]).mean
    assert objectives.make("lunar", rollouts=2, base_seed=1)(HEURISTIC) == lander.land(HEURISTIC, [1, 2]).mean
    assert objectives.make("lunar").rollouts == 10


def test_fresh_terrains_follow_the_seed():
    fresh = objectives.make("lunar", rollouts=2, seeds="fresh")
    first = fresh(DROP, seed=4)
    assert fresh(DROP, seed=4) == first == fresh.evaluate(DROP, seed=4).mean != fresh(DROP, seed=5)
    assert fresh(DROP) != fresh(DROP)
    assert fresh.evaluate(DROP, seed=4, rollouts=3).returns[:2].mean() == pytest.approx(first)


def test_terrains_by_number_are_those_of_the_call(lander):
    assert lander.land(DROP, [0, 1]).mean == lander(DROP) != lander.land(DROP, [10_000, 10_001]).mean
    with pytest.raises(ValueError, match="at least one terrain"):
        lander.land(DROP, [])


def test_the_first_push_matters_and_gymnasiums_own_is_put_back(lander, monkeypatch):
    monkeypatch.setattr(lunar_lander, "INITIAL_RANDOM", 123.0)
    assert lander(DROP) != objectives.make("lunar", rollouts=2, initial_random=1000.0)(DROP)
    assert lunar_lander.INITIAL_RANDOM == 123.0


def test_gymnasiums_own_push_is_put_back_after_an_error(lander, monkeypatch):
    seen = []

    def broken(self, **settings):
        seen.append(lunar_lander.INITIAL_RANDOM)
        raise RuntimeError("no ground")

    monkeypatch.setattr(lunar_lander.LunarLander, "reset", broken)
    with pytest.raises(RuntimeError, match="no ground"):
        lander(DROP)
    assert seen == [1500.0] and lunar_lander.INITIAL_RANDOM == 1000.0


def test_threads_with_pushes_of_their_own_do_not_meet(lander):
    weak = objectives.make("lunar", rollouts=2, initial_random=200.0)
    tasks = [(each, w) for w in (DROP, HEURISTIC) for each in (lander, weak)] * 2
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda task: task[0](task[1]), tasks)) == [each(w) for each, w in tasks]
    assert lunar_lander.INITIAL_RANDOM == 1000.0


def test_the_lander_is_the_same_after_pickling_and_in_another_process(lander):
    assert pickle.loads(pickle.dumps(lander))(HEURISTIC) == lander(HEURISTIC)
    code = (
        "from lamcts import objectives; from lamcts.objectives.control.lunar import HEURISTIC;"
        "print(objectives.make('lunar', rollouts=2)(HEURISTIC)); objectives.make('push')"
    )
    argv = [sys.executable, "-W", "error::DeprecationWarning", "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.stderr == ""  # the warnings of Box2D's bindings do not come through
    assert float(done.stdout) == lander(HEURISTIC)


def test_the_policy_is_json_values(lander):
    said = lander.policy(HEURISTIC)
    assert said == {"environment": "LunarLander-v3", "w": list(HEURISTIC), "initial_random": 1500.0}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rollouts": 0}, "at least 1, got 0"),
        ({"rollouts": 2.5}, "whole number"),
        ({"base_seed": -1}, "base_seed"),
        ({"seeds": "frsh"}, "'fresh' or 'fixed'"),
        ({"initial_random": np.nan}, "initial_random"),
    ],
)
def test_wrong_settings_say_what_was_expected(settings, message):
    with pytest.raises(ValueError, match=message):
        objectives.make("lunar", **settings)


@pytest.mark.parametrize("point", [np.zeros(11), np.zeros((2, 12)), np.full(12, np.nan)])
def test_a_wrong_point_is_refused(lander, point):
    with pytest.raises(ValueError, match="12 finite weights"):
        lander(point)
