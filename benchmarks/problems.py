"""The test problems: the four functions of the thesis on its boxes, shifted so that no optimum lies at the centre.

The shift is one fixed vector for all methods, `numpy.random.RandomState(12345).uniform(-1/4, 1/4)` of the range per
coordinate. The rotated versions are turned about their optima, for axis-wise searches win separable ones unfairly.
"""

from lamcts.objectives import Objective, make

NAMES = ("ackley", "rosenbrock", "rastrigin", "levy")


def shifted(name: str, dim: int) -> Objective:
    """Return a problem by its name; "ackley-rotated" is rotated as well."""
    base, _, kind = name.partition("-")
    return make(base, dim=dim, shift="reference", rotate="reference" if kind == "rotated" else None)
