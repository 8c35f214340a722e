"""What is to be solved: a function, its space and its sense, put together from what the user gave."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lamcts.outcomes.goals import Goals
from lamcts.spaces.base import Space
from lamcts.spaces.values import brief
from lamcts.study.options import Settings
from lamcts.types import array_of

WORDS = ("objectives", "constraints", "reference")  # what says the goals, of a call or of an objective


class Problem(NamedTuple):
    """A function, the space of its points, and what is sought and bounded.

    `maximize`: of one objective, whether higher is better.
    """

    f: Callable[..., Any]
    space: Space
    maximize: bool
    x0: Any
    name: str
    goals: Goals = Goals()


def problem_of(
    f: Any,
    space: Any,
    maximize: bool | None,
    settings: Settings,
) -> Problem:
    """Return the problem; what is left out (None) is taken from `f` where it is an `Objective`."""
    x0 = settings.x0
    if not callable(f):
        raise ValueError(f"expected a function of a point, got {type(f).__name__}")
    given = getattr(f, "space", None)
    if space is None:
        space = given
    if space is None:
        raise ValueError(
            "space: expected a space such as lamcts.Box(-5, 10, dim=20), got none, and the function has none"
        )
    if hasattr(f, "maximise"):  # to ignore it would turn the sign in silence
        raise ValueError(f"the objective {_name(f)} has an attribute 'maximise': call it 'maximize'")
    sense = getattr(f, "maximize", None)
    if maximize is None:
        maximize = bool(sense)
    elif sense is not None and bool(sense) != maximize:
        wanted, got = ("maximize", "minimize") if sense else ("minimize", "maximize")
        raise ValueError(f"the objective is there to {wanted}, got {got}; call lamcts.{wanted}")
    if x0 is None and space is given:  # the objective's own start may not fit another space
        x0 = getattr(f, "x0", None)
    goals = goals_of(f, maximize, settings)
    if len(goals.objectives) == 1:
        maximize = goals.objectives[0].maximize
    return Problem(f, space_of(space), maximize, x0, _name(f), goals)


def goals_of(f: Any, maximize: bool, settings: Settings) -> Goals:
    """Return what is sought and bounded: as given, else as `f` says; constraints are given beside those of `f`.

    A reference belongs to objectives: where others than its own are given, that of `f` says nothing.
    """
    objectives, constraints, reference = (getattr(settings, name) for name in WORDS)
    own, known, point = (getattr(f, name, None) for name in WORDS)
    if objectives is None:
        objectives, reference = own, point if reference is None else reference
    held = constraints if known is None else known if constraints is None else _both(known, constraints)
    return Goals.of(maximize, objectives, held, reference)


def _both(known: Any, more: Any) -> tuple[Any, ...]:
    """Return constraints one after the other, each once."""
    texts = [[held] if isinstance(held, str) else held for held in (known, more)]
    if any(isinstance(held, (int, np.integer)) for held in texts):
        raise ValueError(f"constraints: expected texts beside those that the objective has, got {brief(more)}")
    return tuple(dict.fromkeys(held for given in texts for held in given))


def _name(f: Any) -> str:
    return str(getattr(f, "name", None) or getattr(f, "__qualname__", None) or type(f).__name__)


def space_of(space: Any) -> Any:
    """Return a space; bounds as scipy takes them, [(low, high), ...] or `Bounds`, make a Box."""
    if hasattr(space, "lb") and hasattr(space, "ub"):
        low, high = np.atleast_1d(space.lb), np.atleast_1d(space.ub)
    elif isinstance(space, (list, tuple, np.ndarray)):
        try:
            pairs = array_of(space).astype(float)
        except Exception:  # whatever its items raise: they are no pairs of numbers
            pairs = np.empty(0)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
            raise ValueError(f"space: expected a lamcts space or pairs [(low, high), ...], got {brief(space)}")
        low, high = pairs.T
    else:
        return space
    from lamcts.spaces.box import Box

    return Box(low, high)
