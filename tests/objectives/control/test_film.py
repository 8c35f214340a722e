"""A saved policy, filmed: the frames show the episode that gymnasium plays, and errors say what would help."""

import json
import os
import sys
from contextlib import ExitStack

import numpy as np
import pytest

from lamcts import objectives
from lamcts.cli import main
from lamcts.objectives.control import film as films
from lamcts.objectives.control.environment import gym
from lamcts.objectives.control.film import Film, NoOpenGL, _drawn, film, movies
from lamcts.objectives.control.world import OWN_OPTIONS

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install '.[mujoco]'")
imageio = pytest.importorskip("imageio.v2", reason="imageio is not installed: pip install '.[mujoco]'")
pytest.importorskip("pygame", reason="pygame is not installed: pip install '.[mujoco]'")

POLE = np.array([-0.1, -0.1, -0.5, -0.5, 0, 0.1, 0.1, 0.5, 0.5, 0])  # pushes to where the pole leans


@pytest.fixture(scope="module")
def pole():
    made = gym("CartPole-v1")
    return json.loads(json.dumps(made.policy(POLE)))


@pytest.fixture(scope="module")
def opengl():
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
    try:
        films.backend()
    except NoOpenGL as error:
        pytest.skip(str(error))


def by_hand(policy, seed, steps):
    env = gymnasium.make(policy["environment"], **policy["options"])
    state, _ = env.reset(seed=seed)
    total = 0.0
    for _ in range(steps):
        state, reward, *_ = env.step(int(np.argmax(np.array(policy["w"]) @ state + policy["bias"])))
        total += float(reward)
    return state, total


def test_frames_are_those_of_the_episode(pole):
    found = film(pole, seconds=0.4, size=64, seed=3)
    assert found.steps == 20 and found.total == by_hand(pole, 3, 20)[1] == 20  # 50 steps a second
    assert found.rate == 25 and found.frames.shape == (11, 64, 96, 3) and not found.ended
    assert found.distance is None
    quiet = found.frames[:, 20:].astype(int)  # below the words
    assert abs(quiet[0] - quiet[-1]).max() > 100  # it moves
    again = film(pole, seconds=0.4, size=64, seed=3)
    np.testing.assert_array_equal(found.frames, again.frames)


def test_a_film_ends_with_its_episode():
    falling = gym("CartPole-v1")
    found = film(falling.policy(falling.x0), seconds=5, size=40)
    assert found.ended and found.steps == found.total < 20


def test_a_strip_takes_frames_evenly_and_files_can_be_read(tmp_path):
    frames = np.repeat(np.arange(0, 250, 10, np.uint8), 8 * 8 * 3).reshape(25, 8, 8, 3)
    found = Film(frames, 20.0, 50, 1.0, False, None, 100)
    strip = found.strip(3)
    assert strip.shape == (8, 3 * 8 + 2 * 4, 3)
    assert [int(strip[0, x, 0]) for x in (0, 12, 24)] == [0, 120, 240]
    assert found.strip(99).shape[1] == 25 * 8 + 24 * 4
    found.save(tmp_path / "a.gif")
    found.save_strip(tmp_path / "a.png", 2)
    assert len(imageio.mimread(tmp_path / "a.gif")) == 25
    assert imageio.imread(tmp_path / "a.png").shape == (8, 20, 3)
    with pytest.raises(ValueError, match=r"ending in \.gif"):
        found.save(tmp_path / "a.txt")
    with pytest.raises(ValueError, match="at least 1"):
        found.strip(0)


@pytest.mark.skipif(not movies(), reason="imageio-ffmpeg is not installed: pip install '.[film]'")
def test_a_film_may_be_an_mp4(tmp_path):
    rng = np.random.default_rng(0)
    Film(rng.integers(0, 255, (5, 33, 35, 3), np.uint8), 20.0, 5, 1.0, False, None, 100).save(tmp_path / "a.mp4")
    held = (tmp_path / "a.mp4").read_bytes()
    assert held[4:8] == b"ftyp" and len(held) > 1000  # to read it back, imageio leaves pipes open


def test_a_lander_is_filmed_by_its_rule():
    pytest.importorskip("Box2D", reason="Box2D is not installed: pip install '.[mujoco]'")
    lander = objectives.make("lunar")
    point = np.full(12, 0.3)
    found = film(lander.policy(point), seconds=30, size=40, seed=7)
    assert found.total == pytest.approx(lander.land(point, [7]).returns[0])


def test_a_gait_is_filmed_without_a_screen(opengl):
    made = objectives.make("hopper")
    before = os.environ.get(films.NAME)
    found = film(made.policy(made.x0), seconds=0.2, size=48)
    assert found.frames.shape == (6, 48, 48, 3) and found.steps == 25 and found.distance is not None
    assert found.frames[0].std() > 10 and os.environ.get(films.NAME) == before


def test_without_opengl_the_message_says_what_to_install(monkeypatch, tmp_path, capsys):
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
    monkeypatch.setattr(films, "_works", lambda name: False)
    monkeypatch.setattr(films, "backend", films.backend.__wrapped__)
    made = objectives.make("hopper")
    with pytest.raises(NoOpenGL, match=r"tried .*libosmesa6"):
        film(made.policy(made.x0))
    (tmp_path / "result.json").write_text(json.dumps({"policy": made.policy(made.x0)}))
    assert main(["film", str(tmp_path)]) == 2
    assert "apt-get install libosmesa6" in capsys.readouterr().err


