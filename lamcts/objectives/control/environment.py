"""Policies for any environment of gymnasium, scored by the mean return of their episodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.base import Entry, family
from lamcts.objectives.control import episodes
from lamcts.objectives.control.episodes import Episode, MeanReturn, checked_seeds
from lamcts.objectives.control.moments import Moments, MomentsLike, moments_of
from lamcts.objectives.control.network import Actions, Form, Network, actions_of, network_of
from lamcts.objectives.control.world import World
from lamcts.spaces.box import Box
from lamcts.types import Json, whole_number

BUDGET = 300  # evaluations of a first run from the command line (untuned)


@dataclass(frozen=True, eq=False)
class Gym(MeanReturn[Network]):
    """The mean return of some episodes under the policy with the given weights, each in [-1, 1].

    The policy is linear with a bias, or has hidden layers with tanh. At 0 its last layer gives nothing: the first of
    discrete actions, the middle between bounds. `gym` makes one, and describes its settings.
    """

    name: str
    world: World
    states: int
    actions: Actions
    hidden: tuple[int, ...]
    rollouts: int = 3
    seeds: str = "fresh"
    base_seed: int = 0
    moments: Moments | str | None = None
    threshold: float | None = None
    hidden_seed: int = 0

    @property
    def form(self) -> Form:
        """The layout of a point."""
        return Form(self.states, self.hidden, self.actions.outputs, self.hidden_seed)

    @property
    def space(self) -> Box:
        return Box(-1, 1, dim=self.form.dim)

    @property
    def noisy(self) -> bool:
        """Whether each evaluation plays new episodes."""
        return self.seeds == "fresh"

    @property
    def x0(self) -> NDArray[np.float64]:
        """The policy whose last layer gives nothing."""
        return np.zeros(self.form.dim)

    def acting(self, point: ArrayLike) -> Network:
        """Return the policy of these weights."""
        moments = self.moments if isinstance(self.moments, Moments) else None
        return network_of(self.form, point, moments, self.actions)

    def play(self, policies: Sequence[Network], starts: Sequence[int]) -> list[Episode]:
        """Return an episode of each policy, started from its seed."""
        return episodes.play(self.world, policies, starts)

    def policy(self, point: ArrayLike) -> Json:
        """Return what running this policy elsewhere takes, as JSON values: `w` [a, s] and `bias` [a], or `layers`."""
        return {
            "environment": self.env,
            "options": dict(self.world.options),
            **self.acting(point).to_json(),
            "moments": self.moments.to_json() if isinstance(self.moments, Moments) else None,
        }

    def fingerprint(self) -> Json:
        return {**super().fingerprint(), "hidden": [*self.hidden, self.hidden_seed] if self.hidden else []}


def gym(
    env: str,
    *,
    hidden: int | Sequence[int] = 0,
    rollouts: int = 3,
    seeds: str = "fresh",
    base_seed: int = 0,
    moments: MomentsLike = None,
    episode_steps: int | None = None,
    options: Json | None = None,
    hidden_seed: int = 0,
) -> Gym:
    """Return the search for a policy in the gymnasium environment `env`, such as "Pendulum-v1".

    Parameters
    ----------
    env : str
        gymnasium's name of the environment; "module:name" imports first the module that registers it.
    hidden : int or sequence of int, default 0
        sizes of the hidden layers, 8 or 16,16; 0: none, the policy is linear.
    rollouts : int, default 3
        episodes whose returns are averaged.
    seeds : str, default "fresh"
        start states of the episodes, fresh or fixed. With fresh ones the objective declares that it is noisy.
    base_seed : int, default 0
        seed of fixed start states.
    moments : str, path-like, Moments, pair of arrays or None, default None
        statistics that standardise the states, running or a file of mean and std; None: not standardised.
    episode_steps : int or None, default None
        length of an episode at most; None: the environment's own limit, in steps.
    options : dict or None, default None
        arguments of the environment's constructor, a dict.
    hidden_seed : int, default 0
        seed of the random weights of the hidden layers at the start.

    Raises
    ------
    ValueError
        If the states are neither a Box of numbers nor one of n (seen as n numbers, one of them 1), or the actions are
        neither Discrete nor a Box of numbers.
    """
    cap = None if episode_steps is None else whole_number(episode_steps, "episode_steps")
    world = World(env, tuple(sorted((options or {}).items())), cap)
    made = world.environment()
    states = states_of(made.observation_space, env)
    if made.spec.max_episode_steps is None:
        raise ValueError(f"episode_steps: expected a number for {env}, which has no cap of its own, got none")
    given: list[int] = list(hidden) if isinstance(hidden, Sequence) else [hidden] if hidden else []
    return Gym(
        name=f"gym:{env}",
        world=world,
        states=states,
        actions=actions_of(made.action_space, env),
        hidden=tuple(whole_number(size, "hidden") for size in given),
        rollouts=whole_number(rollouts, "rollouts"),
        seeds=checked_seeds(seeds),
        base_seed=base_seed,
        moments=moments_of(moments, states, env),
        threshold=made.spec.reward_threshold,
        hidden_seed=hidden_seed,
    )


LINE = "any environment of gymnasium: weights of a linear policy, or of a small network; maximize"


@family("gym", LINE, like=r"[A-Z]\w*-v\d+")
def _entry(env: str) -> Entry:
    return Entry(f"gym:{env}", f"{env} of gymnasium", partial(gym, env), "gymnasium", "mujoco", BUDGET)


def states_of(space: object, env: str) -> int:
    """Return how many numbers the policy sees."""
    from gymnasium import spaces

    cure = "wrap it (gymnasium.wrappers), register that under a name of its own, and run gym:your_module:Name-v0"
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        got = "pictures" if isinstance(space, spaces.Box) else type(space).__name__
        raise ValueError(f"expected an environment whose states are a row of numbers, got {got} in {env}: {cure}")
    return int(space.shape[0])
