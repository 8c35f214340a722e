"""A gait: the weights of a linear policy, scored by the mean return of its episodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.control import episodes
from lamcts.objectives.control.episodes import Episode
from lamcts.objectives.control.moments import Moments, MomentsLike, moments_of
from lamcts.objectives.control.mujoco import batch
from lamcts.objectives.control.policy import LinearPolicy
from lamcts.objectives.control.returns import MeanReturn, checked_seeds
from lamcts.objectives.control.world import World
from lamcts.spaces.box import Box
from lamcts.types import Json, whole_number

ROUTES = ("auto", "gymnasium")


@dataclass(frozen=True, eq=False)
class Gait(MeanReturn[LinearPolicy]):
    """The mean return of some episodes under the linear policy with the given weights, each in [-1, 1].

    Picklable: every thread and process builds an environment of its own. The paper is the thesis (5.4, 5.6.1), whose
    policies and evaluation are those of ARS (Mania, Guy and Recht 2018).

    Parameters
    ----------
    name : str
        Its name.
    world : World
        The environment of gymnasium and the arguments of its constructor.
    states : int
        Number of observed values.
    actions : int
        Number of actions; there are states times actions weights.
    rollouts : int, default 3
        episodes whose returns are averaged; the authors' published code; paper: the text says 10.
    seeds : str, default "fresh"
        start states of the episodes, fresh or fixed: drawn by the seed of each call, or those of `base_seed` in every
        call.
    base_seed : int, default 0
        seed of fixed start states.
    moments : Moments, str or None, default None
        statistics that standardise the states; None: not standardised. "running" uses all states that earlier
        evaluations of the run visited: a study keeps these statistics (`memory`), and a call by hand has none. Paper:
        those that ARS published with its policies, "ars" of `gait`.
    threshold : float or None, default None
        mean return from which the task counts as solved; thesis, table 5.2; None: not defined.
    route : str, default "auto"
        how episodes are stepped: "gymnasium", or "auto", which steps them together where that is faster
        (benchmarks/parallel/steps.py); the numbers are the same, bit for bit.
    """

    name: str
    world: World
    states: int
    actions: int
    rollouts: int = 3
    seeds: str = "fresh"
    base_seed: int = 0
    moments: Moments | str | None = None
    threshold: float | None = None
    route: str = "auto"

    @property
    def space(self) -> Box:
        return Box(-1, 1, dim=self.states * self.actions)

    @property
    def x0(self) -> NDArray[np.float64]:
        """The policy that does nothing."""
        return np.zeros(self.states * self.actions)

    def play(self, policies: Sequence[LinearPolicy], starts: Sequence[int]) -> list[Episode]:
        """Return an episode of each policy, started from its seed, by the route of this gait."""
        quick = self.route == "auto" and batch.can_play(self.world)
        return (batch.play if quick else episodes.play)(self.world, policies, starts)

    def policy(self, point: ArrayLike) -> Json:
        """Return all that is needed to run this policy elsewhere, as JSON values: action = w state + bias.

        `w` [a, s] and `bias` [a] have the moments folded in; the moments are returned too.
        """
        policy = self.acting(point)
        return {
            "environment": self.env,
            "options": dict(self.world.options),
            "w": (policy.w * policy.scale).tolist(),
            "bias": (0.0 - (policy.w * policy.scale) @ policy.mean).tolist(),
            "moments": self.moments.to_json() if isinstance(self.moments, Moments) else None,
        }

    def acting(self, point: ArrayLike) -> LinearPolicy:
        """Return the policy of these weights."""
        moments = self.moments if isinstance(self.moments, Moments) else None
        return LinearPolicy.of(point, self.states, self.actions, moments)


def gait(
    env: str,
    *,
    name: str = "",
    rollouts: int = 3,
    seeds: str = "fresh",
    base_seed: int = 0,
    moments: MomentsLike = None,
    episode_steps: int | None = None,
    threshold: float | None = None,
    options: Json | None = None,
    route: str = "auto",
) -> Gait:
    """Return the gait in the gymnasium environment `env`, such as "Walker2d-v5".

    Parameters
    ----------
    env : str
        gymnasium's name of the environment.
    name : str, default ""
        its name; "": that of the environment.
    rollouts, seeds, base_seed, threshold, route : see `Gait`
        as in `Gait`.
    moments : str, path-like, Moments, pair of arrays or None, default None
        statistics that standardise the states, running, ars or a file of mean and std; None: not standardised. The
        file is described in `moments.py`; Moments or a pair (mean [s], std [s]) are taken too.
    episode_steps : int or None, default None
        length of an episode at most; None: the environment's own limit, in control steps.
    options : dict or None, default None
        arguments of the environment's constructor.

    Returns
    -------
    Gait
        The objective.

    Raises
    ------
    MissingExtra
        If gymnasium's MuJoCo is not installed.
    """
    if route not in ROUTES:
        raise ValueError(f"expected route as one of {', '.join(ROUTES)}, got {route!r}")
    cap = None if episode_steps is None else whole_number(episode_steps, "episode_steps")
    world = World(env, tuple(sorted((options or {}).items())), cap)
    made = world.environment()
    (states,), (actions,) = made.observation_space.shape, made.action_space.shape
    return Gait(
        name=name or env,
        world=world,
        states=states,
        actions=actions,
        rollouts=whole_number(rollouts, "rollouts"),
        seeds=checked_seeds(seeds),
        base_seed=base_seed,
        moments=moments_of(moments, states, env),
        threshold=threshold,
        route=route,
    )
