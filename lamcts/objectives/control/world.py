"""Gymnasium's environments: one of each kind to a thread, built when first needed, and quiet."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from lamcts.errors import MissingExtra

Made = TypeVar("Made")

_mine = threading.local()  # environments hold the physics' state: no two threads share one


@dataclass(frozen=True)
class World:
    """Which environment: gymnasium's name, what its constructor is given, and a cap on an episode's control steps."""

    env: str
    options: tuple[tuple[str, Any], ...] = ()
    episode_steps: int | None = None

    def environment(self) -> Any:
        """Return this thread's environment."""
        return self.mine("environment", self._make)

    def mine(self, what: str, make: Callable[[], Made]) -> Made:
        """Return what this thread has made under this name before, or make it."""
        held: dict[tuple[str, World], Made] = _mine.__dict__.setdefault("held", {})
        if (what, self) not in held:
            held[what, self] = make()
        return held[what, self]

    def _make(self) -> Any:
        try:
            import gymnasium
            import mujoco  # noqa: F401  # gymnasium imports it late, with an error of its own
        except ImportError:
            raise MissingExtra.of("gymnasium[mujoco]", "mujoco") from None
        _keep_quiet()
        settings = dict(self.options)
        if self.episode_steps is not None:
            settings["max_episode_steps"] = self.episode_steps
        try:
            # by its row of the registry: a name would warn that there is a newer version
            return gymnasium.make(gymnasium.spec(self.env), disable_env_checker=True, **settings)
        except gymnasium.error.Error as error:
            message = f"expected a gymnasium environment such as 'Swimmer-v5', got {self.env!r}: {error}"
            raise ValueError(message) from None
        except TypeError as error:
            raise ValueError(f"expected options that {self.env} takes, got {dict(self.options)}: {error}") from None


@cache
def _keep_quiet() -> None:
    """Send MuJoCo's warnings of this process to logging: by default it writes a file in the current folder."""
    import mujoco

    mujoco.set_mju_user_warning(logging.getLogger(__name__).info)
