"""Figures of runs (extra: plot). Each function returns a matplotlib Figure and changes no global state of matplotlib.

A run is a Result, the path of a journal (or of the folder of `lamcts run`), a Journal, or an Optimizer.

    figure = lamcts.plot.importance(result)
    figure.savefig("importance.png")
"""

from lamcts.plot.curves import best_so_far, hypervolume, reward, violation
from lamcts.plot.effects import contours, importance, parameters, slices
from lamcts.plot.evolution import evolution_front, evolution_graphs
from lamcts.plot.fronts import front, fronts, parallel
from lamcts.plot.grown_tree import tree_used
from lamcts.plot.layer_shares import layer_shares
from lamcts.plot.live_memory import live_memory
from lamcts.plot.miss_curve import misses
from lamcts.plot.networks import cells
from lamcts.plot.tree_diagram import tree
from lamcts.plot.tree_partition import partition

__all__ = [
    "best_so_far",
    "cells",
    "contours",
    "evolution_front",
    "evolution_graphs",
    "front",
    "fronts",
    "hypervolume",
    "importance",
    "layer_shares",
    "live_memory",
    "misses",
    "parallel",
    "parameters",
    "partition",
    "reward",
    "slices",
    "tree",
    "tree_used",
    "violation",
]
