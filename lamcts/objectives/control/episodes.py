"""Episodes of policies in gymnasium, and searches whose value is their mean return.

Letters: k episodes, s states.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.control.moments import Moments
from lamcts.objectives.control.network import Action
from lamcts.objectives.control.world import Environment, World
from lamcts.objectives.protocol import digest
from lamcts.rng import Purpose, derive, fresh_seed
from lamcts.types import Floats, Json, number_of, whole_number

ALIVE = ("reward_survive", "reward_alive")  # gymnasium's names of the part of a reward that is for being up
IDLE = 0.85  # share of a return from which on it is the bonus for being alive and little else (untuned): a hopper
Policy = TypeVar("Policy", bound="Acting")
Value = float | dict[str, float]


# at less than 0.2 m/s; a humanoid that walks at 0.8 m/s has 0.83


class Acting(Protocol):
    """A policy that returns an action for the state of an environment."""

    def action(self, state: Floats) -> Action:
        """Return the action in `state` [s]."""


class Episode(NamedTuple):
    """An episode up to a step: return, steps, whether it ended early, metres along x, the bonus for being alive.

    `distance` is None without positions. `states` are those before each step, [steps, s], where they are kept; `effort`
    is the mean of squared torques, summed over joints, where it is asked for.
    """

    total: float
    steps: int
    ended: bool
    distance: float | None
    alive: float
    states: Floats | None = None
    effort: float = math.nan


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Some episodes of one policy: [k] each, as in `Episode`; `distance` is None without positions.

    states: moments of the states visited.
    """

    returns: NDArray[np.float64]
    steps: NDArray[np.int64]
    ended: NDArray[np.bool_]
    distance: NDArray[np.float64] | None
    alive: NDArray[np.float64]
    states: Moments
    effort: NDArray[np.float64]

    @classmethod
    def of(cls, episodes: Sequence[Episode]) -> "Rollouts":
        returns, steps, ended, places, alive, states, effort = zip(*episodes, strict=True)
        distance = None if None in places else np.array(places, float)
        moments = Moments.of(np.concatenate(states))
        bonus, torques = np.array(alive, float), np.array(effort, float)
        return cls(np.array(returns, float), np.array(steps), np.array(ended), distance, bonus, moments, torques)

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def alive_share(self) -> float | None:
        """The share of the return that is the bonus for being alive; None without such a bonus or a positive return."""
        whole = float(self.returns.sum())
        return float(self.alive.sum()) / whole if whole > 0 and self.alive.any() else None

    @property
    def idle(self) -> bool:
        """Whether the return comes without motion: nearly all of it is the bonus for being alive."""
        return self.alive_share is not None and self.alive_share >= IDLE


def play(world: World, policies: Sequence[Acting], seeds: Sequence[int]) -> list[Episode]:
    """Return one episode of each policy, started from its seed."""
    env, played = world.environment(), list[Episode]()
    for policy, seed in zip(policies, seeds, strict=True):
        state, _ = env.reset(seed=seed)
        visited = list[Floats]()

        def act(state: Floats, policy: Acting = policy, visited: list[Floats] = visited) -> Action:
            visited.append(np.array(state))  # the environment may return one array in all steps
            return policy.action(state)

        (last,) = deque(followed(env, act, state), maxlen=1)
        played.append(last._replace(states=np.array(visited)))
    return played


def followed(env: Environment, act: Callable[[Floats], Action], state: Floats) -> Iterator[Episode]:
    """Yield an episode that begins in `state` after each of its steps, until it ends or reaches its cap."""
    total, steps, alive, over, start = 0.0, 0, 0.0, False, None
    while not over:
        state, reward, ended, late, info = env.step(act(state))
        total, steps, alive, over = total + number_of(reward), steps + 1, alive + alive_of(env, info), ended or late
        place = info.get("x_position")
        if steps == 1 and place is not None and "x_velocity" in info:
            moved = number_of(info["x_velocity"]) * float(env.unwrapped.dt)
            start = number_of(place) - moved  # v4 tells none at a reset
        distance = None if start is None or place is None else number_of(place) - start
        yield Episode(total, steps, bool(ended), distance, alive)


def alive_of(env: Environment, info: Json) -> float:
    """Return the part of the last reward that was for being alive, as the environment states it."""
    for name in ALIVE:
        if name in info:
            return number_of(info[name])
    return float(getattr(env.unwrapped, "healthy_reward", 0.0))  # v4 of Hopper and Walker2d leaves it out of `info`


