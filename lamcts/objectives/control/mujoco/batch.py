"""Episodes stepped together by MuJoCo's batch (mujoco 4 and later), equal to gymnasium's bit for bit.

The bodies are gymnasium 1.4's, for many simulations at a time. Ant and Humanoid see contact forces, which a batch does
not compute. Letters: k simulations, s states, a actions, q positions, v velocities.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamcts.objectives.control.episodes import Episode
from lamcts.objectives.control.network import LinearPolicy
from lamcts.objectives.control.world import World
from lamcts.types import Floats

if TYPE_CHECKING:
    from mujoco.batch import Batch

TOGETHER = 64  # simulations of a batch; with more, a step is hardly quicker (steps.py prints 3 and 63)
FASTEST = 10.0  # gymnasium's Hopper and Walker2d see velocities clipped to this
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Body:
    """State, reward and termination of a gymnasium environment from positions and velocities.

    `unseen` leading positions are left out of the state. It falls where position 1 leaves `height` (None: never),
    position 2 `angle`, or a later one `bound`. `lasting` is the reward of a step, `last` that of the one in which it
    falls.
    """

    control_cost: float
    noise: float
    unseen: int = 1
    normal_velocities: bool = False
    clipped: bool = False
    height: tuple[float, float] | None = None
    angle: tuple[float, float] = (-np.inf, np.inf)
    bound: float = np.inf
    lasting: float = 0.0
    last: float = 0.0

    def state(self, q: Floats, v: Floats) -> Floats:
        return np.concatenate((q[:, self.unseen :], np.clip(v, -FASTEST, FASTEST) if self.clipped else v), axis=1)

    def fallen(self, q: Floats, v: Floats) -> Bools:
        """Return which simulations are over, [k]."""
        if self.height is None:
            return np.zeros(len(q), bool)
        upright = _within(q[:, 1], *self.height) & _within(q[:, 2], *self.angle)
        if np.isfinite(self.bound):
            upright &= _within(q[:, 2:], -self.bound, self.bound).all(axis=1)
            upright &= _within(v, -self.bound, self.bound).all(axis=1)
        return ~upright

    def reward(self, speed: Floats, action: Floats, fallen: Bools) -> Floats:
        reward = speed + np.where(fallen, self.last, self.lasting) if self.height is not None else speed
        return np.asarray(reward - self.control_cost * np.sum(np.square(action), axis=1))

    def start(self, seed: int, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return noisy positions and velocities, from the draws that gymnasium makes."""
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        near = q + rng.uniform(low=-self.noise, high=self.noise, size=q.size)
        if self.normal_velocities:
            return near, v + self.noise * rng.standard_normal(v.size)
        return near, v + rng.uniform(low=-self.noise, high=self.noise, size=v.size)


# The numbers are those of gymnasium's environments.
_SWIMMER = Body(1e-4, 0.1, unseen=2)
_CHEETAH = Body(0.1, 0.1, normal_velocities=True)
_HOPPER = Body(1e-3, 5e-3, clipped=True, height=(0.7, np.inf), angle=(-0.2, 0.2), bound=100.0, lasting=1.0)
_WALKER = Body(1e-3, 5e-3, clipped=True, height=(0.8, 2.0), angle=(-1.0, 1.0), lasting=1.0)
BODIES = {
    "Swimmer-v4": _SWIMMER,
    "Swimmer-v5": _SWIMMER,
    "HalfCheetah-v4": _CHEETAH,
    "HalfCheetah-v5": _CHEETAH,
    "Hopper-v4": replace(_HOPPER, last=1.0),
    "Hopper-v5": _HOPPER,
    "Walker2d-v4": replace(_WALKER, last=1.0),
    "Walker2d-v5": _WALKER,
}


def can_play(world: World) -> bool:
    """Return whether the environment is supported here and mujoco has batched rollouts."""
    return world.env in BODIES and not world.options and _installed()


@cache
def _installed() -> bool:
    return find_spec("mujoco") is not None and find_spec("mujoco.batch") is not None


def play(world: World, policies: Sequence[LinearPolicy], seeds: Sequence[int]) -> list[Episode]:
    """Return one episode of each policy, started from its seed, at most `TOGETHER` at a time."""
    parts = range(0, len(policies), TOGETHER)
    return [one for i in parts for one in _together(world, policies[i : i + TOGETHER], seeds[i : i + TOGETHER])]


def _together(world: World, policies: Sequence[LinearPolicy], seeds: Sequence[int]) -> list[Episode]:
    body, env = BODIES[world.env], world.environment()
    inner, cap = env.unwrapped, env.spec.max_episode_steps
    assert cap is not None, "every body here has a cap"
    batch = world.mine("batch", lambda: _batch(inner.model))
    q, v, ctrl = batch.bind("qpos"), batch.bind("qvel"), batch.bind("ctrl")  # live: [TOGETHER, ...]
    up = np.arange(len(policies), dtype=np.int32)  # [k], the simulations that go on
    at: slice | NDArray[np.int32] = slice(len(policies))  # the same as `up`; a slice is a quicker index
    batch.reset(up, stage=0)
    for i, seed in enumerate(seeds):
        q[i], v[i] = body.start(seed, inner.init_qpos, inner.init_qvel)
    batch.forward(up)
    w = np.array([policy.w for policy in policies])  # [k, a, s]
    mean = np.array([policy.mean for policy in policies])  # [k, s]
    scale = np.array([policy.scale for policy in policies])  # [k, s]
    state = body.state(q[up], v[up])  # [k, s]
    visited = np.empty((cap, *state.shape))
    start = q[at, 0].copy()
    totals, steps, ended = np.zeros(len(up)), np.zeros(len(up), np.int64), np.zeros(len(up), bool)
    for t in range(cap):
        visited[t, at] = state
        # numpy multiplies a stack one matrix at a time, by the routine that it takes for a matrix on its own
        action = np.matmul(w, ((state - mean) * scale)[:, :, None])[:, :, 0]  # [k, a]
        ctrl[at] = action
        before = q[at, 0].copy()
        batch.step(up, nstep=inner.frame_skip)
        here, velocity = q[at], v[at]
        fallen = body.fallen(here, velocity)
        totals[at] += body.reward((here[:, 0] - before) / inner.dt, action, fallen)
        steps[at] += 1
        state = body.state(here, velocity)
        if fallen.any():
            on = ~fallen
            ended[up[fallen]] = True
            at = up = up[on]
            state, w, mean, scale = state[on], w[on], mean[on], scale[on]
            if not len(up):
                break
    distance = q[: len(policies), 0] - start
    alive = body.lasting * (steps - ended) + body.last * ended
    found = zip(totals.tolist(), steps.tolist(), ended.tolist(), distance.tolist(), alive.tolist(), strict=True)
    return [Episode(*each, visited[: each[1], i]) for i, each in enumerate(found)]


def _batch(model: object) -> "Batch":
    from mujoco.batch import Batch

    return Batch(model, TOGETHER, nthread=1)


def _within(x: Floats, low: float, high: float) -> Bools:
    return (low < x) & (x < high)
