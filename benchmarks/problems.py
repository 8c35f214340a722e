"""The test problems by name: how each is built, its budget, how a result is scored, and who may decide on it.

`ackley-20` moves the optimum by the run's seed, `ackley-20-rotated` turns the function about it as well: the instance
varies with the seed, and all methods see the same one. `ackley-20-bent` and `ackley-20-rotated-bent` have bent and
stretched axes, uneven ripples and their optimum anywhere in the box; `funnels5-20-rotated-rippled` is the least of five
bowls, turned and with ripples (each word may be left out). `ackley-20-reference` is moved by one fixed vector,
`numpy.random.RandomState(12345).uniform(-1/4, 1/4)` of the range per coordinate.
`hopper-ars` standardises states by the statistics that ARS published, as the thesis did; `hopper` takes them as is.
Functions of any dimension are found, `ackley-7`; those of 20, 100 and 200 are listed. A problem whose objective is not
registered is listed all the same and cannot be run.
"""

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from benchmarks.funnels import funnels
from lamcts import objectives
from lamcts.objectives import Objective, make

NAMES = ("ackley", "rosenbrock", "rastrigin", "levy")  # of the thesis
SMALLEST_REGRET = 1e-10  # below it two results are the same
OWN = {"funnels": funnels}  # objectives that the package does not have
TUNING, TABLE = range(10), range(100, 110)  # seeds: every number in a table comes from the second


@dataclass(frozen=True)
class Problem:
    """`settings` go to `lamcts.objectives.make`, or to one of `OWN`; a value "seed" stands for the seed of the run.

    span: values that count as nothing and as everything, where no optimum is known. target: the regret (the value,
    where no optimum is known) from which the problem counts as solved. rescore: "episodes" or "held out".
    held_out: no decision may look at it.
    """

    name: str
    objective: str
    dim: int
    budget: int
    target: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    span: tuple[float, float] | None = None
    rescore: str = ""
    held_out: bool = False

    @property
    def missing(self) -> bool:
        """Whether the objective is not registered."""
        return self.objective not in OWN and self.objective not in objectives.names()

    def make(self, seed: int) -> Objective:
        """Return the instance of `seed`."""
        if self.missing:
            raise ValueError(
                f"expected a registered objective behind problem {self.name!r}, got {self.objective!r}, which "
                f"lamcts.objectives.make does not know: `python -m benchmarks.run --list` marks such problems"
            )
        settings = {key: seed if v == "seed" else v for key, v in self.settings.items()}
        return OWN[self.objective](**settings) if self.objective in OWN else make(self.objective, **settings)

    def score(self, value: float, optimum: float | None) -> float:
        """Return log10 of the regret, or the share of `span` that is missing: lower is better in both."""
        if not math.isfinite(value):
            return math.inf
        if optimum is not None:
            return math.log10(max(abs(value - optimum), SMALLEST_REGRET))
        if self.span is None:
            raise ValueError(f"expected an optimum or a span of problem {self.name!r}, got neither: add one")
        low, high = self.span
        return (high - value) / (high - low)


def find(name: str) -> Problem:
    """Return a problem by its name; ValueError with the nearest names where there is none."""
    known = table()
    if name in known:
        return known[name]
    if (of := _SIZED.fullmatch(name)) and of["base"] in _SOLVED and int(of["dim"]) > 0:
        return _function(of["base"], int(of["dim"]), of["kind"])
    if (of := _FUNNELS.fullmatch(name)) and int(of["funnels"]) > 0 and int(of["dim"]) > 1:
        return _funnels(int(of["funnels"]), int(of["dim"]), of["kind"])
    from benchmarks.optimizer import dimension_problems, public_problems

    for suite in (public_problems, dimension_problems):
        if (found := suite.find(name)) is not None:
            return found
    near = difflib.get_close_matches(name, known, n=3)
    raise ValueError(f"expected a problem such as {', '.join(near or ['ackley-20', 'swimmer'])}, got {name!r}")


@cache
def table() -> Mapping[str, Problem]:
    """Return every problem by name."""
    several = [_funnels(k, dim, kind) for k in (2, 5, 20) for dim in (20, 100) for kind in _BOWLS]
    rows = [*_synthetic(), *several, *_FIXED]
    return MappingProxyType({problem.name: problem for problem in rows})


def reference(name: str, dim: int) -> str:
    """Return the problem that is a function moved by the reference vector; "ackley-rotated" is turned as well."""
    base, turned, _ = name.partition("-rotated")
    return f"{base}-{dim}-reference{turned}"


