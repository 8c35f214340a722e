"""Parameters of a space of lamcts as Optuna has them: a distribution and a value by name."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

import lamcts
from lamcts.spaces import SearchSpace
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
    space = _unwrapped(space)
    if isinstance(space, lamcts.Space):
        for own, member, part in _members(space, point, name):
            yield from parameters_of(member, part, own)
    elif isinstance(space, lamcts.Box):
        for i, (low, high, value) in enumerate(zip(space.low, space.high, point, strict=True), 1):
            yield OptunaParameter(_place(name, i), float(value), FloatDistribution(float(low), float(high)))
    elif isinstance(space, lamcts.Permutation):
        yield from (_category(_place(name, i), item, space.items) for i, item in enumerate(point, 1))
    elif isinstance(space, lamcts.Simplex):
        for i, key in enumerate(space.names or range(space.dim), 1):
            label = _joined(name, key) if space.names else _place(name, i)
            yield OptunaParameter(label, float(point[key]), FloatDistribution(0.0, space.total))
    elif isinstance(space, lamcts.Subset):
        chosen = space.encode(point).astype(bool).tolist()
        yield from (_category(_place(name, i), one, (False, True)) for i, one in enumerate(chosen, 1))
    elif isinstance(space, lamcts.Finite):
        yield from _columns(space, point, name)
    elif (found := _single(space, point, name or "x")) is not None:
        yield found


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


def _columns(space: lamcts.Finite, point: Point, name: str) -> Iterator[OptunaParameter]:
    """Yield the columns of a table of numbers."""
    try:
        rows = [[float(each) for each in _row(one)] for one in space.points]
    except (TypeError, ValueError):
        return
    for i, (value, column) in enumerate(zip(_row(point), zip(*rows, strict=True), strict=True), 1):
        yield OptunaParameter(_place(name, i), float(value), FloatDistribution(min(column), max(column)))


def _row(point: Point) -> list[Any]:
    return [*point] if hasattr(point, "__iter__") and not isinstance(point, (str, Mapping)) else [point]


def _members(space: lamcts.Space, point: Point, name: str) -> Iterator[tuple[str, SearchSpace, Point]]:
    """Yield the full name, the space and the value of each member that is active in a point."""
    if space.names is None:
        for i, (member, part) in enumerate(zip(space.members, point, strict=True), 1):
            yield _place(name, i), member, part
        return
    for own, member in zip(space.names, space.members, strict=True):
        if own in point:
            yield _joined(name, own), member, point[own]


def _joined(name: str, own: object) -> str:
    return f"{name}.{own}" if name else str(own)


def _place(name: str, i: int) -> str:
    return f"{name}.{i}" if name else f"x{i}"


def _unwrapped(space: SearchSpace) -> SearchSpace:
    """Return the space of whole points inside spaces with fixed values, rules or keys."""
    inner = getattr(space, "whole", getattr(space, "inner", None))
    return space if inner is None else _unwrapped(inner)
