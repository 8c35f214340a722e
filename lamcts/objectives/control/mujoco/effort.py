"""A gait's speed against the effort that it takes: the two that the reward of a gait weighs into one number."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lamcts.objectives.base import register
from lamcts.objectives.control.episodes import Episode
from lamcts.objectives.control.mujoco.batch import BODIES
from lamcts.objectives.control.mujoco.gait import Gait, gait
from lamcts.objectives.control.policy import LinearPolicy
from lamcts.rng import Purpose, derive, fresh_seed
from lamcts.spaces.box import Box
from lamcts.types import Floats, Json

FULL = 1.0  # torque of an actuator at most, either way, as the models of both bodies have it


@dataclass(frozen=True, eq=False)
class Effort:
    """The mean speed of some episodes of a linear policy, and the mean effort of their steps.

    name: what it is called.
    gait: whose policies and episodes they are; one without moments that cannot fall, as all else but the cost of
        control that its reward counts is speed.
    """

    name: str
    gait: Gait

    maximize = False
    optimum = None
    constraints = ()
    hypervolume = None

    @property
    def objectives(self) -> dict[str, str]:
        """speed: forward, in metres a second. effort: squared torques, summed over joints: at most their number."""
        return {"speed": "max", "effort": "min"}

    @property
    def reference(self) -> dict[str, float]:
        """Standing still with every joint at its full torque."""
        return {"speed": 0.0, "effort": FULL**2 * self.gait.actions}

    @property
    def space(self) -> Box:
        return self.gait.space

    @property
    def x0(self) -> Floats:
        """The policy that does nothing."""
        return self.gait.x0

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> dict[str, float]:
        policy = LinearPolicy.of(point, self.gait.states, self.gait.actions)
        first = self.gait.base_seed if self.gait.seeds == "fixed" else fresh_seed() if seed is None else seed
        starts = [derive(first, Purpose.EVALUATION, i) for i in range(self.gait.rollouts)]
        found = [self._measured(policy, one) for one in self.gait.play([policy] * len(starts), starts)]
        speed, effort = np.mean(found, axis=0)
        return {"speed": float(speed), "effort": float(effort)}

    def _measured(self, policy: LinearPolicy, episode: Episode) -> tuple[float, float]:
        """Return speed and effort of an episode: the reward is the speed minus the cost of the requested torques."""
        asked = ((episode.states - policy.mean) * policy.scale) @ policy.w.T  # [steps, a]
        spent = BODIES[self.gait.env].control_cost * np.square(asked).sum()
        given = np.clip(asked, -FULL, FULL)  # the actuators give no more
        return (episode.total + float(spent)) / len(asked), float(np.square(given).sum(1).mean())

    def fingerprint(self) -> Json:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        return {**self.gait.fingerprint(), "objectives": sorted(self.objectives)}


def _add(name: str, env: str, line: str, budget: int) -> None:
    @register(f"{name}-effort", line, package="mujoco", extra="mujoco", budget=budget)
    def build(rollouts: int = 3, seeds: str = "fresh", base_seed: int = 0, episode_steps: int | None = None) -> Effort:
        """Return the gait with two objectives.

        rollouts, seeds, base_seed: as in `Gait`.
        episode_steps: as in `gait`.
        """
        made = gait(env, rollouts=rollouts, seeds=seeds, base_seed=base_seed, episode_steps=episode_steps)
        return Effort(f"{name}-effort", made)


# budgets as of the gaits (untuned)
_add("swimmer", "Swimmer-v5", "Swimmer-v5, 16 weights of a linear policy: speed against squared torque", 300)
_add(
    "halfcheetah",
    "HalfCheetah-v5",
    "HalfCheetah-v5, 102 weights of a linear policy: speed against squared torque",
    2000,
)