_SOLVED = {  # regret a dimension; Ackley's, Griewank's and those of BBOB do not grow with the dimension
    "ackley": lambda dim: 1.0,
    "rosenbrock": lambda dim: 5.0 * dim,
    "rastrigin": lambda dim: 2.5 * dim,
    "levy": lambda dim: 0.1 * dim,
    "griewank": lambda dim: 1.0,
    "schwefel": lambda dim: 100.0 * dim,
    "styblinski-tang": lambda dim: 3.0 * dim,
    "michalewicz": lambda dim: 0.3 * dim,
    "ellipsoid": lambda dim: 1.0,
    "discus": lambda dim: 1.0,
    "cigar": lambda dim: 1.0,
    "sharp-ridge": lambda dim: 1.0,
    "different-powers": lambda dim: 0.01,
    "schaffer": lambda dim: 1.0,
}
_HELD_OUT = ("schwefel", "styblinski-tang", "michalewicz")
_BUDGETS = {20: 1000, 100: 2000, 200: 10000}


def _synthetic() -> list[Problem]:
    rows = [_function(name, dim, kind) for name in _SOLVED for dim in _BUDGETS for kind in _KINDS]
    for name, dim, budget, target in (("hartmann6", 6, 300, 0.1), ("branin", 2, 100, 0.01)):
        for kind, how in _KINDS.items():
            rows.append(Problem(f"{name}{kind}", name, dim, budget, target, how, held_out=True))
    return rows


def _function(name: str, dim: int, kind: str) -> Problem:
    """Return one of the functions."""
    settings = {"dim": dim, **_KINDS[kind]}
    solved = _SOLVED[name](dim)
    return Problem(f"{name}-{dim}{kind}", name, dim, _budget(dim), solved, settings, held_out=name in _HELD_OUT)


def _funnels(count: int, dim: int, kind: str) -> Problem:
    """Return one of several funnels; all but the deepest end 2 above it or more."""
    settings = {"dim": dim, "funnels": count, "shift": "seed", **_BOWLS[kind]}
    return Problem(f"funnels{count}-{dim}{kind}", "funnels", dim, _budget(dim), 1.0, settings)


def _budget(dim: int) -> int:
    """Return the evaluations; between the dimensions that are listed the next larger one's hold."""
    return next((n for listed, n in _BUDGETS.items() if dim <= listed), max(_BUDGETS.values()))


_KINDS: dict[str, dict[str, Any]] = {
    "": {"shift": "seed"},
    "-rotated": {"shift": "seed", "rotate": "seed"},
    "-bent": {"bend": "seed"},
    "-rotated-bent": {"rotate": "seed", "bend": "seed"},
    "-reference": {"shift": "reference"},
    "-reference-rotated": {"shift": "reference", "rotate": "reference"},
}
_BOWLS: dict[str, dict[str, Any]] = {
    "": {},
    "-rotated": {"rotate": "seed"},
    "-rippled": {"rippled": True},
    "-rotated-rippled": {"rotate": "seed", "rippled": True},
}
_SIZED = re.compile(rf"(?P<base>[a-z-]+)-(?P<dim>\d+)(?P<kind>{'|'.join(_KINDS)})")
_FUNNELS = re.compile(rf"funnels(?P<funnels>\d+)-(?P<dim>\d+)(?P<kind>{'|'.join(_BOWLS)})")


def _gait(name: str, dim: int, budget: int, still: float, threshold: float, held_out: bool = False) -> list[Problem]:
    """With states as they are and, as in the thesis, standardised by ARS's statistics, of which Swimmer has none.

    NAME-distance and NAME-progress maximise these, and are scored by the return as well.

    `still` is the measured score of W = 0, `threshold` the thesis's (table 5.2).
    """
    as_is = {"moments": "none", "objectives": ("return",)}
    plain = Problem(name, name, dim, budget, threshold, as_is, (still, threshold), "episodes", held_out)
    given = replace(plain, name=f"{name}-ars", settings=as_is | {"moments": "ars"})
    others = [
        replace(plain, name=f"{name}-{quantity}", settings={"moments": "ars", "objectives": (quantity,)})
        for quantity in ("distance", "progress")
    ]
    return [plain] if name == "swimmer" else [plain, given, *others]


_FIXED = (
    *_gait("swimmer", 16, 500, 10, 325),
    *_gait("hopper", 33, 2000, 133, 3120),
    *_gait("halfcheetah", 102, 1700, 0, 3430),
    *_gait("walker2d", 102, 2000, 93, 4390, held_out=True),
    *_gait("ant", 888, 2000, 994, 3580, held_out=True),
    *_gait("humanoid", 6392, 2000, 207, 6000, held_out=True),
    # From a soft crash to the best held-out score seen; 200 counts as landed (gymnasium).
    Problem("lunar", "lunar", 12, 1000, 200, {"seeds": "fixed"}, (0, 300), "held out"),
    # From the mean of random trajectories to the best one possible.
    Problem("rover", "rover", 60, 2000, 4.0, {}, (-18.8, 5.0)),
    # From nothing moved to the published maximum.
    Problem("push", "push", 14, 500, 10.0, {}, (0.0, 11.073)),
    Problem("smoke", "ackley", 3, 16, 1.0, {"dim": 3, "shift": "seed"}),  # shows that a method runs, and nothing else
)
