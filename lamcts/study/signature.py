"""The options of `minimize`, `maximize` and `run` where tools look for them: in the signature, with their defaults."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import ParamSpec, TypeVar

from lamcts.foreign import hint
from lamcts.study.options import Settings

P = ParamSpec("P")
R = TypeVar("R")


def with_options(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function whose signature has every option of `Settings`, and which refuses words of other libraries.

    They are refused before Python says that `budget` is missing: who typed `n_trials=100` knows no budget.
    """

    known = {each.name for each in fields(Settings)}

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known and (cure := hint(name)) is not None:
                raise TypeError(f"unknown option {name!r}; {cure}")
        return function(*args, **kwargs)

    wrapper.__signature__ = _signature(function)  # type: ignore[attr-defined]
    return wrapper


def _signature(function: Callable[..., object]) -> inspect.Signature:
    """Return the signature of a function with the fields of `Settings` in place of its `**options`."""
    own = inspect.signature(function)
    kept = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
    names = {each.name for each in kept}
    more = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in fields(Settings)
        if each.name not in names
    ]
    return own.replace(parameters=[*kept, *more])
