"""Gymnasium's environments: one of each kind to a thread, built when first needed, and quiet."""

import difflib
import importlib
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from lamcts.errors import MissingExtra
from lamcts.objectives.control.network import Action
from lamcts.text import safe_text
from lamcts.types import Floats, Json

Made = TypeVar("Made")
OWN_OPTIONS: dict[str, Json] = {"Ant-v4": {"use_contact_forces": True}}  # of the registered tasks, by environment
NEAR_NAMES = 3  # that a message offers for an unknown one
_mine = threading.local()  # environments hold the physics' state: no two threads share one
_alone = threading.Lock()  # the filters of warnings belong to the process


class Spec(Protocol):
    """What is used of a row of gymnasium's registry."""

    entry_point: object
    max_episode_steps: int | None
    reward_threshold: float | None


class Mechanics(Protocol):
    """What is used of an environment without its wrappers; only MuJoCo's have these attributes."""

    model: object
    init_qpos: Floats
    init_qvel: Floats
    frame_skip: int
    dt: float


class Shaped(Protocol):
    """What is used of a space of gymnasium that is not known to be a Box or Discrete; `high` is of a Box alone."""

    shape: tuple[int, ...]
    high: Floats


class Environment(Protocol):
    """What is used of an environment of gymnasium."""

    metadata: Json
    observation_space: Shaped
    action_space: Shaped

    @property
    def spec(self) -> Spec: ...
    @property
    def unwrapped(self) -> Mechanics: ...
    def reset(self, *, seed: int) -> tuple[Floats, Json]: ...
    def step(self, action: Action) -> tuple[Floats, float, bool, bool, Json]: ...
    def render(self) -> NDArray[np.uint8]: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class World:
    """An environment: its name (or "module:name"), the constructor's arguments, the most steps of an episode."""

    env: str
    options: tuple[tuple[str, object], ...] = ()
    episode_steps: int | None = None

    def environment(self) -> Environment:
        """Return this thread's environment."""
        return self.mine("environment", self.make)

    def mine(self, what: str, make: Callable[[], Made]) -> Made:
        """Return what this thread has made under this name before, or make it."""
        held: dict[tuple[str, World], Made] = _mine.__dict__.setdefault("held", {})
        if (what, self) not in held:
            held[what, self] = make()
        return held[what, self]

    def make(self) -> Environment:
        """Return a new environment, whose states are a row of numbers wherever possible."""
        gymnasium = imported()
        settings: Json = dict(self.options)
        if self.episode_steps is not None:
            settings["max_episode_steps"] = self.episode_steps
        spec = _spec(self.env)
        where = str(spec.entry_point)
        if where.startswith("gymnasium.envs.box2d"):
            box2d()
        if where.startswith("gymnasium.envs.mujoco"):
            try:
                import mujoco  # noqa: F401  # gymnasium imports it late, with an error of its own
            except ImportError:
                raise MissingExtra.of("gymnasium[mujoco]", "mujoco") from None
            _keep_quiet()
        try:
            # by its row of the registry: a name would warn that there is a newer version
            made = gymnasium.make(spec, disable_env_checker=True, **settings)
        except gymnasium.error.DependencyNotInstalled as error:
            raise MissingExtra(f"{self.env} needs a package that is not installed: {safe_text(error)}") from None
        except (gymnasium.error.Error, ImportError) as error:
            raise ValueError(f"{self.env} cannot be made: {safe_text(error)}") from None
        except TypeError as error:
            if "'render_mode'" in str(error):
                cure = "add the argument render_mode=None to it, and keep it as self.render_mode"
                got = f"{self.env}, whose __init__ takes no render_mode"
                raise ValueError(f"expected an environment that draws pictures, got {got}: {cure}") from None
            raise ValueError(f"expected options that {self.env} takes, got {dict(self.options)}: {error}") from None
        return _in_a_row(made)


def imported() -> ModuleType:
    """Return gymnasium. MissingExtra if it is not installed."""
    try:
        import gymnasium
    except ImportError:
        raise MissingExtra.of("gymnasium[mujoco]", "mujoco") from None
    return gymnasium


def entry_point(name: str) -> str:
    """Return the entry point of an environment, such as gymnasium.envs.mujoco.hopper_v5:HopperEnv."""
    return str(_spec(name).entry_point)


def _spec(name: str) -> Spec:
    """Return gymnasium's row of an environment; ValueError with near names if there is none."""
    gymnasium = imported()
    module, _, env = name.rpartition(":")
    if module:
        _import(module)
    try:
        found: Spec = gymnasium.spec(env)
        return found
    except gymnasium.error.Error as error:
        known = sorted(gymnasium.registry)
        near = [one for one in known if one.rpartition("-v")[0].lower() == env.lower()]
        near = near or difflib.get_close_matches(env, known, n=NEAR_NAMES)
        cure = f"did you mean {' or '.join(near[-NEAR_NAMES:])}?" if near else safe_text(error)
        raise ValueError(f"expected a gymnasium environment such as 'Pendulum-v1', got {env!r}: {cure}") from None


def _import(module: str) -> None:
    """Import what registers an environment. It may lie in the current folder."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a script may exit where it is not the main program
        raise ValueError(
            f"the module {module!r} cannot be loaded ({type(error).__name__}: {safe_text(error)})"
        ) from None


def _in_a_row(made: Environment) -> Environment:
    """Return the environment with one of n states, or with a table of numbers, laid out as a row [s]; no pictures."""
    gymnasium, space = imported(), made.observation_space
    table = isinstance(space, gymnasium.spaces.Box) and len(space.shape) != 1 and space.dtype != "uint8"
    if not (table or isinstance(space, gymnasium.spaces.Discrete)):
        return made
    flat: Environment = gymnasium.wrappers.FlattenObservation(made)
    return flat


@cache
def _keep_quiet() -> None:
    """Send MuJoCo's warnings of this process to logging: by default it writes a file in the current folder."""
    import mujoco

    mujoco.set_mju_user_warning(logging.getLogger(__name__).info)


@cache
def box2d() -> ModuleType:
    """Return the module Box2D. MissingExtra if it is not installed."""
    with _alone, warnings.catch_warnings():
        # its bindings warn at import that their types name no module: nothing that a user could cure
        warnings.filterwarnings("ignore", "builtin type", DeprecationWarning)
        try:
            import Box2D
        except ImportError:
            raise MissingExtra.of("gymnasium[box2d]", "mujoco") from None
    module: ModuleType = Box2D
    return module
