"""A support vector machine on scikit-learn's digits: nine parameters, all 15,360 settings in results/svm_digits.npz.

The value is the error in percent of a three-fold cross-validation on every third digit (599).
`benchmarks/discrete/svm_table.py` of commit 7f0b6325 made the table. Parameters that a kernel does not use change
nothing, as in any such problem.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.discrete.discrete_problems.base import Discrete, Point
from benchmarks.harness.sheet import RESULTS
from lamcts import Bool, Choice, Int, Space

FILE = RESULTS / "svm_digits.npz"
# Steps of 10, or of 2 in what is counted: as many settings as a core fits in minutes (untuned).
SPACE = Space(
    {
        "roots": Bool(),  # of the pixels
        "scaling": Choice(["none", "deviation", "range"]),
        "selected": Choice([8, 16, 32, 64], ordered=True),  # pixels, by their F value
        "whitened": Bool(),
        "kernel": Choice(["linear", "rbf", "poly", "sigmoid"]),
        "cost": Choice([0.01, 0.1, 1.0, 10.0, 100.0], ordered=True),
        "gamma": Choice([0.01, 0.1, 1.0, 10.0], ordered=True),  # of 1 / (pixels times their variance)
        "degree": Int(2, 3),
        "offset": Choice([0.0, 1.0], ordered=True),
    }
)
# Which parameters a kernel has.
USES = {"linear": (), "rbf": ("gamma",), "sigmoid": ("gamma", "offset"), "poly": ("gamma", "offset", "degree")}


def svm_digits() -> Discrete:
    """Ordered parameters are turned round by some seeds: the only table here whose numbers are."""
    table = _table()

    def function(point: Point) -> float:
        return float(table[place(point)])

    ordered = frozenset({"selected", "cost", "gamma", "degree", "offset"})
    first = np.unravel_index(table.argmin(), table.shape)
    members = zip(SPACE.names or (), SPACE.members, first, strict=True)
    best = {name: values(member)[i] for name, member, i in members}
    return Discrete("svm-digits", SPACE, function, optimum=float(table.min()), best=best, mirrored=ordered)


def place(point: Point) -> tuple[int, ...]:
    """Return where the value of a point stands in the table."""
    return tuple(
        values(member).index(point[name]) for name, member in zip(SPACE.names or (), SPACE.members, strict=True)
    )


def values(member: Bool | Choice | Int) -> list:
    """Return the values of a parameter, in order."""
    if isinstance(member, Bool):
        return [False, True]
    return list(member.options if isinstance(member, Choice) else range(member.low, member.high + 1))


@cache
def _table() -> NDArray[np.float64]:
    with np.load(FILE) as held:
        return 100 * held["wrong"] / held["of"]
