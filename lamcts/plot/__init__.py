"""Figures (extra: plot). Every function returns a matplotlib Figure and touches no global state of matplotlib."""

from lamcts.plot.curves import best_so_far, reward
from lamcts.plot.effects import Effects, contours, importance, parameters, slices
from lamcts.plot.fronts import front, parallel
from lamcts.plot.leaves import partition
from lamcts.plot.live_memory import live_memory
from lamcts.plot.networks import cells
from lamcts.plot.nodes import tree
from lamcts.plot.overlay import fronts
from lamcts.plot.progress import hypervolume, violation

__all__ = [
    "Effects",
    "best_so_far",
    "cells",
    "contours",
    "front",
    "fronts",
    "hypervolume",
    "importance",
    "live_memory",
    "parallel",
    "parameters",
    "partition",
    "reward",
    "slices",
    "tree",
    "violation",
]
