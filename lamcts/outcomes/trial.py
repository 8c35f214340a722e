"""A trial: one point to evaluate, and the parameters of a function that a run may set."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Note, Point


@dataclass(frozen=True)
class Trial:
    """One point to evaluate.

    Attributes
    ----------
    id : int
        Number of the trial, in order of issue.
    point : point of the space
        The point in the user's units.
    x : ndarray of shape (d,)
        The same point, encoded in the unit cube.
    seed : int
        Seed for the noise of the objective. It depends on the run's seed and `id` alone.
    session : int
        The search that proposed the point, -1 for the initial design and for points of the user.
    note : JSON value
        A note of that search.
    """

    id: int
    point: Point = field(compare=False)
    x: NDArray[np.float64] = field(repr=False, compare=False)
    seed: int = field(default=0, repr=False)
    session: int = field(default=-1, repr=False)
    note: Note = field(default=None, repr=False, compare=False)


class AskedTrials(list[Trial]):
    """The trials of one `ask`."""

    def __getattr__(self, name: str) -> NoReturn:
        cure = "take one, [trial] = opt.ask(), or loop over the list"
        raise AttributeError(f"ask: expected {name!r} of a trial, got the list of trials that ask() returns; {cure}")


def free_parameter(f: Callable[..., object], name: str) -> inspect.Parameter | None:
    """Return the parameter of this name that a run may set by name: the user has given it no value but None."""
    try:
        parameter = inspect.signature(f).parameters.get(name)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return None
    if parameter is None or parameter.kind not in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
        return None
    is_bound = isinstance(f, partial) and name in f.keywords
    return (
        None if is_bound or (parameter.default is not parameter.empty and parameter.default is not None) else parameter
    )
