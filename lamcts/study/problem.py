"""What is to be solved: a function, its space and its sense, put together from what the user gave."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lamcts.spaces.base import Space
from lamcts.spaces.values import brief
from lamcts.types import array_of


class Problem(NamedTuple):
    """A function, the space of its points, and whether higher is better."""

    f: Callable[..., Any]
    space: Space
    maximize: bool
    x0: Any
    name: str


def problem_of(f: Any, space: Any, maximize: bool | None, x0: Any) -> Problem:
    """Return the problem; what is left out (None) is taken from `f` where it is an `Objective`."""
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
    return Problem(f, space_of(space), maximize, x0, _name(f))


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
