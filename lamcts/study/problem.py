"""What is to be solved: a function, its space and its sense, put together from what the user gave."""

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
    """The attributes of an objective that a run uses; None where a function lacks one."""

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
        """Return the attributes of `f`; ValueError for a misspelt one, which would turn the sign."""
        found = cls(*(getattr(f, name, None) for name in cls._fields))
        if hasattr(f, "maximise"):
            raise ValueError(f"the objective {found.called(f)} has an attribute 'maximise': call it 'maximize'")
        return found if callable(found.fingerprint) else found._replace(fingerprint=None)

    def called(self, f: object) -> str:
        """Return the name of a function."""
        return str(self.name or getattr(f, "__qualname__", None) or type(f).__name__)


class RunProblem(NamedTuple):
    """A function, the space of its points, and what is sought and bounded."""

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
        """Whether a run is to behave as with `noisy=True`, where nothing else is given: one value that is noisy."""
        return bool(self.declared.noisy) and self.goals.plain and FidelityAxis.of(self.space) is None

    @property
    def call(self) -> Callable[..., object] | Guarded:
        """What workers evaluate: the function, after the constraints that are functions."""
        return Guarded(self.f, self.functions, self.check_first) if self.functions else self.f


def problem_of(
    f: Callable[..., object],
    space: Any,
    maximize: bool | None,
    settings: RunSettings,
) -> RunProblem:
    """Return the problem; what is left out (None) is taken from `f` where it is an `Objective`."""
    if not callable(f):
        raise ValueError(f"expected a function of a point, got {type(f).__name__}")
    declared = Declared.of(f)
    given, x0 = declared.space, settings.x0
    if x0 is None and (space is None or space is given) and settings.fix is None:  # it may not fit another space
        x0 = declared.x0
    maximize = _sense(declared.maximize, maximize)
    if given is None and space is None:
        raise ValueError(
            "space: expected a space such as lamcts.Box(-5, 10, dim=20), got none, and the function has none"
        )
    space = space_of(given if space is None else space)
    if settings.fix is not None:
        space = fixed(space, settings.fix)
    space, functions, words = _bounded(space, x0, settings)
    held = [each for one in functions for each in one.constraints]
    goals = goals_of(declared, maximize, settings, (*words, *held))
    _refuse_taken({each.name for each in held}, goals, len(held))
    if len(goals.objectives) == 1:
        maximize = goals.objectives[0].maximize
    return RunProblem(f, space, maximize, x0, declared.called(f), declared, goals, functions, settings.check_first)


def _sense(sense: bool | None, maximize: bool | None) -> bool:
    """Return whether higher is better; ValueError where the call and the objective (`sense`) do not agree."""
    if maximize is None:
        return bool(sense)
    if sense is not None and bool(sense) != maximize:
        wanted, got = ("maximize", "minimize") if sense else ("minimize", "maximize")
        raise ValueError(f"the objective is there to {wanted}, got {got}; call lamcts.{wanted}")
    return maximize


def _bounded(
    space: SearchSpace, x0: Point, settings: RunSettings
) -> tuple[SearchSpace, tuple[ConstraintFunction, ...], tuple[object, ...]]:
    """Return the space without what is never to be proposed, constraints that are functions, and those in words."""
    bounded = constraints_by_kind(settings.constraints)
    rules: list[Callable[[Point], object]] = [
        *bounded.rules(space),
        *([] if settings.valid is None else [settings.valid]),
    ]
    space = Valid(space, rules, known=_points(space, x0)) if rules else space
    functions = bounded.measures(_start(space, x0)) if rules or bounded.functions else ()
    return space, functions, bounded.words


def goals_of(declared: Declared, maximize: bool, settings: RunSettings, constraints: Iterable[object]) -> Goals:
    """Return what is sought and bounded: as given, else as declared; given constraints add to declared ones."""
    own, known, point = declared.objectives, declared.constraints, declared.reference
    objectives, reference = settings.objectives, settings.reference
    if objectives is None:
        objectives, reference = own, point if reference is None else reference
    known = () if known is None else (known,) if isinstance(known, (str, int)) else tuple(known)
    held: Any = (*known, *(each for each in constraints if not (isinstance(each, str) and each in known)))
    if any(isinstance(each, (int, np.integer)) for each in held):
        if len(held) > 1:
            raise ValueError(f"constraints: expected texts or a number of them, got both, {brief(held)}")
        (held,) = held
    return Goals.of(maximize, objectives, held, reference)


def _points(space: SearchSpace, x0: Point) -> list[Point]:
    """Return those of `x0`, one point or several, that are points of the space."""
    if x0 is None:
        return []
    for points in ([x0], x0):
        try:
            return [space.decode(space.encode(point)) for point in points]
        except (ValueError, TypeError):
            continue
    return []  # it is refused where it is proposed


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
    """Raise ValueError where the name of a constraint that is a function is that of something else."""
    own = [*goals.names, *(held.name for held in goals.constraints[: len(goals.constraints) - n])]
    twice = [name for name in own if name in names]
    if twice:
        raise ValueError(f"constraints: {twice[0]!r} is the name of a constraint that is a function; rename your own")
