"""What every objective can do, and the registry that finds one by its name."""

import difflib
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from lamcts.errors import MissingExtra
from lamcts.spaces.base import Space

BUDGET = 500  # evaluations of a first run from the command line, where an objective says nothing else (untuned)
NEAR_NAMES = 3  # that a message offers for an unknown one


class Objective(Protocol):
    """A function of points of a space, and what is known about it.

    One that has a method `fingerprint()`, of JSON values, has a say in which journals a run may go on with.
    """

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def space(self) -> Space:
        """The points that it scores."""

    @property
    def maximize(self) -> bool:
        """Whether higher values are better."""

    @property
    def x0(self) -> Any:
        """A point to start from, None where none stands out."""

    @property
    def optimum(self) -> float | None:
        """The best value possible, None where nobody knows."""

    def __call__(self, point: Any, *, seed: int | None = None) -> float | dict[str, float]:
        """Return the value at `point`, or, of one that is `Measured`, its quantities by name.

        The same seed gives the same noise; None draws fresh noise.
        """


class Measured(Objective, Protocol):
    """An objective whose calls return a dict: quantities by name, of which some are sought and some bounded.

    `maximize` has no say in it (False); `optimum` is the best value that a point within the constraints has, None
    where there are several objectives.
    """

    @property
    def objectives(self) -> Mapping[str, str]:
        """Which quantities are sought, by name: "min" or "max"."""

    @property
    def constraints(self) -> tuple[str, ...]:
        """Which are bounded: texts "NAME <= NUMBER", "NAME >= NUMBER" or "NAME == NUMBER +- TOLERANCE"."""

    @property
    def reference(self) -> Mapping[str, float] | None:
        """The point that hypervolumes are measured from, by name of an objective; None where there is none."""

    @property
    def hypervolume(self) -> float | None:
        """The largest hypervolume that is known, None where nobody knows."""


@dataclass(frozen=True)
class Entry:
    """One row of the registry: `build(**settings)` returns the objective called `name`.

    `budget` is how many evaluations a first run from the command line makes (untuned, all of them).
    """

    name: str
    line: str
    build: Callable[..., Objective]
    package: str | None = None
    extra: str | None = None
    budget: int = BUDGET

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that `build` takes, with their defaults."""
        return {name: given.default for name, given in inspect.signature(self.build).parameters.items()}

    @property
    def missing(self) -> bool:
        """Whether the package that this objective needs is not installed."""
        return self.package is not None and importlib.util.find_spec(self.package) is None


Build = TypeVar("Build", bound=Callable[..., Objective])

# Modules that register objectives, by their full names since some stand above this part; each loads light, when asked.
_MODULES = (
    *(f"lamcts.objectives.synthetic.{name}" for name in ("synthetic", "funnels")),
    *(f"lamcts.objectives.{name}" for name in ("control.mujoco", "control.lunar")),
    *(f"lamcts.objectives.{name}" for name in ("control.rover", "control.push", "control.environment")),
    *(
        f"lamcts.objectives.constrained.{name}"
        for name in ("ackley", "keane", "g", "engineering", "welded_beam", "plane")
    ),
    *(f"lamcts.objectives.pareto.{name}" for name in ("zdt", "dtlz", "branin_currin", "plane", "design", "penicillin")),
    *(f"lamcts.nas.{name}" for name in ("published", "published201", "published_digits", "tradeoffs")),
    "lamcts.neural.memory.objective",
)
_entries: dict[str, Entry] = {}
_families: dict[str, tuple[str, Callable[[str], Entry]]] = {}  # by what stands before the colon


def register(
    name: str, line: str, *, package: str | None = None, extra: str | None = None, budget: int = BUDGET
) -> Callable[[Build], Build]:
    """Return a decorator that adds a function as the builder of objective `name`.

    `line` describes it in one line. `package` is what it imports when built, `extra` the extra of
    lamcts that brings that package.
    """

    def add(build: Build) -> Build:
        if name in _entries:
            raise ValueError(f"expected a new objective name, got {name!r}, which is taken: choose another")
        _entries[name] = Entry(name, line, build, package, extra, budget)
        return build

    return add


def family(prefix: str, line: str) -> Callable[[Callable[[str], Entry]], Callable[[str], Entry]]:
    """Return a decorator for a function that makes the row of any name "PREFIX:REST" of its REST.

    `line` describes them all in one line.
    """

    def add(made: Callable[[str], Entry]) -> Callable[[str], Entry]:
        _families[prefix] = (line, made)
        return made

    return add


def families() -> dict[str, str]:
    """Return the prefixes of names that are made when asked for, with a line on each."""
    names()
    return {prefix: line for prefix, (line, _) in sorted(_families.items())}


def names() -> dict[str, Entry]:
    """Return every registered objective by name."""
    for module in _MODULES:
        importlib.import_module(module)
    return dict(sorted(_entries.items()))


def entry(name: str) -> Entry:
    """Return the registry's row of `name`; ValueError with the nearest names if there is none."""
    known = names()
    prefix, colon, rest = str(name).partition(":")
    if colon and prefix in _families:
        return _families[prefix][1](rest)
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=NEAR_NAMES)
        cure = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(known)}"
        raise ValueError(f"expected the name of an objective, got {name!r}: {cure}")
    return known[name]


def make(name: str, **settings: Any) -> Objective:
    """Return the objective called `name`, built with `settings`.

    ValueError for an unknown name or setting, MissingExtra if its package is not installed.
    """
    row = entry(name)
    for setting in settings:
        if setting not in row.settings:
            near = difflib.get_close_matches(setting, row.settings, n=1)
            cure = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(row.settings)}"
            raise ValueError(f"expected a setting of objective {name!r}, got {setting!r}: {cure}")
    if row.missing:
        raise MissingExtra.of(str(row.package), str(row.extra))
    return row.build(**settings)
