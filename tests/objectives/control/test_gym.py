"""Any environment of gymnasium by its name: policies, their files, what is learned on the way, and clear errors."""

import itertools
import json
import pickle
import sys

import numpy as np
import pytest

import lamcts
from lamcts import objectives
from lamcts.errors import MissingExtra
from lamcts.objectives.control import Gym, gym
from lamcts.objectives.control.episodes import followed
from lamcts.objectives.control.film import _picture
from lamcts.objectives.control.mujoco import gait
from lamcts.objectives.control.network import Bounded, Discrete, Form, Network, actions_from_json

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install '.[mujoco]'")


NUMBERS = itertools.count()


def draw(made, seed=0, size=1.0):
    return np.random.default_rng(seed).uniform(-size, size, made.space.dim)


@pytest.fixture
def registered():
    """Return a function that registers an environment of these spaces, gone again after the test."""
    added = []

    def register(states, actions, **settings):
        class Mine(gymnasium.Env):
            observation_space, action_space = states, actions

            def reset(self, *, seed=None, options=None):
                return states.sample(), {}

            def step(self, action):
                assert actions.contains(action), action
                return states.sample(), 1.0, False, False, {}

        name = f"lamcts-test/Mine{next(NUMBERS)}-v0"  # a thread keeps its environments by name
        gymnasium.register(name, Mine, **{"max_episode_steps": 4, **settings})
        added.append(name)
        return name

    yield register
    for name in added:
        del gymnasium.registry[name]


@pytest.mark.parametrize(
    ("env", "hidden", "dim"),
    [("CartPole-v1", (), 10), ("Pendulum-v1", (8,), 8 * 4 + 9), ("Acrobot-v1", (4, 3), 4 * 7 + 3 * 5 + 3 * 4)],
)
def test_a_policy_has_a_row_of_weights_and_a_bias_for_each_number_it_gives(env, hidden, dim):
    made = gym(env, hidden=hidden, rollouts=1)
    assert isinstance(made, Gym) and made.space.dim == len(made.x0) == dim and made.maximize
    assert made(made.x0, seed=0) == made(made.x0, seed=0)
    assert made.threshold == gymnasium.spec(env).reward_threshold


@pytest.mark.parametrize("hidden", [(), 5, (4, 3)])
@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1", "MountainCarContinuous-v0"])
def test_the_saved_policy_plays_elsewhere_what_was_scored(env, hidden):
    made = gym(env, hidden=hidden, rollouts=1, episode_steps=60)
    made = made.recalling(made.evaluate(made.x0, seed=3).states.to_json())  # with moments of states
    saved = json.loads(json.dumps(made.policy(draw(made))))
    acting = Network.from_json(saved)
    world = gymnasium.make(saved["environment"], max_episode_steps=60, **saved["options"])
    found = made.evaluate(draw(made), seed=5)
    state, _ = world.reset(seed=lamcts.rng.derive(5, lamcts.rng.Purpose.EVALUATION, 0))
    total, over = 0.0, False
    while not over:
        state, reward, ended, late, _ = world.step(acting.action(state))
        total, over = total + float(reward), ended or late
    assert total == found.mean


def test_a_linear_policy_on_a_body_is_that_of_its_gait_within_the_bounds():
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
    body, made = gait("Hopper-v5", episode_steps=30), gym("Hopper-v5", episode_steps=30)
    w = np.random.default_rng(0).uniform(-0.05, 0.05, (3, 11))
    point = np.column_stack([w, np.zeros(3)]).ravel()
    assert made(point, seed=1) == pytest.approx(body(w.ravel(), seed=1), rel=1e-6)  # actions are in single precision
    watched = made.evaluate(point, seed=1)
    assert watched.distance is not None and watched.idle


def test_the_start_does_nothing_but_no_layer_is_dead_there():
    form = Form(3, (8, 5), 2)
    policy = lambda point: Network(form.layers(point)).action(np.array([0.3, -0.7, 0.2]))  # noqa: E731
    start = np.zeros(form.dim)
    np.testing.assert_array_equal(policy(start), 0)
    last = np.arange(form.dim) >= form.dim - 2 * 6
    moved = np.array([np.any(policy(start + 0.1 * one) != 0) for one in np.eye(form.dim)])
    np.testing.assert_array_equal(moved, last)  # any one weight of the last layer moves it at once ...
    near = 0.1 * last
    assert all(np.any(policy(near + 0.1 * one) != policy(near)) for one in np.eye(form.dim))  # ... and then all do


