"""Film an episode of a saved policy offscreen: a strip of frames, and a GIF or MP4."""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from lamcts.errors import LamctsError, MissingExtra, install
from lamcts.objectives.control import lunar
from lamcts.objectives.control.environment import states_of
from lamcts.objectives.control.episodes import Episode, followed
from lamcts.objectives.control.network import Action, Bounded, Network, actions_of
from lamcts.objectives.control.world import OWN_OPTIONS, Environment, World, entry_point
from lamcts.text import safe_text, shortened
from lamcts.types import Floats, Json

__all__ = ["Film", "NoOpenGL", "film", "imageio", "movies"]
Pictures = NDArray[np.uint8]  # [n, height, width, 3]
Shot = tuple[Pictures, Episode]  # a frame, and the episode up to it
Acts = Callable[[Floats], Action]
Start = Callable[[], AbstractContextManager[object]]
FRAMES_A_SECOND = 20.0  # aimed at: smooth to the eye, slow enough for browsers, whose least delay in a GIF is 20 ms
STEPS_A_SECOND = 30.0  # of an environment that does not say how quick it is (by eye)
LETTERS = 20  # a frame is as many letters high (by eye)
GAP, GREY = 4, 138  # pixels between the frames of a strip, and their shade (by eye)
PROBE = "import mujoco; context = mujoco.GLContext(8, 8); context.make_current(); context.free()"
PATIENCE_SECONDS = 60.0  # for a probe, which takes one second; a driver may hang
NAME = "MUJOCO_GL"  # the variable by which MuJoCo and gymnasium choose


@dataclass(frozen=True, eq=False)
class Film:
    """A film of an episode: frames with the time on them, frames a second, and what the episode came to."""

    frames: Pictures
    rate: float
    steps: int
    total: float
    ended: bool
    distance: float | None
    most_steps: int

    def strip(self, frames: int = 6) -> Pictures:
        """Return at most `frames` frames, evenly spaced in time, side by side (height, width, 3)."""
        if frames < 1:
            raise ValueError(f"frames: expected at least 1, got {frames}")
        chosen = np.linspace(0, len(self.frames) - 1, min(frames, len(self.frames))).round().astype(int)
        gap = np.full((self.frames.shape[1], GAP, 3), GREY, np.uint8)
        parts = [part for frame in self.frames[chosen] for part in (gap, frame)]
        result: Pictures = np.concatenate(parts[1:], axis=1)
        return result

    def save(self, path: str | Path) -> None:
        """Write the film to a file .gif, or .mp4 if imageio-ffmpeg is installed."""
        pictures, kind = imageio(), Path(path).suffix
        if kind == ".gif":
            pictures.mimsave(path, list(self.frames), duration=1000 / self.rate, loop=0)
        elif kind == ".mp4" and movies():
            pictures.mimsave(path, [_even(frame) for frame in self.frames], fps=self.rate, macro_block_size=2)
        else:
            cure = "" if kind == ".gif" or movies() else f"; {install('film')} brings .mp4"
            raise ValueError(f"out: expected a name ending in .gif{cure}, got {str(path)!r}")

    def save_strip(self, path: str | Path, frames: int = 6) -> None:
        """Write the strip as a picture."""
        imageio().imwrite(path, self.strip(frames))


