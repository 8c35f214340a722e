"""Gaits: weights of a linear policy, scored by the mean return of its episodes, or by speed against effort.

A plain name is the environment nearest to the thesis's: v5 where it has v4's physics and rewards (Swimmer, HalfCheetah,
and Hopper but for the 1 of its last step), else v4. Thresholds: thesis, table 5.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.base import register
from lamcts.objectives.control import episodes
from lamcts.objectives.control.episodes import Episode, MeanReturn, Rollouts, Value, checked_seeds
from lamcts.objectives.control.moments import Moments, MomentsLike, moments_of
from lamcts.objectives.control.mujoco import batch
from lamcts.objectives.control.network import LinearPolicy
from lamcts.objectives.control.world import OWN_OPTIONS, World
from lamcts.outcomes.goals import Goals
from lamcts.spaces.box import Box
from lamcts.types import Floats, Json, whole_number

ROUTES = ("auto", "gymnasium")
QUANTITIES = {"return": "max", "distance": "max", "progress": "max", "falls": "min", "speed": "max", "effort": "min"}


@dataclass(frozen=True, eq=False)
class Gait(MeanReturn[LinearPolicy]):
    """Some episodes under the linear policy with the given weights, each in [-1, 1]: their return or other quantities.

    Policies and evaluation are those of ARS (Mania, Guy and Recht 2018), as in the thesis (5.4, 5.6.1).

    value: the quantity that is maximised, where there is no more than one.
    objectives, constraints: several quantities; None and () with one.
    rollouts: episodes whose returns are averaged (3; the authors' published code); paper: the text says 10.
    seeds: start states of the episodes, fresh or fixed: drawn by the seed of each call, or by `base_seed`.
    base_seed: seed of fixed start states.
    moments: statistics that standardise the states; a study keeps "running" ones (`memory`).
    route: how episodes are stepped; "auto" steps them together where that is faster, with the same numbers.
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
    value: str = "return"
    objectives: Mapping[str, str] | None = None
    constraints: tuple[str, ...] = ()

    hypervolume = None
    noisy = False  # docs/control.md has results without re-evaluations; `noisy=True` of a run adds them

    @property
    def recommended_sampler(self) -> str | None:
        """TuRBO for one quantity, except on HalfCheetah, where the default is ahead (docs/control.md, results)."""
        return "turbo" if self.objectives is None and not self.env.startswith("HalfCheetah") else None

    @property
    def maximize(self) -> bool:  # type: ignore[override]
        return self.objectives is None

    @property
    def reference(self) -> dict[str, float] | None:
        """Standing still, always falling, with every joint at its full torque."""
        worst = {"falls": 1.0, "effort": float(np.square(self._strongest).sum())}
        return None if self.objectives is None else {name: worst.get(name, 0.0) for name in self.objectives}

    def value_of(self, found: Rollouts) -> Value:
        """Return the value of some episodes, or their quantities by name."""
        columns: dict[str, Floats] = {"return": found.returns, "progress": found.returns - found.alive}
        columns |= {"falls": found.ended.astype(float), "effort": found.effort}
        if found.distance is not None:
            columns["distance"] = found.distance
            columns["speed"] = found.distance / (found.steps * self.world.environment().unwrapped.dt)
        means = {name: float(np.mean(each)) for name, each in columns.items() if not np.isnan(each).any()}
        if missing := [name for name in self.objectives or [self.value] if name not in means]:
            raise ValueError(f"expected an environment with positions for {', '.join(missing)}, got {self.env}")
        return means[self.value] if self.objectives is None else means

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
        played = (batch.play if quick else episodes.play)(self.world, policies, starts)
        if "effort" not in (self.objectives or ()):
            return played
        return [each._replace(effort=self._effort(policy, each)) for policy, each in zip(policies, played, strict=True)]

    @property
    def _strongest(self) -> Floats:
        """The largest torque of each actuator, either way, [a]."""
        return np.asarray(self.world.environment().action_space.high, np.float64)

    def _effort(self, policy: LinearPolicy, episode: Episode) -> float:
        """Return the mean of the squared torques that the actuators give, summed over joints."""
        asked = ((np.asarray(episode.states) - policy.mean) * policy.scale) @ policy.w.T  # [steps, a]
        return float(np.square(np.clip(asked, -self._strongest, self._strongest)).sum(1).mean())

    def policy(self, point: ArrayLike) -> Json:
        """Return what running this policy elsewhere takes: action = w state + bias, with the moments in them."""
        policy = self.acting(point)
        return {
            "environment": self.env,
            "options": dict(self.world.options),
            "w": (policy.w * policy.scale).tolist(),
            "bias": (0.0 - (policy.w * policy.scale) @ policy.mean).tolist(),
            "moments": self.moments.to_json() if isinstance(self.moments, Moments) else None,
        }

    def fingerprint(self) -> Json:
        sought = {"objectives": [*(self.objectives or [self.value])], "constraints": [*self.constraints]}
        return super().fingerprint() | ({} if sought == {"objectives": ["return"], "constraints": []} else sought)

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
    objectives: Sequence[str] = ("return",),
    constraints: Sequence[str] = (),
) -> Gait:
    """Return the gait in the gymnasium environment `env`, such as "Walker2d-v5".

    Parameters
    ----------
    env : str
        gymnasium's name of the environment.
    name : str, default ""
        its name; "": that of the environment.
    rollouts : int, default 3
        episodes whose returns are averaged.
    seeds : str, default "fresh"
        start states of the episodes, fresh or fixed: drawn by the seed of each call, or those of `base_seed`.
    base_seed : int, default 0
        seed of fixed start states.
    moments : str, path-like, Moments, pair of arrays or None, default None
        statistics that standardise the states, running, ars or a file of mean and std; None or none: as they are.
        Moments or a pair (mean [s], std [s]) are taken too.
    episode_steps : int or None, default None
        length of an episode at most; None: the environment's own limit, in control steps.
    threshold : float or None, default None
        mean return from which the task counts as solved; None: not defined.
    options : dict or None, default None
        arguments of the environment's constructor.
    route : str, default "auto"
        how episodes are stepped: "gymnasium", or "auto", which steps them together where that is faster.
    objectives : sequence of str, default ("return",)
        means over episodes: return; distance along x in metres; progress, the return without the bonus for being alive;
        falls, the share of episodes that ended early; speed in metres a second; effort, squared torques summed over
        joints. Falls and effort are minimised, all others maximised.
    constraints : sequence of str, default ()
        bounds on the same quantities, such as "falls <= 0".

    Raises
    ------
    ValueError
        If a setting is out of range, or a quantity is none of these.
    """
    if route not in ROUTES:
        raise ValueError(f"expected route as one of {', '.join(ROUTES)}, got {route!r}")
    sought = [objectives] if isinstance(objectives, str) else [*objectives]
    bounds = (constraints,) if isinstance(constraints, str) else tuple(constraints)
    goals = Goals.of(False, {name: QUANTITIES.get(name, "min") for name in sought}, bounds or None)
    if unknown := [name for name in (*goals.names, *goals.quantities) if name not in QUANTITIES]:
        raise ValueError(f"expected quantities out of {', '.join(QUANTITIES)}, got {', '.join(unknown)}")
    plain = len(sought) == 1 and not bounds and QUANTITIES[sought[0]] == "max"
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
        value=sought[0],
        objectives=None if plain else {name: QUANTITIES[name] for name in sought},
        constraints=bounds,
    )