def test_hidden_layers_begin_with_the_weights_of_their_seed():
    one, other = gym("Pendulum-v1", hidden=4), gym("Pendulum-v1", hidden=4, hidden_seed=1)
    assert one.policy(one.x0) == gym("Pendulum-v1", hidden=4).policy(one.x0) != other.policy(one.x0)
    assert one.fingerprint() != other.fingerprint() != gym("Pendulum-v1").fingerprint()
    assert one.fingerprint() == json.loads(json.dumps(one.fingerprint()))


def test_running_moments_are_learned_in_a_run_and_kept_in_the_policy():
    made = gym("Pendulum-v1", hidden=3, rollouts=1, moments="running", episode_steps=20)
    result = lamcts.maximize(made, budget=6, seed=0, sampler="uniform")
    final = made.recalling(result.memory)
    assert final.policy(result.x)["moments"]["count"] > 1
    assert final.policy(result.x)["layers"] != made.policy(result.x)["layers"]
    assert pickle.loads(pickle.dumps(final))(result.x, seed=2) == final(result.x, seed=2)


def test_bounds_are_reached_and_never_left():
    lander = Bounded((-2.0, 0.0, -np.inf), (2.0, 1.0, np.inf), (3,))
    w, bias = lander.scaled(np.ones((3, 1)), np.zeros(3))
    act = Network(((w, bias),), lander).action
    np.testing.assert_allclose(act(np.array([0.0])), [0, 0.5, 0])
    np.testing.assert_allclose(act(np.array([1.0])), [2, 1, 1])
    np.testing.assert_allclose(act(np.array([-9.0])), [-2, 0, -9])
    assert actions_from_json(json.loads(json.dumps(lander.to_json()))) == lander
    assert Discrete(3, -1).act(np.array([0.0, 5.0, 5.0])) == 0
    assert actions_from_json(Discrete(3, -1).to_json()) == Discrete(3, -1)


@pytest.mark.parametrize("states", ["number", "table", "count"])
@pytest.mark.parametrize("actions", ["discrete", "shaped"])
def test_numbers_of_any_shape_are_laid_out_in_a_row(registered, states, actions):
    spaces = gymnasium.spaces
    seen = {"number": spaces.Box(-1, 1, ()), "table": spaces.Box(-1, 1, (2, 3)), "count": spaces.Discrete(6, start=2)}
    may = {"discrete": spaces.Discrete(4, start=-2), "shaped": spaces.Box(-3, 5, (2, 2), np.float64)}
    made = gym(registered(seen[states], may[actions]), hidden=2)  # the environment asserts its actions
    assert made.states == {"number": 1, "table": 6, "count": 6}[states]
    assert made(draw(made), seed=0) == 4.0


@pytest.mark.parametrize(
    ("states", "actions", "message"),
    [
        (lambda s: s.Dict({"a": s.Discrete(2)}), lambda s: s.Discrete(2), "a row of numbers, got Dict in .*wrap it"),
        (lambda s: s.Box(0, 255, (96, 96, 3), np.uint8), lambda s: s.Discrete(2), "got pictures in .*wrap it"),
        (lambda s: s.Box(-1, 1, (2,)), lambda s: s.MultiDiscrete([2, 3]), r"Discrete actions or a Box .*got MultiDi"),
        (lambda s: s.Box(-1, 1, (2,)), lambda s: s.Box(0, 9, (2,), np.int64), "Discrete actions or a Box of numbers"),
    ],
)  # fmt: skip
def test_spaces_that_do_not_fit_say_so(registered, states, actions, message):
    with pytest.raises(ValueError, match=message):
        gym(registered(states(gymnasium.spaces), actions(gymnasium.spaces)))


def test_an_environment_without_an_end_wants_a_cap(registered):
    box = gymnasium.spaces.Box(-1, 1, (2,))
    name = registered(box, gymnasium.spaces.Discrete(2), max_episode_steps=None)
    with pytest.raises(ValueError, match="episode_steps: expected a number for"):
        gym(name)
    assert gym(name, episode_steps=7)(np.zeros(6), seed=0) == 7.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Pendulun-v1", "did you mean Pendulum-v1"),
        ("pendulum", "did you mean Pendulum-v1"),
        ("LunarLander-v2", "did you mean LunarLander-v3"),
        ("nowhere_at_all:Mine-v0", "the module 'nowhere_at_all' cannot be loaded"),
        ("Zzzz-v0", "doesn't exist"),
    ],
)
def test_an_unknown_name_brings_a_hint(name, message):
    with pytest.raises(ValueError, match=message):
        gym(name)
    with pytest.raises(ValueError, match=message):
        objectives.make(f"gym:{name}")


