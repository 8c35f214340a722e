"""Base of policy searches: the value of a point is the mean return of some episodes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, Self, TypeVar

from numpy.typing import ArrayLike

from lamcts.objectives.control.episodes import Acting, Episode, Rollouts, Watched, watch
from lamcts.objectives.control.moments import Moments
from lamcts.objectives.control.world import World
from lamcts.objectives.identity import digest
from lamcts.rng import Purpose, derive, fresh_seed
from lamcts.types import Json, whole_number

Policy = TypeVar("Policy", bound=Acting)


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

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> float:
        return self.evaluate(point, seed=self._seed(seed)).mean

    def values(self, points: Sequence[ArrayLike], seeds: Sequence[int]) -> list[float]:
        """Return the values of points, each with its seed; faster than a call for each."""
        drawn = [self.base_seed] * len(seeds) if self.seeds == "fixed" else seeds
        return [found.mean for found in self.many(points, drawn)]

    def evaluate(self, point: ArrayLike, *, seed: int | None = None, rollouts: int | None = None) -> Rollouts:
        """Run the episodes of `seed` (None: new ones), `rollouts` of them if given, and return their returns.

        The result has the moments of the visited states too. To use statistics over many evaluations, as in ARS,
        merge them and evaluate with an objective of those moments.
        """
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

    def watch(self, point: ArrayLike, *, seed: int | None = None, rollouts: int | None = None) -> Watched:
        """Run the episodes of `evaluate` again with an eye on the body: how far it came, whether it fell."""
        k = whole_number(self.rollouts if rollouts is None else rollouts, "rollouts")
        policy = self.acting(point)
        return Watched.of(watch(self.world, [policy] * k, starts(fresh_seed() if seed is None else seed, k)))

    def fingerprint(self) -> Json:
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

    def recall(self, point: ArrayLike, *, seed: int, memory: Json) -> tuple[float, Json]:
        """Return the value of a point under the statistics in `memory`, and what to merge into them."""
        found = self.recalling(memory).evaluate(point, seed=self._seed(seed))
        return found.mean, found.states.to_json()

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
