"""Gaits in MuJoCo: the weights of a linear policy, scored by the mean return of its episodes."""

from lamcts.objectives.control.episodes import Rollouts
from lamcts.objectives.control.mujoco.gait import Gait, gait

__all__ = ["Gait", "Rollouts", "gait"]
