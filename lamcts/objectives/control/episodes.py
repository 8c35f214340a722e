"""Episodes of policies, one after another in gymnasium: the truth that every quicker route has to equal.

Watched ones also show how far the body came, whether it fell, and which part of the reward was for being alive.
Letters: k episodes, s states.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lamcts.objectives.control.actions import Action
from lamcts.objectives.control.moments import Moments
from lamcts.objectives.control.world import Environment, World
from lamcts.types import Floats, Json

ALIVE = ("reward_survive", "reward_alive")  # gymnasium's names of the part of a reward that is for being up
IDLE = 0.85  # share of a return from which on it is the bonus for being alive and little else (untuned): a hopper
# at less than 0.2 m/s; a humanoid that walks at 0.8 m/s has 0.83


class Acting(Protocol):
    """A policy that returns an action for the state of an environment."""

    def action(self, state: Floats) -> Action:
        """Return the action in `state` [s]."""


class Episode(NamedTuple):
    """The sum of an episode's rewards, and the state before each of its steps, [steps, s]."""

    total: float
    states: Floats


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Some episodes of one policy: their returns [k], lengths in control steps [k], and the states visited."""

    returns: NDArray[np.float64]
    steps: NDArray[np.int64]
    states: Moments

    @classmethod
    def of(cls, episodes: Sequence[Episode]) -> "Rollouts":
        return cls(
            np.array([episode.total for episode in episodes]),
            np.array([len(episode.states) for episode in episodes], np.int64),
            Moments.of(np.concatenate([episode.states for episode in episodes])),
        )

    @property
    def mean(self) -> float:
        return float(self.returns.mean())


def play(world: World, policies: Sequence[Acting], seeds: Sequence[int]) -> list[Episode]:
    """Return one episode of each policy, started from its seed."""
    env = world.environment()
    played = []
    for policy, seed in zip(policies, seeds, strict=True):
        state, _ = env.reset(seed=seed)
        visited, total, over = [], 0.0, False
        while not over:
            visited.append(state)
            state, reward, fallen, late, _ = env.step(policy.action(state))
            total += float(reward)
            over = fallen or late
        played.append(Episode(total, np.array(visited)))
    return played


# Watched episodes -----------------------------------------------------------------------------------------------------


class WatchedEpisode(NamedTuple):
    """One episode up to a step: its return, its control steps, whether it ended before its cap.

    distance: along x (None: the environment has no position; metres).
    alive: the part of the return that is the bonus for being alive.
    """

    total: float
    steps: int
    ended: bool
    distance: float | None
    alive: float


@dataclass(frozen=True, eq=False)
class Watched:
    """Some episodes of one policy: [k] each, as in `WatchedEpisode`; `distance` is None without positions."""

    returns: NDArray[np.float64]
    steps: NDArray[np.int64]
    ended: NDArray[np.bool_]
    distance: NDArray[np.float64] | None
    alive: NDArray[np.float64]

    @classmethod
    def of(cls, episodes: Sequence[WatchedEpisode]) -> "Watched":
        returns, steps, ended, places, alive = zip(*episodes, strict=True)
        distance = None if None in places else np.array(places, float)
        return cls(np.array(returns, float), np.array(steps, np.int64), np.array(ended), distance, np.array(alive))

    @property
    def alive_share(self) -> float | None:
        """The share of the return that is the bonus for being alive; None without such a bonus or a positive return."""
        whole = float(self.returns.sum())
        return float(self.alive.sum()) / whole if whole > 0 and self.alive.any() else None

    @property
    def idle(self) -> bool:
        """Whether the return comes without motion: nearly all of it is the bonus for being alive."""
        return self.alive_share is not None and self.alive_share >= IDLE


def watch(world: World, policies: Sequence[Acting], seeds: Sequence[int]) -> list[WatchedEpisode]:
    """Return one episode of each policy, started from its seed."""
    env, found = world.environment(), list[WatchedEpisode]()
    for policy, seed in zip(policies, seeds, strict=True):
        state, _ = env.reset(seed=seed)
        found += deque(followed(env, policy.action, state), maxlen=1)
    return found


def followed(env: Environment, act: Callable[[Floats], Action], state: Floats) -> Iterator[WatchedEpisode]:
    """Yield an episode that begins in `state` after each of its steps, until it ends or reaches its cap."""
    total, steps, alive, over, start = 0.0, 0, 0.0, False, None
    while not over:
        state, reward, ended, late, info = env.step(act(state))
        total, steps, alive, over = total + float(reward), steps + 1, alive + alive_of(env, info), ended or late
        place = info.get("x_position")
        if steps == 1 and place is not None and "x_velocity" in info:
            start = float(place) - float(info["x_velocity"]) * float(env.unwrapped.dt)  # v4 tells none at a reset
        distance = None if start is None or place is None else float(place) - start
        yield WatchedEpisode(total, steps, bool(ended), distance, alive)


def alive_of(env: Environment, info: Json) -> float:
    """Return the part of the last reward that was for being alive, as the environment states it."""
    for name in ALIVE:
        if name in info:
            return float(info[name])
    return float(getattr(env.unwrapped, "healthy_reward", 0.0))  # v4 of Hopper and Walker2d leaves it out of `info`