def _add_effort(name: str, env: str, line: str, budget: int) -> None:
    @register(f"{name}-effort", line, package="mujoco", extra="mujoco", budget=budget)
    def build(rollouts: int = 3, seeds: str = "fresh", base_seed: int = 0, episode_steps: int | None = None) -> Gait:
        """Return the gait with two objectives.

        rollouts, seeds, base_seed: as in `Gait`.
        episode_steps: as in `gait`.
        """
        return gait(
            env,
            name=f"{name}-effort",
            rollouts=rollouts,
            seeds=seeds,
            base_seed=base_seed,
            episode_steps=episode_steps,
            objectives=("speed", "effort"),
        )


# budgets as of the gaits (untuned)
_add_effort("swimmer", "Swimmer-v5", "Swimmer-v5, 16 weights of a linear policy: speed against squared torque", 300)


_add_effort(
    "halfcheetah",
    "HalfCheetah-v5",
    "HalfCheetah-v5, 102 weights of a linear policy: speed against squared torque",
    2000,
)


class Task(NamedTuple):
    """A task; a first run of `budget` evaluations ends within an hour on one core (untuned)."""

    name: str
    env: str
    weights: int
    threshold: float | None
    budget: int
    moments: str | None = "ars"
    objective: str = "distance"


# Weights are states times actions of the environment; thresholds: see above. By distance alone, torques cost nothing:
# Ant moved 2.6 to 4.0 m in five runs, at returns down to -534,655 (benchmarks/results/runs/ant-distance.csv).
TASKS = (
    Task("swimmer", "Swimmer-v5", 16, 325, 300, None, "return"),
    Task("hopper", "Hopper-v5", 33, 3120, 1000),
    Task("halfcheetah", "HalfCheetah-v5", 102, 3430, 2000, objective="return"),
    Task("walker2d", "Walker2d-v4", 102, 4390, 2000),
    Task("ant", "Ant-v4", 888, 3580, 1000, objective="progress"),
    Task("humanoid", "Humanoid-v4", 6392, 6000, 500, objective="progress"),
    Task("swimmer-v5", "Swimmer-v5", 16, 325, 300, None, "return"),
    Task("hopper-v5", "Hopper-v5", 33, 3120, 1000),
    Task("halfcheetah-v5", "HalfCheetah-v5", 102, 3430, 2000, objective="return"),
    Task("walker2d-v5", "Walker2d-v5", 102, None, 2000),
    Task("ant-v5", "Ant-v5", 840, None, 1000, None, "progress"),
    Task("humanoid-v5", "Humanoid-v5", 5916, None, 500, None, "progress"),
)


def _add_task(task: Task) -> None:
    options = OWN_OPTIONS.get(task.env, {})
    contact = " with contact forces" if options else ""
    line = f"{task.env}{contact}, {task.weights} weights of a linear policy; maximize"

    @register(task.name, line, package="mujoco", extra="mujoco", budget=task.budget)
    def build(
        rollouts: int = 3,
        seeds: str = "fresh",
        base_seed: int = 0,
        moments: MomentsLike = task.moments,
        episode_steps: int | None = None,
        objectives: Sequence[str] = (task.objective,),
        constraints: Sequence[str] = (),
    ) -> Gait:
        """Return the gait.

        rollouts, seeds, base_seed: as in `Gait`.
        moments, episode_steps, objectives, constraints: as in `gait`.
        """
        return gait(
            task.env,
            name=task.name,
            rollouts=rollouts,
            seeds=seeds,
            base_seed=base_seed,
            moments=moments,
            episode_steps=episode_steps,
            threshold=task.threshold,
            options=options,
            objectives=objectives,
            constraints=constraints,
        )


for _task in TASKS:
    _add_task(_task)
