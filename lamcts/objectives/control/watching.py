"""Episodes watched in gymnasium: how far the body came, whether it fell, what of the reward was for being alive."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.objectives.control.episodes import Acting
from lamcts.objectives.control.world import World

ALIVE = ("reward_survive", "reward_alive")  # what gymnasium's bodies call the part of a reward that is for being up
IDLE = 0.85  # share of a return from which on it is the bonus for being alive and little else (untuned): a hopper
# at less than 0.2 m/s; a humanoid that walks at 0.8 m/s has 0.83


class Watch(NamedTuple):
    """One episode: its return, its control steps, whether it ended before its cap.

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
    """Some episodes of one policy: [k] each, as in `Watch`; `distance` is None without positions."""

    returns: NDArray[np.float64]
    steps: NDArray[np.int64]
    ended: NDArray[np.bool_]
    distance: NDArray[np.float64] | None
    alive: NDArray[np.float64]

    @classmethod
    def of(cls, episodes: Sequence[Watch]) -> "Watched":
        places = [episode.distance for episode in episodes]
        return cls(
            np.array([episode.total for episode in episodes]),
            np.array([episode.steps for episode in episodes], np.int64),
            np.array([episode.ended for episode in episodes]),
            None if None in places else np.array(places, float),
            np.array([episode.alive for episode in episodes]),
        )

    @property
    def alive_share(self) -> float | None:
        """The share of the return that is the bonus for being alive; None without such a bonus or a positive return."""
        whole = float(self.returns.sum())
        return float(self.alive.sum()) / whole if whole > 0 and self.alive.any() else None

    @property
    def idle(self) -> bool:
        """Whether the return comes without motion: nearly all of it is the bonus for being alive."""
        return self.alive_share is not None and self.alive_share >= IDLE


def watch(world: World, policies: Sequence[Acting], seeds: Sequence[int]) -> list[Watch]:
    """Return one episode of each policy, started from its seed."""
    return [_watched(world.environment(), policy, seed) for policy, seed in zip(policies, seeds, strict=True)]


def _watched(env: Any, policy: Acting, seed: int) -> Watch:
    state, _ = env.reset(seed=seed)
    total, steps, alive, start = 0.0, 0, 0.0, None
    while True:
        state, reward, ended, late, info = env.step(policy.action(state))
        total, steps, alive = total + float(reward), steps + 1, alive + alive_of(env, info)
        place = info.get("x_position")
        if steps == 1 and place is not None and "x_velocity" in info:
            start = float(place) - float(info["x_velocity"]) * float(env.unwrapped.dt)  # v4 tells none at a reset
        if ended or late:
            distance = None if start is None or place is None else float(place) - start
            return Watch(total, steps, bool(ended), distance, alive)


def alive_of(env: Any, info: dict[str, Any]) -> float:
    """Return what of the last reward was for being alive, by the environment's own account."""
    for name in ALIVE:
        if name in info:
            return float(info[name])
    return float(getattr(env.unwrapped, "healthy_reward", 0.0))  # v4 of Hopper and Walker2d leaves it out of `info`
