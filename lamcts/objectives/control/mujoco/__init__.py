"""Gaits: a linear policy walks (swims, hops) in gymnasium's MuJoCo, and scores the mean return of its episodes."""

from lamcts.objectives.control.episodes import Rollouts
from lamcts.objectives.control.mujoco import effort, names  # register the objectives
from lamcts.objectives.control.mujoco.gait import Gait, gait

__all__ = ["Gait", "Rollouts", "effort", "gait", "names"]
