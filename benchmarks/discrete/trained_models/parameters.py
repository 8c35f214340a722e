"""Parameters as an engineer would write them down, and what each library makes of them.

`when`: the parameter is there only where another one has one of these values. In ours that is `when=` of the space, in
Optuna an `if` between the suggestions: define by run.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import lamcts

When = tuple[str, tuple[Any, ...]]


class Real(NamedTuple):
    name: str
    low: float
    high: float
    log: bool = False
    when: When | None = None


class Whole(NamedTuple):
    name: str
    low: int
    high: int
    log: bool = False
    when: When | None = None


class Option(NamedTuple):
    name: str
    options: tuple[Any, ...]
    when: When | None = None


Parameter = Real | Whole | Option
Point = Mapping[str, Any]


class Model(NamedTuple):
    """What is tuned: `loss` takes a point, which lacks what is not active, and returns a number to minimise."""

    parameters: tuple[Parameter, ...]
    loss: Callable[[Point], float]
    package: str = ""


def active(parameter: Parameter, point: Point) -> bool:
    """Return whether a parameter has a say at a point that has the values of all parameters before it."""
    return parameter.when is None or point.get(parameter.when[0]) in parameter.when[1]


def space(parameters: tuple[Parameter, ...]) -> lamcts.Space:
    """Return the space of ours."""
    return lamcts.Space({one.name: _member(one) for one in parameters})


def suggested(parameters: tuple[Parameter, ...], trial: Any) -> dict[str, Any]:
    """Return the point that a trial of Optuna suggests, define by run."""
    point: dict[str, Any] = {}
    for one in parameters:
        if active(one, point):
            point[one.name] = _suggest(one, trial)
    return point


def _member(one: Parameter) -> Any:
    when = None if one.when is None else {one.when[0]: list(one.when[1])}
    if isinstance(one, Option):
        return lamcts.Choice(list(one.options), when=when)
    return (lamcts.Int if isinstance(one, Whole) else lamcts.Float)(one.low, one.high, log=one.log, when=when)


def _suggest(one: Parameter, trial: Any) -> Any:
    if isinstance(one, Option):
        return trial.suggest_categorical(one.name, list(one.options))
    suggest = trial.suggest_int if isinstance(one, Whole) else trial.suggest_float
    return suggest(one.name, one.low, one.high, log=one.log)
