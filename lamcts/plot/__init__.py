"""Figures of runs (extra: plot). Each function returns a matplotlib Figure and changes no global state of matplotlib.

A run is a Result, the path of a journal (or of the folder of `lamcts run`), a Journal, or an Optimizer.

    figure = lamcts.plot.importance(result)
    figure.savefig("importance.png")

Figures of the wings, such as `lamcts.plot.cells` and `lamcts.plot.misses`, load when they are first used.
"""

from importlib import import_module
from typing import Any

from lamcts.plot.curves import best_so_far, hypervolume, reward, violation
from lamcts.plot.effects import contours, importance, parameters, slices
from lamcts.plot.fronts import front, fronts, parallel
from lamcts.plot.grown_tree import tree_used
from lamcts.plot.tree_partition import partition
from lamcts.utils.removed import refuses
from lamcts.utils.wings import module_of_figure, wings

__all__ = [
    "best_so_far",
    "contours",
    "front",
    "fronts",
    "hypervolume",
    "importance",
    "parallel",
    "parameters",
    "partition",
    "reward",
    "slices",
    "tree_used",
    "violation",
]


def __getattr__(name: str) -> Any:
    module = module_of_figure(name)
    if module is None:
        refuses(__name__)(name)
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for wing in wings() for name in wing.figures)})
