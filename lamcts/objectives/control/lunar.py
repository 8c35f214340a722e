"""LunarLander: twelve numbers set the constants of gymnasium's heuristic (TuRBO, Eriksson et al. 2019)."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.base import register
from lamcts.objectives.control.episodes import checked_seeds
from lamcts.objectives.control.world import Environment, World
from lamcts.rng import Purpose, derive, fresh_seed
from lamcts.spaces.box import Box
from lamcts.text import shortened
from lamcts.types import Json, number_of, whole_number

ENV = "LunarLander-v3"
WEIGHTS = 12  # Eriksson et al. 2019, section 3
HEURISTIC = (0.5, 1.0, 0.4, 0.55, 0.5, 1.0, 0.5, 0.5, 0.0, 0.5, 0.05, 0.05)  # the constants of gymnasium's heuristic

_alone = threading.Lock()  # the strength of the first push is a global of gymnasium's module


@dataclass(frozen=True, eq=False)
class Landings:
    """Some episodes of one set of weights: their returns [k]."""

    returns: NDArray[np.float64]

    @property
    def mean(self) -> float:
        return float(self.returns.mean())


@dataclass(frozen=True)
class Lander:
    """The mean return of some episodes under the rule with the given weights, each in [0, 2].

    A terrain is an environment's seed: it names the ground, the push, and how the engines scatter. Picklable: every
    thread and process builds an environment of its own. The paper is Eriksson et al. 2019 (TuRBO).

    rollouts: episodes whose returns are averaged (10); untuned; paper: 50 terrains.
    seeds: terrains, fixed or fresh ("fixed"): `base_seed`, `base_seed` + 1, ... in every call, without noise, or those
        that the seed of each call draws; paper: fixed.
    base_seed: seed of the first fixed terrain (0).
    initial_random: strength of the random push at the start (1500.0; gymnasium's unit, default there 1000); paper: the
        same.
    """

    rollouts: int = 10
    seeds: str = "fixed"
    base_seed: int = 0
    initial_random: float = 1500.0

    name = "lunar"
    maximize = True
    x0 = None
    optimum = None
    threshold = 200.0  # gymnasium: "an episode is considered a solution if it scores at least 200 points"

    @property
    def noisy(self) -> bool:
        """Whether each evaluation draws new terrains."""
        return self.seeds == "fresh"

    @property
    def space(self) -> Box:
        return Box(0, 2, dim=WEIGHTS)

    def fingerprint(self) -> Json:
        return {"game": self.name, **asdict(self)}

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> float:
        if self.seeds == "fresh":
            return self.evaluate(point, seed=seed).mean
        return self.land(point, range(self.base_seed, self.base_seed + self.rollouts)).mean

    def evaluate(self, point: ArrayLike, *, seed: int | None = None, rollouts: int | None = None) -> Landings:
        """Run episodes on terrains that `seed` draws (None: new ones), `rollouts` of them if given."""
        seed = fresh_seed() if seed is None else seed
        k = self.rollouts if rollouts is None else rollouts
        return self.land(point, [derive(seed, Purpose.EVALUATION, i) for i in range(k)])

    def land(self, point: ArrayLike, terrains: Iterable[int]) -> Landings:
        """Run one episode on each of `terrains`."""
        w = weights_of(point)
        returns = [self._episode(w, terrain) for terrain in terrains]
        if not returns:
            raise ValueError("expected at least one terrain, got none: pass seeds such as range(50)")
        return Landings(np.array(returns))

    def policy(self, point: ArrayLike) -> Json:
        """Return all that running this rule elsewhere takes, as JSON values."""
        return {"environment": ENV, "w": weights_of(point), "initial_random": self.initial_random}

    def _episode(self, w: list[float], terrain: int) -> float:
        env = _environment()
        with first_push(self.initial_random):  # read by reset alone
            state, _ = env.reset(seed=int(terrain))
        total, over = 0.0, False
        while not over:
            state, reward, landed, late, _ = env.step(action(w, state))
            total += number_of(reward)
            over = landed or late
        return total


def action(w: Sequence[float], state: Iterable[float]) -> int:
    """Return 0 to fall, 1 or 3 to fire the left or right engine, 2 the main one, under the weights `w` [12].

    `state` [8]: position (x, y), velocity (x, y), angle and its speed, contact of each leg. Targets: an angle of
    w0 x + w1 vx, at most w2 to either side, and a height of w3 |x|. Gains: w4 on the miss of the angle, w5 on its
    speed, w6 on the miss of the height, w7 on the falling speed. Once a leg stands, w8 is the turn asked for and w9 the
    gain on the falling speed. Dead zones: the main engine stays off up to w10, the others up to w11.

    Numbers are left in the type that they come in, so that HEURISTIC acts as gymnasium's own rule to the last bit.
    """
    target_x, target_vx, steepest, target_y, miss, spin, height, fall, turn, brake, idle, steady = w
    x, y, vx, vy, angle, speed, left, right = state
    if left or right:
        tilt, lift = turn, -vy * brake
    else:
        aim = min(max(x * target_x + vx * target_vx, -steepest), steepest)
        tilt = (aim - angle) * miss - speed * spin
        lift = (target_y * abs(x) - y) * height - vy * fall
    if lift > abs(tilt) and lift > idle:
        return 2
    if tilt < -steady:
        return 3
    return 1 if tilt > steady else 0


@register("lunar", "LunarLander-v3, 12 weights of a rule; maximize", package="Box2D", extra="mujoco", budget=300)
def lunar(rollouts: int = 10, seeds: str = "fixed", base_seed: int = 0, initial_random: float = 1500.0) -> Lander:
    """LunarLander with twelve weights in [0, 2]. MissingExtra without gymnasium's Box2D.

    rollouts, seeds, base_seed, initial_random: as in `Lander`.
    """
    made = Lander(
        whole_number(rollouts, "rollouts"), checked_seeds(seeds), whole_number(base_seed, "base_seed", least=0)
    )
    if not (np.isfinite(initial_random) and initial_random >= 0):
        raise ValueError(f"expected initial_random as a finite number of at least 0, got {initial_random!r}")
    _environment()
    return replace(made, initial_random=float(initial_random))


def _environment() -> Environment:
    """Return this thread's lander."""
    return World(ENV).environment()


@contextmanager
def first_push(strength: float) -> Iterator[None]:
    """Let landers start with a push of `strength`, and put the value back that was there."""
    from gymnasium.envs.box2d import lunar_lander

    with _alone:
        before = lunar_lander.INITIAL_RANDOM
        lunar_lander.INITIAL_RANDOM = strength
        try:
            yield
        finally:
            lunar_lander.INITIAL_RANDOM = before


def weights_of(point: ArrayLike) -> list[float]:
    """Return the weights of the rule as plain numbers [12]; ValueError for any other content."""
    w = np.asarray(point, float)
    if w.shape != (WEIGHTS,) or not np.isfinite(w).all():
        raise ValueError(f"expected {WEIGHTS} finite weights in one row, got {shortened(str(w.tolist()))}")
    result: list[float] = w.tolist()
    return result
