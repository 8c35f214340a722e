"""A gait: the weights of a linear policy, scored by the mean return of its episodes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.control.mujoco import batch, episodes
from lamcts.objectives.control.mujoco.episodes import Episode, Rollouts
from lamcts.objectives.control.mujoco.statistics import moments_of
from lamcts.objectives.control.mujoco.world import World
from lamcts.objectives.control.policy import LinearPolicy, Moments
from lamcts.objectives.identity import digest
from lamcts.rng import Purpose, derive, fresh_seed
from lamcts.spaces.box import Box

ROUTES = ("auto", "gymnasium")


@dataclass(frozen=True, eq=False)
class Gait:
    """The mean return of some episodes under the linear policy with the given weights, each in [-1, 1].

    Picklable: every thread and process builds an environment of its own. The paper is the thesis (5.4, 5.6.1), whose
    policies and evaluation are those of ARS (Mania, Guy and Recht 2018).

    name: what it is called.
    world: gymnasium's environment, and how it is made.
    states: numbers that the policy sees.
    actions: numbers that it gives; there are states times actions weights.
    rollouts: whose returns are averaged (3; episodes); the authors' published code; paper: the text says 10.
    seeds: where episodes start ("fresh"; or "fixed"): from states drawn by the seed of each call, or from those of
        `base_seed` every time.
    base_seed: of fixed start states (0).
    moments: by which states are standardised (None: by none; or `Moments`). "running" takes all states that earlier
        evaluations of the run have visited: a study keeps these statistics (`memory`), a call by hand has none yet and
        leaves states as they are; paper: those that ARS published with its policies, which `gait` knows as "ars".
    threshold: the mean return from which the task counts as learned (None: nobody has set one); thesis, table 5.2.
    route: how episodes are stepped ("auto"; or "gymnasium"): "auto" steps them together where that is quicker
        (benchmarks/steps.py); the numbers are the same, bit for bit.
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

    maximize = True
    optimum = None

    @property
    def env(self) -> str:
        """The name of the environment."""
        return self.world.env

    @property
    def space(self) -> Box:
        return Box(-1, 1, dim=self.states * self.actions)

    @property
    def x0(self) -> NDArray[np.float64]:
        """The policy that does nothing."""
        return np.zeros(self.states * self.actions)

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> float:
        return self.evaluate(point, seed=self._seed(seed)).mean

    def values(self, points: Sequence[ArrayLike], seeds: Sequence[int]) -> list[float]:
        """Return what calls at each point with the seed beside it return; together that is quicker."""
        drawn = [self.base_seed] * len(seeds) if self.seeds == "fixed" else seeds
        return [found.mean for found in self.many(points, drawn)]

    def evaluate(self, point: ArrayLike, *, seed: int | None = None, rollouts: int | None = None) -> Rollouts:
        """Run the episodes that `seed` names (None: new ones), `rollouts` of them if given, and return them one by one.

        The moments of the visited states come back too: whoever wants statistics over many evaluations,
        as in ARS, merges them and goes on with a gait of those moments.
        """
        (found,) = self.many([point], [fresh_seed() if seed is None else seed], rollouts=rollouts)
        return found

    def many(self, points: Sequence[ArrayLike], seeds: Sequence[int], *, rollouts: int | None = None) -> list[Rollouts]:
        """Return what `evaluate` returns for each point with the seed beside it; together that is quicker."""
        k = _positive("rollouts", self.rollouts if rollouts is None else rollouts)
        if len(points) != len(seeds):
            raise ValueError(f"expected a seed for each of {len(points)} points, got {len(seeds)} seeds")
        policies = [self._policy(point) for point in points for _ in range(k)]
        starts = [derive(seed, Purpose.EVALUATION, i) for seed in seeds for i in range(k)]
        played = self.play(policies, starts)
        return [Rollouts.of(played[i : i + k]) for i in range(0, len(played), k)]

    def play(self, policies: Sequence[LinearPolicy], starts: Sequence[int]) -> list[Episode]:
        """Return an episode of each policy, started from the seed beside it, by the route of this gait."""
        quick = self.route == "auto" and batch.can_play(self.world)
        return (batch.play if quick else episodes.play)(self.world, policies, starts)

    def policy(self, point: ArrayLike) -> dict[str, Any]:
        """Return all that running this policy elsewhere takes, as JSON values: action = w state + bias.

        `w` [a, s] and `bias` [a] have the moments folded in; those stand beside for whoever goes on with them.
        """
        policy = self._policy(point)
        return {
            "environment": self.env,
            "options": dict(self.world.options),
            "w": (policy.w * policy.scale).tolist(),
            "bias": (0.0 - (policy.w * policy.scale) @ policy.mean).tolist(),
            "moments": self.moments.to_json() if isinstance(self.moments, Moments) else None,
        }

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        moments = self.moments
        return {
            "environment": self.env,
            "options": dict(self.world.options),
            "episode_steps": self.world.episode_steps,
            "rollouts": self.rollouts,
            "seeds": [self.seeds, self.base_seed],
            "moments": digest(moments.mean, moments.std) if isinstance(moments, Moments) else moments,
        }

    # What a study carries from evaluation to evaluation (lamcts.study.learned) ----------------------------------------

    @property
    def memory(self) -> dict[str, Any] | None:
        """What the first evaluation of a run knows of states, as JSON values; None: states leave no trace."""
        return Moments.none(self.states).to_json() if isinstance(self.moments, str) else None

    def recalling(self, memory: dict[str, Any]) -> "Gait":
        """Return this gait with the statistics in `memory`, which stay as they are."""
        moments = Moments.from_json(memory)
        return replace(self, moments=moments if moments.count > 1 else None)

    def recall(self, point: ArrayLike, *, seed: int, memory: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """Return the value of a point under the statistics in `memory`, and what to merge into them."""
        found = self.recalling(memory).evaluate(point, seed=self._seed(seed))
        return found.mean, found.states.to_json()

    def learn(self, memory: dict[str, Any], seen: dict[str, Any]) -> dict[str, Any]:
        """Return `memory` with what an evaluation has seen merged in."""
        return Moments.from_json(memory).merge(Moments.from_json(seen)).to_json()

    def _policy(self, point: ArrayLike) -> LinearPolicy:
        moments = self.moments if isinstance(self.moments, Moments) else None
        return LinearPolicy.of(point, self.states, self.actions, moments)

    def _seed(self, seed: int | None) -> int | None:
        return self.base_seed if self.seeds == "fixed" else seed


def gait(
    env: str,
    *,
    name: str = "",
    rollouts: int = 3,
    seeds: str = "fresh",
    base_seed: int = 0,
    moments: Any = None,
    episode_steps: int | None = None,
    threshold: float | None = None,
    options: dict[str, Any] | None = None,
    route: str = "auto",
) -> Gait:
    """Return the gait in the gymnasium environment `env`, such as "Walker2d-v5".

    MissingExtra without gymnasium's MuJoCo.

    env: gymnasium's name of the environment.
    name: what it is called ("": as the environment).
    rollouts, seeds, base_seed, threshold, route: as in `Gait`.
    moments: by which states are standardised (None: by none): "running", "ars", Moments, a pair (mean [s], std [s]), or
        the path of a file that holds them (see `statistics.py`).
    episode_steps: after how many an episode ends (None: the environment's own cap; control steps).
    options: for the environment's constructor (None).
    """
    if seeds not in ("fresh", "fixed"):
        raise ValueError(f"expected seeds as 'fresh' or 'fixed', got {seeds!r}")
    if route not in ROUTES:
        raise ValueError(f"expected route as one of {', '.join(ROUTES)}, got {route!r}")
    cap = None if episode_steps is None else _positive("episode_steps", episode_steps)
    world = World(env, tuple(sorted((options or {}).items())), cap)
    made = world.environment()
    (states,), (actions,) = made.observation_space.shape, made.action_space.shape
    return Gait(
        name=name or env,
        world=world,
        states=states,
        actions=actions,
        rollouts=_positive("rollouts", rollouts),
        seeds=seeds,
        base_seed=base_seed,
        moments=moments_of(moments, states, env),
        threshold=threshold,
        route=route,
    )


def _positive(what: str, number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
        raise ValueError(f"expected {what} as a whole number of at least 1, got {number!r}")
    return int(number)