class MeanReturn(Generic[Policy]):
    """Methods of a frozen dataclass with these fields; subclasses define `acting` and `play`."""

    world: World
    states: int
    rollouts: int
    seeds: str
    base_seed: int
    moments: Moments | str | None

    maximize = True
    optimum = None

    def acting(self, point: ArrayLike) -> Policy:
        """Return the policy of `point`, under the moments of this objective."""
        raise NotImplementedError

    def play(self, policies: Sequence[Policy], starts: Sequence[int]) -> list[Episode]:
        """Return an episode of each policy, started from its seed."""
        raise NotImplementedError

    @property
    def env(self) -> str:
        """The name of the environment."""
        return self.world.env

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> Value:
        return self.value_of(self.evaluate(point, seed=self._seed(seed)))

    def value_of(self, found: Rollouts) -> Value:
        """Return the value of some episodes: their mean return."""
        return found.mean

    def values(self, points: Sequence[ArrayLike], seeds: Sequence[int]) -> list[Value]:
        """Return the values of points, each with its seed; faster than a call for each."""
        drawn = [self.base_seed] * len(seeds) if self.seeds == "fixed" else seeds
        return [self.value_of(found) for found in self.many(points, drawn)]

    def evaluate(self, point: ArrayLike, *, seed: int | None = None, rollouts: int | None = None) -> Rollouts:
        """Run the episodes of `seed` (None: new ones), `rollouts` of them if given."""
        (found,) = self.many([point], [fresh_seed() if seed is None else seed], rollouts=rollouts)
        return found

    def many(self, points: Sequence[ArrayLike], seeds: Sequence[int], *, rollouts: int | None = None) -> list[Rollouts]:
        """Return the result of `evaluate` for each point with its seed; faster than a call for each."""
        k = whole_number(self.rollouts if rollouts is None else rollouts, "rollouts")
        if len(points) != len(seeds):
            raise ValueError(f"expected a seed for each of {len(points)} points, got {len(seeds)} seeds")
        policies = [self.acting(point) for point in points for _ in range(k)]
        played = self.play(policies, [start for seed in seeds for start in starts(seed, k)])
        return [Rollouts.of(played[i : i + k]) for i in range(0, len(played), k)]

    def fingerprint(self) -> Json:
        moments = self.moments
        return {
            "environment": self.env,
            "options": dict(self.world.options),
            "episode_steps": self.world.episode_steps,
            "rollouts": self.rollouts,
            "seeds": [self.seeds, self.base_seed],
            "moments": digest(moments.mean, moments.std) if isinstance(moments, Moments) else moments,
        }

    # What a study carries from evaluation to evaluation (lamcts.study.shared_state) -----------------------------------

    @property
    def memory(self) -> Json | None:
        """The state statistics at the start of a run, as JSON values; None if there are none."""
        return Moments.none(self.states).to_json() if isinstance(self.moments, str) else None

    def recalling(self, memory: Json) -> Self:
        """Return this objective with the statistics in `memory`, which stay as they are."""
        moments = Moments.from_json(memory)
        found: Self = replace(self, moments=moments if moments.count > 1 else None)  # type: ignore[type-var]
        return found

    def recall(self, point: ArrayLike, *, seed: int, memory: Json) -> tuple[Value, Json]:
        """Return the value of a point under the statistics in `memory`, and what to merge into them."""
        found = self.recalling(memory).evaluate(point, seed=self._seed(seed))
        return self.value_of(found), found.states.to_json()

    def learn(self, memory: Json, seen: Json) -> Json:
        """Return `memory` with what an evaluation has seen merged in."""
        return Moments.from_json(memory).merge(Moments.from_json(seen)).to_json()

    def _seed(self, seed: int | None) -> int | None:
        return self.base_seed if self.seeds == "fixed" else seed


def starts(seed: int, k: int) -> list[int]:
    """Return the seeds of the k episodes that a seed names."""
    return [derive(seed, Purpose.EVALUATION, i) for i in range(k)]


def checked_seeds(seeds: str) -> str:
    """Return how seeds are drawn; ValueError for what is no way to draw them."""
    if seeds not in ("fresh", "fixed"):
        raise ValueError(f"expected seeds as 'fresh' or 'fixed', got {seeds!r}")
    return seeds
