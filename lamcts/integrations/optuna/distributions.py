"""Parameters of a space of lamcts as Optuna has them: a distribution and a value by name."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

import lamcts
from lamcts.spaces import SearchSpace
from lamcts.spaces.base import EncodedSpace
from lamcts.types import Point

PLAIN = (str, int, float, bool, type(None))  # options that every storage of Optuna keeps as they are


class OptunaParameter(NamedTuple):
    """A value and its distribution, under a name that a point of lamcts has too (`net.layers` where it is nested)."""

    name: str
    value: Any
    distribution: BaseDistribution


def parameters_of(space: SearchSpace, point: Point, name: str = "") -> Iterator[OptunaParameter]:
    """Yield the active parameters of a point; a part that Optuna has no distribution for is left out.

    The places of a permutation are categories of its items; a table's columns of numbers, and the ingredients of a
    mixture, are ranges; the items of a subset are booleans. Optuna's own samplers know no sum and no size.
    """
    if (found := _single(space, point, name or "x")) is not None:
        yield found
    elif isinstance(space, EncodedSpace):
        for key, member, part in space.split(point):
            yield from parameters_of(member, part, _joined(name, key))


def _single(space: SearchSpace, value: Point, name: str) -> OptunaParameter | None:
    """Return one number or category; None for a kind of space that is not known here."""
    if isinstance(space, lamcts.Float):
        return OptunaParameter(name, float(value), _range(space))
    if isinstance(space, lamcts.Int):
        ends = int(space.low), int(space.high)
        return OptunaParameter(name, int(value), IntDistribution(*ends, log=space.log, step=space.step or 1))
    if isinstance(space, lamcts.Bool):
        return _category(name, bool(value), (False, True))
    return _category(name, value, space.options) if isinstance(space, lamcts.Choice) else None


def _range(space: lamcts.Float) -> FloatDistribution:
    """Return the range of a real number, without its step where Optuna would drop the last value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it drops the value
        made = FloatDistribution(space.low, space.high, log=space.log, step=space.step)
    return made if made.high == space.high else FloatDistribution(space.low, space.high)


def _category(name: str, value: object, options: Sequence[object]) -> OptunaParameter:
    """Return a category; its options are texts unless all are plain values that Optuna tells apart."""
    plain = all(type(option) in PLAIN for option in options) and len(set(options)) == len(options)
    choice = lamcts.Choice(tuple(options))
    kept: tuple[Any, ...] = choice.options if plain else choice.labels
    return OptunaParameter(name, kept[choice.place(value)], CategoricalDistribution(kept))


def _joined(name: str, key: object) -> str:
    """Return the name of a part: of numbered ones x1, x2, ... where the whole has no name."""
    if key is None:
        return name
    return f"{name}.{key}" if name else f"x{key}" if isinstance(key, int) else str(key)