def film(policy: Json, *, seconds: float = 5.0, size: int = 320, seed: int = 0, trust: bool = False) -> Film:
    """Film an episode of a saved policy.

    Parameters
    ----------
    policy : dict
        The entry `policy` of `result.json`.
    seconds : float, default 5.0
        The longest time to film, in the environment's time.
    size : int, default 320
        The height of a frame in pixels; MuJoCo's frames are squares.
    seed : int, default 0
        The seed of the episode's start.
    trust : bool, default False
        Whether the policy may name a module, whose code runs, and options of the environment, which may open files.
        Set it only for a policy of your own.

    Returns
    -------
    Film
        With `save(path)` for GIF or MP4, `strip(frames)`, and the attributes `frames`, `rate`, `total` and `distance`.

    Raises
    ------
    NoOpenGL
        If MuJoCo cannot draw.
    ValueError
        If `policy` is no policy, needs `trust`, or its environment draws no pictures.
    """
    if not (np.isfinite(seconds) and seconds > 0):
        raise ValueError(f"seconds: expected a number above 0, got {seconds}")
    if not 32 <= size <= 2160:
        raise ValueError(f"size: expected from 32 to 2160 pixels, got {size}")
    imageio()  # asked first: what is filmed is to be kept
    env_name, options = _environment_of(policy)
    if not trust:
        what = None
        if ":" in env_name:
            what = f"an environment that imports a module, got none for {env_name!r}, whose code would run"
        elif options and options != OWN_OPTIONS.get(env_name):
            what = f"options of the environment, got none for {shortened(safe_text(options))}, which may open files"
        if what:
            raise ValueError(f"trust: expected it set for {what}: set it if the policy is your own")
    network = None if "initial_random" in policy else Network.from_json(policy)
    with ExitStack() as stack:
        env = _drawn(stack, env_name, options, size)
        acting, start = _lander(policy) if network is None else (_fitting(network, env, env_name).action, ExitStack)
        every, step_seconds = _pace(env)
        most = max(round(seconds / step_seconds), 1)
        shots = list(_played(env, acting, start, seed, most, every))
        frames = np.stack([_labelled(_sized(frame, size), text) for frame, text in _texts(shots, step_seconds)])
    _, last = shots[-1]
    return Film(frames, 1 / (every * step_seconds), last.steps, last.total, last.ended, last.distance, most)


def _played(env: Environment, act: Acts, start: Start, seed: int, most: int, every: int) -> Iterator[Shot]:
    """Yield a frame of an episode's start, of each `every`th step, and of its end or of step `most`."""
    with start():
        state, _ = env.reset(seed=seed)
    yield _picture(env), Episode(0.0, 0, False, None, 0.0)
    drawn = 0
    for episode in islice(followed(env, act, state), most):
        if episode.steps % every == 0:
            drawn = episode.steps
            yield _picture(env), episode
    if drawn < episode.steps:
        yield _picture(env), episode


def _picture(env: Environment) -> Pictures:
    """Return a frame; ValueError for an environment whose `render` returns none."""
    try:
        frame: object = env.render()
    except NotImplementedError:
        frame = None
    if not isinstance(frame, np.ndarray) or frame.ndim != 3:
        got = f"{type(frame).__name__} from {type(env.unwrapped).__name__}"
        raise ValueError(f"expected render() to return a picture, an array (height, width, 3), got {got}: return one")
    return frame.copy()


def _environment_of(policy: object) -> tuple[str, Json]:
    held = policy if isinstance(policy, dict) else {}
    name, options = held.get("environment"), held.get("options", {})
    if not isinstance(name, str) or not isinstance(options, dict):
        raise ValueError("expected a policy as result.json holds it, with its environment, got another content")
    return name, options


