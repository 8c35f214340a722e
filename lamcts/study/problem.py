"""The problem of a run: a function, its space and its goals, from the arguments and the attributes of an objective."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from lamcts.optimizer.arguments import space_of
from lamcts.outcomes.goals import Goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.fixed import fixed
from lamcts.spaces.valid import Valid
from lamcts.spaces.values import brief
from lamcts.study.options import RunSettings
from lamcts.study.scipy_constraints import ConstraintFunction, Guarded, constraints_by_kind
from lamcts.types import Json, Point


class Declared(NamedTuple):
    """The attributes of an objective that a run uses, None for a missing one."""

    name: str | None
    space: Any
    x0: Point
    maximize: bool | None
    objectives: Any
    constraints: Any
    reference: Any
    reports: bool | None
    fingerprint: Callable[[], Json] | None
    recommended_sampler: str | None
    noisy: bool | None

    @classmethod
    def of(cls, f: object) -> "Declared":
        """Return the attributes of `f`; ValueError for the misspelling `maximise`, which would change the sense."""
        declared = cls(*(getattr(f, name, None) for name in cls._fields))
        if hasattr(f, "maximise"):
            raise ValueError(f"the objective {declared.called(f)} has an attribute 'maximise': call it 'maximize'")
        return declared if callable(declared.fingerprint) else declared._replace(fingerprint=None)

    def called(self, f: object) -> str:
        """Return the name of a function."""
        return str(self.name or getattr(f, "__qualname__", None) or type(f).__name__)


class RunProblem(NamedTuple):
    """A function, the space of its points, and its goals."""

    f: Callable[..., object]
    space: SearchSpace
    maximize: bool
    x0: Point
    name: str
    declared: Declared
    goals: Goals = Goals()
    functions: tuple[ConstraintFunction, ...] = ()
    check_first: bool = False

    @property
    def noisy(self) -> bool:
        """The default of `noisy`: whether the objective declares noise, with one value and without a fidelity."""
        return bool(self.declared.noisy) and self.goals.plain and FidelityAxis.of(self.space) is None

    @property
    def call(self) -> Callable[..., object] | Guarded:
        """The function for workers, which calls constraint functions first."""
        return Guarded(self.f, self.functions, self.check_first) if self.functions else self.f


def problem_of(
    f: Callable[..., object],
    space: Any,
    maximize: bool | None,
    settings: RunSettings,
) -> RunProblem:
    """Return the problem; attributes of an `Objective` replace arguments of None."""
    if not callable(f):
        raise ValueError(f"expected a function of a point, got {type(f).__name__}")
    declared = Declared.of(f)
    declared_space = declared.space
    x0 = settings.x0
    if x0 is None and (space is None or space is declared_space) and settings.fix is None:
        x0 = declared.x0  # which may not fit another space
    maximize = _sense(declared.maximize, maximize)
    if declared_space is None and space is None:
        raise ValueError(
            "space: expected a space such as lamcts.Box(-5, 10, dim=20), got none, and the function has none"
        )
    space = space_of(declared_space if space is None else space)
    if settings.fix is not None:
        space = fixed(space, settings.fix)
    space, functions, words = _bounded(space, x0, settings)
    bounds = [bound for function in functions for bound in function.constraints]
    goals = goals_of(declared, maximize, settings, (*words, *bounds))
    _refuse_taken({bound.name for bound in bounds}, goals, len(bounds))
    if len(goals.objectives) == 1:
        maximize = goals.objectives[0].maximize
    return RunProblem(f, space, maximize, x0, declared.called(f), declared, goals, functions, settings.check_first)


def _sense(sense: bool | None, maximize: bool | None) -> bool:
    """Return whether higher is better; ValueError if the call and the objective (`sense`) disagree."""
    if maximize is None:
        return bool(sense)
    if sense is not None and bool(sense) != maximize:
        wanted, got = ("maximize", "minimize") if sense else ("minimize", "maximize")
        raise ValueError(f"the objective is there to {wanted}, got {got}; call lamcts.{wanted}")
    return maximize


def _bounded(
    space: SearchSpace, x0: Point, settings: RunSettings
) -> tuple[SearchSpace, tuple[ConstraintFunction, ...], tuple[object, ...]]:
    """Return the space with rules, the constraint functions, and the constraints in words."""
    bounded = constraints_by_kind(settings.constraints)
    rules: list[Callable[[Point], object]] = [
        *bounded.rules(space),
        *([] if settings.valid is None else [settings.valid]),
    ]
    space = Valid(space, rules, known=_points(space, x0)) if rules else space
    functions = bounded.measures(_start(space, x0)) if rules or bounded.functions else ()
    return space, functions, bounded.words


def goals_of(declared: Declared, maximize: bool, settings: RunSettings, constraints: Iterable[object]) -> Goals:
    """Return the goals, as given, else as declared; given constraints add to declared ones."""
    objectives = settings.objectives
    reference = settings.reference
    if objectives is None:
        objectives = declared.objectives
        reference = declared.reference if reference is None else reference
    known = declared.constraints
    known = () if known is None else (known,) if isinstance(known, (str, int)) else tuple(known)
    new = [constraint for constraint in constraints if not (isinstance(constraint, str) and constraint in known)]
    all_constraints: Any = (*known, *new)
    if any(isinstance(constraint, (int, np.integer)) for constraint in all_constraints):
        if len(all_constraints) > 1:
            raise ValueError(f"constraints: expected texts or a number of them, got both, {brief(all_constraints)}")
        (all_constraints,) = all_constraints
    return Goals.of(maximize, objectives, all_constraints, reference)


def _points(space: SearchSpace, x0: Point) -> list[Point]:
    """Return the points of `x0`, one point or several; empty if a point is not in the space."""
    if x0 is None:
        return []
    for points in ([x0], x0):
        try:
            return [space.decode(space.encode(point)) for point in points]
        except (ValueError, TypeError):
            continue
    return []  # the optimizer refuses `x0`


def _start(space: SearchSpace, x0: Point) -> Point:
    """Return a point to probe the shapes of constraint functions: `x0` if it is one point, else a valid sample."""
    rng = np.random.default_rng(0)
    if x0 is None:
        return space.decode(space.find(rng) if isinstance(space, Valid) else space.sample(1, rng)[0])
    try:
        return space.decode(space.encode(x0))
    except ValueError:  # several points
        return space.decode(space.sample(1, rng)[0])


def _refuse_taken(names: Collection[str], goals: Goals, n: int) -> None:
    """Raise ValueError for a constraint function with the name of another objective or constraint."""
    own_names = [*goals.names, *(constraint.name for constraint in goals.constraints[: len(goals.constraints) - n])]
    repeated = [name for name in own_names if name in names]
    if repeated:
        got = f"{repeated[0]!r} is the name of a constraint that is a function"
        raise ValueError(f"constraints: {got}; rename your own")
