"""Gaits: a linear policy walks (swims, hops) in gymnasium's MuJoCo, and scores the mean return of its episodes."""

import logging
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.errors import MissingExtra
from lamcts.objectives.base import register
from lamcts.objectives.policy import LinearPolicy, Moments
from lamcts.rng import Purpose, derive, fresh_seed
from lamcts.spaces.box import Box

_mine = threading.local()  # environments hold the physics' state: one of each kind to a thread, built when first needed


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Some episodes of one policy: their returns [k], lengths in control steps [k], and the states visited."""

    returns: NDArray[np.float64]
    steps: NDArray[np.int64]
    states: Moments

    @property
    def mean(self) -> float:
        return float(self.returns.mean())


@dataclass(frozen=True, eq=False)
class Gait:
    """The mean return of `rollouts` episodes under the linear policy with the given weights, each in [-1, 1].

    `seeds`: "fresh" draws new start states from the seed of each call, "fixed" uses those of `base_seed`
    every time. `moments`: None leaves states as they are, Moments standardise them, "running" starts
    afresh in every call and takes each state in before acting on it.
    `threshold` is the mean return from which the task counts as learned, None where nobody has set one.
    Picklable: every thread and process builds an environment of its own.
    """

    name: str
    env: str
    states: int
    actions: int
    rollouts: int = 3
    seeds: str = "fresh"
    base_seed: int = 0
    moments: Moments | str | None = None
    threshold: float | None = None

    maximise = True
    optimum = None

    @property
    def space(self) -> Box:
        return Box(-1, 1, dim=self.states * self.actions)

    @property
    def x0(self) -> NDArray[np.float64]:
        """The policy that does nothing."""
        return np.zeros(self.states * self.actions)

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> float:
        return self.evaluate(point, seed=self.base_seed if self.seeds == "fixed" else seed).mean

    def evaluate(self, point: ArrayLike, *, seed: int | None = None, rollouts: int | None = None) -> Rollouts:
        """Run the episodes that `seed` names (None: new ones), `rollouts` of them if given, and return them one by one.

        The moments of the visited states come back too: whoever wants statistics over many evaluations,
        as in ARS, merges them and goes on with a gait of those moments.
        """
        k = _positive("rollouts", self.rollouts if rollouts is None else rollouts)
        seed = fresh_seed() if seed is None else seed
        running = Moments.none(self.states) if isinstance(self.moments, str) else None
        given = None if isinstance(self.moments, str) else self.moments
        policy = LinearPolicy.of(point, self.states, self.actions, given)
        visited = []
        env = _environment(self.env)
        returns, steps = np.zeros(k), np.zeros(k, np.int64)
        for i in range(k):
            state, _ = env.reset(seed=derive(seed, Purpose.EVALUATION, i))
            over = False
            while not over:
                visited.append(state)
                if running is not None:
                    running = running.add(state)
                    policy = policy.scaled(running)
                state, reward, fallen, late, _ = env.step(policy.action(state))
                returns[i] += reward
                steps[i] += 1
                over = fallen or late
        return Rollouts(returns, steps, Moments.of(visited))

    def policy(self, point: ArrayLike) -> dict[str, Any]:
        """Return all that running this policy elsewhere takes, as JSON values: action = w ((state - mean) / std)."""
        w = LinearPolicy.of(point, self.states, self.actions).w.tolist()
        scaled = (
            {"mean": self.moments.mean.tolist(), "std": self.moments.std.tolist()}
            if isinstance(self.moments, Moments)
            else self.moments
        )
        return {"environment": self.env, "w": w, "moments": scaled}


def gait(
    env: str,
    *,
    name: str = "",
    rollouts: int = 3,
    seeds: str = "fresh",
    base_seed: int = 0,
    moments: Any = None,
    threshold: float | None = None,
) -> Gait:
    """Return the gait in the gymnasium environment `env`, such as "Walker2d-v5".

    `moments`: None, "running", Moments, or a pair (mean [s], std [s]). MissingExtra without gymnasium's MuJoCo.
    """
    if seeds not in ("fresh", "fixed"):
        raise ValueError(f"expected seeds as 'fresh' or 'fixed', got {seeds!r}")
    made = _environment(env)
    (states,), (actions,) = made.observation_space.shape, made.action_space.shape
    return Gait(
        name=name or env,
        env=env,
        states=states,
        actions=actions,
        rollouts=_positive("rollouts", rollouts),
        seeds=seeds,
        base_seed=base_seed,
        moments=_moments(moments, states),
        threshold=threshold,
    )


@register(
    "swimmer", "Swimmer-v5, 16 weights of a linear policy; maximise", package="mujoco", extra="mujoco", budget=300
)
def swimmer(rollouts: int = 3, seeds: str = "fresh", base_seed: int = 0, moments: Any = None) -> Gait:
    """Swimmer: 8 states, 2 actions. Threshold of the thesis (table 5.2); doing nothing scores about 10."""
    how: dict[str, Any] = {"rollouts": rollouts, "seeds": seeds, "base_seed": base_seed, "moments": moments}
    return gait("Swimmer-v5", name="swimmer", threshold=325, **how)


@register("hopper", "Hopper-v5, 33 weights of a linear policy; maximise", package="mujoco", extra="mujoco", budget=1000)
def hopper(rollouts: int = 3, seeds: str = "fresh", base_seed: int = 0, moments: Any = None) -> Gait:
    """Hopper: 11 states, 3 actions. Threshold of the thesis (table 5.2); doing nothing scores about 133."""
    how: dict[str, Any] = {"rollouts": rollouts, "seeds": seeds, "base_seed": base_seed, "moments": moments}
    return gait("Hopper-v5", name="hopper", threshold=3120, **how)


def _environment(env: str) -> Any:
    """Return this thread's environment called `env`."""
    held = _mine.__dict__.setdefault("environments", {})
    if env not in held:
        try:
            import gymnasium
            import mujoco  # noqa: F401  # gymnasium imports it late, with an error of its own
        except ImportError:
            raise MissingExtra.of("gymnasium[mujoco]", "mujoco") from None
        _keep_quiet()
        try:
            held[env] = gymnasium.make(env, disable_env_checker=True)
        except gymnasium.error.Error as error:
            raise ValueError(f"expected a gymnasium environment such as 'Swimmer-v5', got {env!r}: {error}") from None
    return held[env]


@cache
def _keep_quiet() -> None:
    """Send MuJoCo's warnings of this process to logging: by default it writes a file in the current folder."""
    import mujoco

    mujoco.set_mju_user_warning(logging.getLogger(__name__).info)


def _positive(what: str, number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
        raise ValueError(f"expected {what} as a whole number of at least 1, got {number!r}")
    return int(number)


def _moments(given: Any, states: int) -> Moments | str | None:
    if given is None or (isinstance(given, str) and given == "running"):
        return given
    if isinstance(given, Moments):
        moments = given
    else:
        try:
            mean, std = (np.asarray(column, float) for column in given)
        except (TypeError, ValueError):
            raise ValueError(f"expected moments as None, 'running', Moments or (mean, std), got {given!r}") from None
        moments = Moments(2, mean, np.broadcast_to(std, mean.shape) ** 2)  # of two states: squares = variance
    if moments.mean.shape != (states,) or not np.isfinite(moments.squares).all():
        raise ValueError(f"expected moments of {states} states, all finite, got shape {list(moments.mean.shape)}")
    return moments
