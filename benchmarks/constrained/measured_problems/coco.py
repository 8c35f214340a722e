"""COCO's suites with constraints, with two objectives and with integers: `constrained-f3-i11-5` is function 3, instance
index 11, in 5 dimensions; `biobj-...` and `mixint-...` alike (Hansen et al. 2021; Tusar et al. 2016, 2019).

Instance indices 6 to 10 are for decisions (`benchmarks.optimizer.gates`), 11 to 15 for claims. Needs coco-experiment.
"""

import importlib.util
import re
from typing import Any

import numpy as np

from lamcts import Box, Float, Int, Space

SUITES = {"constrained": 54, "biobj": 55, "mixint": 24}  # functions
NAME = re.compile(rf"(?P<suite>{'|'.join(SUITES)})-f(?P<function>\d+)-i(?P<instance>\d+)-(?P<dim>\d+)")


class Coco:
    """One of their problems. With constraints every method begins at COCO's feasible point."""

    maximize, optimum = False, None  # which COCO does not tell

    def __init__(self, name: str) -> None:
        found = NAME.fullmatch(name)
        assert found is not None
        self.name, suite = name, found["suite"]
        import cocoex

        options = f"dimensions:{found['dim']} instance_indices:{found['instance']} function_indices:{found['function']}"
        self._suite = cocoex.Suite(f"bbob-{suite}", "", options)  # owns the problem
        p = self._problem = self._suite[0]
        low, high, whole = p.lower_bounds, p.upper_bounds, p.number_of_integer_variables
        self.space: Any = Box(low, high)
        if whole:
            kinds = [Int(int(a), int(b)) for a, b in zip(low[:whole], high[:whole], strict=True)]
            kinds += [Float(float(a), float(b)) for a, b in zip(low[whole:], high[whole:], strict=True)]
            self.space = Space({f"x{i}": kind for i, kind in enumerate(kinds)})
        self.x0 = np.clip(p.initial_solution, low, high) if suite == "constrained" else None
        self.objectives = {f"f{i}": "min" for i in range(p.number_of_objectives)}
        self.constraints = tuple(f"g{i} <= 0" for i in range(p.number_of_constraints))
        several = len(self.objectives) > 1
        self.reference = dict(zip(self.objectives, p.largest_fvalues_of_interest, strict=True)) if several else None

    def __call__(self, point: Any, *, seed: int | None = None) -> dict[str, float]:
        x = np.array([*point.values()] if isinstance(point, dict) else point, float)
        told = dict(zip(self.objectives, np.atleast_1d(self._problem(x)).tolist(), strict=True))
        return told | {f"g{i}": float(g) for i, g in enumerate(self._problem.constraint(x) if self.constraints else ())}


def names(word: str) -> list[str]:
    """Return the problems of a name in which f* stands for every function; any other name alone."""
    count = SUITES.get(word.partition("-")[0], 0)
    return [word.replace("-f*-", f"-f{f}-") for f in range(1, count + 1)] if "-f*-" in word else [word]


def lacking() -> str:
    """Return which package is missing, "" where it is there."""
    return "" if importlib.util.find_spec("cocoex") else "it needs coco-experiment: pip install '.[peers]'"