def test_an_environment_of_ones_own_is_imported_by_its_module(tmp_path, monkeypatch):
    (tmp_path / "lamcts_test_own.py").write_text(
        "import gymnasium\nfrom gymnasium.envs.classic_control import PendulumEnv\n"
        "gymnasium.register('lamcts-test/Own-v0', PendulumEnv, max_episode_steps=5)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    try:
        made = objectives.make("gym:lamcts_test_own:lamcts-test/Own-v0", hidden=2)
        assert made.evaluate(made.x0, seed=0).steps.tolist() == [5, 5, 5]
    finally:
        sys.modules.pop("lamcts_test_own", None)
        gymnasium.registry.pop("lamcts-test/Own-v0", None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": -1}, "hidden: expected a whole number of at least 1, got -1"),
        ({"hidden": (4, "x")}, "hidden: expected a whole number of at least 1, got 'x'"),
        ({"rollouts": 0}, "rollouts: expected a whole number"),
        ({"seeds": "some"}, "'fresh' or 'fixed'"),
        ({"moments": "ars"}, "expected a task with statistics of ARS"),
        ({"options": {"nope": 1}}, "expected options that CartPole-v1 takes"),
    ],
)
def test_wrong_settings_of_a_search_say_what_was_expected(settings, message):
    with pytest.raises(ValueError, match=message):
        gym("CartPole-v1", **settings)
    with pytest.raises(ValueError, match="expected 10 weights in one row, got shape"):
        gym("CartPole-v1")(np.zeros(3))


def test_missing_packages_name_what_brings_them(monkeypatch):
    from lamcts.objectives.control import world

    monkeypatch.setattr(world, "_mine", type("Mine", (), {})())  # no environment is held
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[mujoco\]'"):
        gym("Swimmer-v5")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[mujoco\]'"):
        gym("CartPole-v1")


@pytest.mark.parametrize("kind", ["box", "discrete"])
def test_an_environment_may_return_its_own_arrays_in_each_step(kind):
    class Own(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-50, 50, (2,), np.float64)
        action_space = gymnasium.spaces.Box(-1, 1, (1,)) if kind == "box" else gymnasium.spaces.Discrete(2)
        metadata = gymnasium.Env.metadata | {"render_modes": ["rgb_array"]}
        render_mode, buffered = "rgb_array", True

        def given(self, *arrays):
            return arrays if self.buffered else [np.array(each) for each in arrays]

        def reset(self, *, seed=None, options=None):
            self.state, self.reward, self.picture = np.array([0.0, 3.0]), np.zeros(1), np.zeros((32, 32, 3), np.uint8)
            self.x, self.speed, self.dt = np.zeros(1), np.zeros(1), 0.1
            return self.given(self.state)[0], {}

        def step(self, action):
            self.state += [0.5, -0.2]
            self.reward += 1.0
            self.picture += 10
            self.x += 2.0
            self.speed[:] = 20.0
            state, reward, x, speed = self.given(self.state, self.reward, self.x, self.speed)
            info = {"x_position": x, "x_velocity": speed, "reward_alive": reward}
            return state, reward if self.buffered else float(reward[0]), False, bool(self.state[0] > 5), info

        def render(self):
            return self.given(self.picture)[0]

    found = []
    for name, buffered in ((f"lamcts-test/Own{next(NUMBERS)}-v0", True), (f"lamcts-test/Own{next(NUMBERS)}-v0", False)):
        gymnasium.register(name, type("Mine", (Own,), {"buffered": buffered}), max_episode_steps=30)
        moments = np.zeros(2), np.ones(2)
        learned, given = gym(name, moments="running", rollouts=2), gym(name, moments=moments, rollouts=1)
        point, policies = np.full(given.space.dim, 0.5), []
        policies.append(given.acting(point))
        before = [policies[0].to_json(), given.moments.to_json()]
        if buffered:
            for array in (*moments, point):
                array[...] = 3
        assert [policies[0].to_json(), given.moments.to_json()] == before
        rollouts = learned.evaluate(learned.x0, seed=1)
        frames = [picture.mean() for picture in pictures_of(name)]
        found.append([rollouts.states.to_json(), rollouts.returns.tolist(), rollouts.distance.tolist(), frames])
        del gymnasium.registry[name]
    assert found[0] == found[1] and found[0][1] == [66.0, 66.0] and len({*found[0][3]}) == 12


def pictures_of(name):
    """Return the frames of an episode."""
    env = gymnasium.make(name, disable_env_checker=True)
    state, _ = env.reset(seed=0)
    return [_picture(env) for _ in followed(env, lambda state: env.action_space.sample(), state)] + [env.render() * 0]
