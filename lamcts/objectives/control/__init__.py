"""Control problems: gaits, any environment of gymnasium, a lander, pushing hands, a rover."""

from lamcts.objectives.control.environment import Gym, gym

__all__ = ["Gym", "gym"]
