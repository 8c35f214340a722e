"""Public test suites as objectives: BBOB, MA-BBOB, and MA-BBOB with its optimum in a corner, all from IOHexperimenter.

`bbob-f15-i76-20` is function 15, instance 76, in 20 dimensions (Hansen et al. 2021, COCO). `mabbob-101-20` is
ManyAffine instance 101, a mixture of BBOB functions (Vermetten et al. 2023). `corner-101-20` is the same mixture,
shifted without wrapping until its optimum lies in a corner: every coordinate of it is uniform in +-[4, 5] of the box
[-5, 5]. The value is the gap to the optimum. Every method is given the centre of the box as its first evaluation.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.problems import Problem
from lamcts import Box

BBOB, MIXTURE = r"bbob-f(?P<function>\d+)-i(?P<instance>\d+)", r"(?P<suite>mabbob|corner)-(?P<mixture>\d+)"
NAME = re.compile(rf"(?:{BBOB}|{MIXTURE})-(?P<dim>\d+)")
HALF_WIDTH, CORNER = 5.0, 4.0  # of the box, and of the middle in which no corner's optimum lies


class PublicObjective:
    """A function of a public suite as an objective: its gap to the known optimum, at least 0."""

    maximize, optimum = False, 0.0
    x0_alone = True  # peers begin at the centre, as ours does, and not at the best of a design

    def __init__(self, name: str) -> None:
        found = NAME.fullmatch(name)
        if found is None:
            raise ValueError(f"expected a name such as bbob-f15-i76-20, mabbob-101-20 or corner-101-20, got {name!r}")
        self.name, dim = name, int(found["dim"])
        self.space, self.x0 = Box(-HALF_WIDTH, HALF_WIDTH, dim=dim), np.zeros(dim)
        if found["function"]:
            self._f, best, self._moved = bbob(int(found["function"]), int(found["instance"]), dim)
        else:
            self._f, best, self._moved = mixture(int(found["mixture"]), dim, found["suite"] == "corner")
        self._best = best

    def __call__(self, point: Any, *, seed: int | None = None) -> float:
        return max(float(self._f((np.asarray(point, float) + self._moved).tolist())) - self._best, 0.0)


def bbob(function: int, instance: int, dim: int) -> tuple[Any, float, Any]:
    import ioh

    problem = ioh.get_problem(function, instance=instance, dimension=dim, problem_class=ioh.ProblemClass.BBOB)
    return problem, float(problem.optimum.y), np.zeros(dim)


def mixture(number: int, dim: int, corner: bool) -> tuple[Any, float, Any]:
    import ioh

    problem = ioh.problem.ManyAffine(number, dim)
    if not corner:
        return problem, 0.0, np.zeros(dim)
    rng = np.random.default_rng((number, dim))
    place = rng.uniform(CORNER, HALF_WIDTH, dim) * rng.choice([-1, 1], dim)
    return problem, 0.0, np.array(problem.optimum.x) - place


@dataclass(frozen=True)
class PublicProblem(Problem):
    """One of them as a problem of the benchmarks; the seed of a run does not change the function."""

    missing = False

    def make(self, seed: int) -> Any:
        return PublicObjective(self.name)


def find(name: str) -> PublicProblem | None:
    """Return the problem of a name, None where it is no name of a public suite."""
    found = NAME.fullmatch(name)
    return PublicProblem(name, "", int(found["dim"]), 200, 1e-8) if found else None
