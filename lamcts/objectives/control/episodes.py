"""Episodes of policies, one after another in gymnasium: the truth that every quicker route has to equal.

Letters: k episodes, s states.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lamcts.objectives.control.policy import Moments
from lamcts.objectives.control.world import World
from lamcts.types import Floats


class Acting(Protocol):
    """A policy that returns an action for the state of an environment."""

    def action(self, state: Any) -> Any:
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
