"""Gaits by name: the six tasks of the thesis in their sizes, and gymnasium's newest environments (v5).

A plain name is the environment nearest to the thesis's. v5 serves where it has v4's physics and rewards (Swimmer and
HalfCheetah; Hopper differs by the 1 of its last step). v4 serves elsewhere: Walker2d has other friction in v5, Ant and
Humanoid other states. Thresholds: thesis, table 5.2; a v5 task has one where it is the same task.
"""

from typing import NamedTuple

from lamcts.objectives.base import register
from lamcts.objectives.control.moments import MomentsLike
from lamcts.objectives.control.mujoco.gait import Gait, gait
from lamcts.objectives.control.world import OWN_OPTIONS


class Task(NamedTuple):
    """A task; a first run of `budget` evaluations ends within an hour on one core (untuned)."""

    name: str
    env: str
    weights: int
    threshold: float | None
    budget: int


# Weights are states times actions of the environment; thresholds: see above.
TASKS = (
    Task("swimmer", "Swimmer-v5", 16, 325, 300),
    Task("hopper", "Hopper-v5", 33, 3120, 1000),
    Task("halfcheetah", "HalfCheetah-v5", 102, 3430, 2000),
    Task("walker2d", "Walker2d-v4", 102, 4390, 2000),
    Task("ant", "Ant-v4", 888, 3580, 1000),
    Task("humanoid", "Humanoid-v4", 6392, 6000, 500),
    Task("swimmer-v5", "Swimmer-v5", 16, 325, 300),
    Task("hopper-v5", "Hopper-v5", 33, 3120, 1000),
    Task("halfcheetah-v5", "HalfCheetah-v5", 102, 3430, 2000),
    Task("walker2d-v5", "Walker2d-v5", 102, None, 2000),
    Task("ant-v5", "Ant-v5", 840, None, 1000),
    Task("humanoid-v5", "Humanoid-v5", 5916, None, 500),
)


def _add(task: Task) -> None:
    options = OWN_OPTIONS.get(task.env, {})
    contact = " with contact forces" if options else ""
    line = f"{task.env}{contact}, {task.weights} weights of a linear policy; maximize"

    @register(task.name, line, package="mujoco", extra="mujoco", budget=task.budget)
    def build(
        rollouts: int = 3,
        seeds: str = "fresh",
        base_seed: int = 0,
        moments: MomentsLike = None,
        episode_steps: int | None = None,
    ) -> Gait:
        """Return the gait.

        rollouts, seeds, base_seed: as in `Gait`.
        moments, episode_steps: as in `gait`.
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
        )


for _task in TASKS:
    _add(_task)