def _lander(policy: Json) -> tuple[Acts, Start]:
    """Return the lander's rule, and the context in which an episode of it begins."""
    try:
        push, weights = float(policy["initial_random"]), lunar.weights_of(policy["w"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected a policy as result.json holds it, got another content ({error})") from None
    if policy["environment"] != lunar.ENV:
        raise ValueError(f"expected {lunar.ENV} for a policy with initial_random, got {policy['environment']}")
    return lambda state: lunar.action(weights, state), lambda: lunar.first_push(push)


def _fitting(network: Network, env: Environment, name: str) -> Network:
    """Return a network that takes the environment's states and gives its actions; ValueError for any other."""
    states, actions = states_of(env.observation_space, name), actions_of(env.action_space, name)
    sizes = len(network.layers[0][0].T), len(network.layers[-1][1])
    if sizes != (states, actions.outputs):
        raise ValueError(
            f"expected a policy with {states} inputs and {actions.outputs} outputs for {name}, "
            f"got w and bias with {sizes[0]} inputs and {sizes[1]} outputs: it is of another environment or version"
        )
    if network.actions != actions and not (network.actions is None and isinstance(actions, Bounded)):
        raise ValueError(f"expected the actions of {name}, {actions}, got {network.actions}")
    return network


def _drawn(stack: ExitStack, name: str, options: Json, size: int) -> Environment:
    """Return a new environment that draws its states, closed with the stack."""
    settings = {**options, "render_mode": "rgb_array"}
    if entry_point(name).startswith("gymnasium.envs.mujoco"):
        settings |= {"width": size, "height": size}
        if not {"camera_id", "camera_name"} & options.keys():
            settings["camera_name"] = "track"  # follows the body; a model without this camera has the default one
        stack.enter_context(drawing())
    else:
        stack.enter_context(setting("SDL_VIDEODRIVER", os.environ.get("SDL_VIDEODRIVER", "dummy")))  # pygame: no window
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*not in the possible render_modes")  # said below, as an error
        env = World(name, tuple(sorted(settings.items()))).make()
    stack.callback(env.close)
    if "rgb_array" not in env.metadata.get("render_modes", []):
        got = f"{name}, whose metadata lists no such mode: add it to 'render_modes'"
        raise ValueError(f"expected an environment that draws pictures (rgb_array), got {got}")
    return env


def _pace(env: Environment) -> tuple[int, float]:
    """Return of how many steps one is drawn, and how many seconds a step is."""
    dt = getattr(env.unwrapped, "dt", None)
    seconds = float(dt) if isinstance(dt, float) else 1 / float(env.metadata.get("render_fps") or STEPS_A_SECOND)
    return max(1, round(1 / seconds / FRAMES_A_SECOND)), seconds


def _texts(shots: list[Shot], step_seconds: float) -> Iterator[tuple[Pictures, str]]:
    for frame, shot in shots:
        place = "" if shot.distance is None else f"   {shot.distance:.2f} m"
        yield frame, f"{shot.steps * step_seconds:.1f} s{place}{'   ended' if shot.ended else ''}"


def _sized(frame: Pictures, size: int) -> Pictures:
    """Return a frame of that height: environments other than MuJoCo's draw in sizes of their own."""
    height, width = frame.shape[:2]
    if height == size:
        return frame
    from PIL import Image

    return np.asarray(Image.fromarray(frame).resize((max(1, round(width * size / height)), size)))


def _labelled(frame: Pictures, text: str) -> Pictures:
    """Return the frame with a text in its upper corner."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(frame)
    pen, letter = ImageDraw.Draw(image), max(10, frame.shape[0] // LETTERS)
    font, at = ImageFont.load_default(letter), (letter // 2, letter // 3)
    left, top, right, bottom = pen.textbbox(at, text, font=font)
    edge = letter // 4
    pen.rectangle((left - edge, top - edge, right + edge, bottom + edge), fill="black")  # to be read on any ground
    pen.text(at, text, fill="white", font=font)
    return np.asarray(image)


def _even(frame: Pictures) -> Pictures:
    """Return a frame of even sides, which is what MP4 takes."""
    return frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2]


def imageio() -> ModuleType:
    """Return what writes pictures. MissingExtra if it is not installed."""
    try:
        import imageio.v2 as pictures
    except ImportError:
        raise MissingExtra.of("imageio", "mujoco") from None
    return pictures


def movies() -> bool:
    """Return whether MP4 can be written."""
    from importlib.util import find_spec

    return find_spec("imageio_ffmpeg") is not None


class NoOpenGL(LamctsError):
    """No OpenGL for MuJoCo was found; the message names packages that provide it."""


@contextmanager
def drawing() -> Iterator[None]:
    """Let MuJoCo draw by what works here. NoOpenGL where nothing does."""
    with setting(NAME, backend(os.environ.get(NAME))):
        yield


@contextmanager
def setting(name: str, value: str) -> Iterator[None]:
    """Set a variable of the process, and put back what was there."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@cache
def backend(wanted: str | None = None) -> str:
    """Return the first that works: what MUJOCO_GL asks for, else a GPU without a screen, software, a window system."""
    tried = [wanted] if wanted else _candidates()
    for name in tried:
        if _works(name):
            return name
    raise NoOpenGL(
        f"expected an OpenGL that draws without a screen, got none (tried {', '.join(tried)}): install one, such as "
        "Debian's libosmesa6 or libegl1 (apt-get install libosmesa6), and set MUJOCO_GL=osmesa or egl if need be"
    )


def _candidates() -> list[str]:
    if not sys.platform.startswith("linux"):
        return ["glfw"]
    return ["egl", "osmesa", *(["glfw"] if os.environ.get("DISPLAY") else [])]


def _works(name: str) -> bool:
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE], env={**os.environ, NAME: name}, capture_output=True, timeout=PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