def test_what_cannot_draw_is_not_taken_and_what_hangs_neither(monkeypatch):
    monkeypatch.setattr(films, "PROBE", "import sys; sys.exit(3)")
    assert not films._works("osmesa")
    monkeypatch.setattr(films, "PROBE", "import os; assert os.environ['MUJOCO_GL'] == 'egl'")
    assert films._works("egl") and not films._works("osmesa")
    monkeypatch.setattr(films, "PROBE", "import time; time.sleep(60)")
    monkeypatch.setattr(films, "PATIENCE_SECONDS", 0.1)
    assert not films._works("egl")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"environment": 3}, "with its environment"),
        ({"environment": "CartPool-v1"}, "did you mean CartPole-v1"),
        ({"w": "x"}, "as result.json holds it"),
        ({"w": [[1.0]], "bias": [0.0, 0.0]}, r"got \[1, 1\] and \[2\]"),
        ({"w": [[0.0] * 3] * 2}, "4 inputs and 2 outputs for CartPole-v1, got w and bias with 3 inputs and 2 outputs"),
        ({"w": [[0.0] * 4] * 3, "bias": [0.0] * 3}, "got w and bias with 4 inputs and 3 outputs"),
        (
            {"layers": [{"w": [[0.0] * 4], "bias": [0.0]}, {"w": [[0.0] * 2] * 2, "bias": [0.0] * 2}]},
            r"got \[1, 4\] and \[1\], then \[2, 2\] and \[2\]",
        ),
        ({"actions": {"kind": "discrete", "n": 2, "start": 7}}, "expected the actions of CartPole-v1"),
        ({"initial_random": 1.0}, "expected 12 finite weights"),
        ({"initial_random": 1.0, "w": [0.5] * 12}, "expected LunarLander-v3"),
        ({"initial_random": None}, "as result.json holds it"),
        ({"actions": {"kind": "box"}}, "as result.json holds it"),
    ],
)
def test_what_is_no_policy_is_refused(pole, change, message):
    with pytest.raises(ValueError, match=message):
        film(pole | change, seconds=0.1, size=32)


def test_a_policy_runs_no_code_and_sets_no_options_unless_it_is_trusted(pole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "stranger_module.py").write_text("open('run', 'w').close()\n")
    named = pole | {"environment": "stranger_module:CartPole-v1"}
    opened = {"environment": "GymV26Environment-v0", "options": {"env_id": "stranger_module:CartPole-v1"}}
    for policy in (named, pole | opened, pole | {"options": {"sutton_barto_reward": True}}):
        with pytest.raises(ValueError, match="trust: expected it set for"):
            film(policy, seconds=0.1, size=32)
    assert not (tmp_path / "run").exists()
    try:
        film(named, seconds=0.1, size=32, trust=True)
    finally:
        sys.modules.pop("stranger_module", None)
    assert (tmp_path / "run").exists()
    assert film(pole | {"options": {"sutton_barto_reward": True}}, seconds=0.1, size=32, trust=True).total == 0


def test_the_options_that_our_own_tasks_write_need_no_trust():
    for env, options in [("Ant-v4", {}), *OWN_OPTIONS.items()]:
        with pytest.raises(ValueError, match=r"as result\.json"):  # it has no w
            film({"environment": env, "options": options})
    with pytest.raises(ValueError, match="trust"):
        film({"environment": "Ant-v4", "options": {"use_contact_forces": "/etc/passwd"}})


@pytest.mark.parametrize(("settings", "message"), [({"seconds": 0}, "above 0"), ({"size": 8}, "from 32 to 2160")])
def test_wrong_settings_of_a_film_say_what_was_expected(pole, settings, message):
    with pytest.raises(ValueError, match=message):
        film(pole, **settings)


class _Plain(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}


class _NoMode(_Plain):
    def __init__(self, render_mode=None):
        self.render_mode = render_mode


class _NoArgument(_Plain):
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self):
        pass


class _NoPicture(_NoMode):
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012


class _NoRender(_NoPicture):
    def render(self):
        return None


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (_NoMode, "got lamcts-test/Blind-v0, whose metadata lists no such mode: add it to 'render_modes'"),
        (_NoArgument, r"whose __init__ takes no render_mode: add the argument render_mode=None .* self.render_mode"),
        (_NoPicture, r"expected render\(\) to return a picture, .*, got NoneType from _NoPicture: return one"),
        (_NoRender, r"expected render\(\) to return a picture, .*, got NoneType from _NoRender: return one"),
    ],
)
def test_an_environment_without_pictures_is_refused_with_the_cure(made, message):
    gymnasium.register("lamcts-test/Blind-v0", made, max_episode_steps=3, disable_env_checker=True)
    try:
        policy = gym("lamcts-test/Blind-v0").policy(np.zeros(4))
        with pytest.raises(ValueError, match=message):
            film(policy)
    finally:
        del gymnasium.registry["lamcts-test/Blind-v0"]


@pytest.mark.parametrize(
    ("name", "options", "camera"), [("HalfCheetah-v5", {}, "track"), ("Ant-v4", {"camera_id": -1}, None)]
)
def test_the_camera_of_mujoco_follows_the_body(name, options, camera):
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
    with ExitStack() as stack:
        assert _drawn(stack, name, options, 32).unwrapped.camera_name == camera
