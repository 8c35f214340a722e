"""A parametrization of Nevergrad as a space of ours: what has bounds or options by value, all else by its steps.

Nevergrad shows most optimisers one row of numbers, in which an option is drawn by weights. Here numbers between two
bounds are real, log or whole numbers, options are options, and only what has no bounds is searched in Nevergrad's
standard coordinates, where 1 is the first step that it would take.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from nevergrad.parametrization import parameter as ng

import lamcts
from lamcts.types import Floats

REACH = 6.0  # without bounds a search goes to sinh(6) = 201 first steps, with most of its room near the start (untuned)
FARTHEST = 1e6  # steps: beyond them a bound has no end, but comes closer and closer to one
INSIDE = 1e-6  # of a range: how far from its ends a value goes that a bound by arctan or tanh has infinitely far away
ROUNDED = 1e-9  # share of a bound that Nevergrad's own arithmetic may lose: Log(1, 1000) ends at 999.9999999999998


@dataclass
class ParameterPart:
    """A parameter inside another: the keys that lead to it, and the space of its values."""

    keys: tuple[Any, ...]
    space: Any

    def write(self, child: Any, point: Any, reference: Any) -> None:
        """Give a child of a parametrization, the reference, the value of a point."""
        self._write(self._inner(child), point, self._inner(reference))

    def read(self, parameter: Any, reference: Any) -> Any:
        """Return the point that a parameter is at, the nearest one if its value lies outside."""
        return self._read(self._inner(parameter), self._inner(reference))

    def _inner(self, parameter: Any) -> Any:
        for key in self.keys:
            parameter = parameter[key]
        return parameter

    def _write(self, inner: Any, point: Any, reference: Any) -> None:
        raise NotImplementedError

    def _read(self, inner: Any, reference: Any) -> Any:
        raise NotImplementedError


class StandardizedPart(ParameterPart):
    """Anything, in Nevergrad's standard coordinates."""

    def _write(self, inner: Any, point: Floats, reference: Any) -> None:
        inner.set_standardized_data(np.sinh(REACH * point))

    def _read(self, inner: Any, reference: Any) -> Floats:
        steps = inner.get_standardized_data(reference=reference)
        point: Floats = np.clip(np.arcsinh(steps) / REACH, -1.0, 1.0)
        return point


class NumbersPart(ParameterPart):
    """NumbersPart that have two bounds each, real or whole."""

    def _write(self, inner: Any, point: tuple[float, ...], reference: Any) -> None:
        values, (low, high) = np.array(point, float), _bounds(inner)
        with np.errstate(divide="ignore"):
            self._set(inner, np.clip(values, low, high))
        steps = inner.get_standardized_data(reference=reference)
        if not np.abs(steps).max() < FARTHEST:
            margin = INSIDE * (high - low)
            self._set(inner, np.clip(values, low + margin, high - margin))

    def _set(self, inner: Any, values: Floats) -> None:
        shape = np.shape(inner.value)
        inner.value = values.reshape(shape) if shape else float(values[0])

    def _read(self, inner: Any, reference: Any) -> tuple[float, ...]:
        values = np.ravel(inner.value)
        return tuple(
            min(max(value, one.low), one.high) for value, one in zip(values.tolist(), self.space.members, strict=True)
        )


class ChoicePart(ParameterPart):
    """The numbers of the options of a choice, or of several equal ones."""

    def _write(self, inner: Any, point: tuple[int, ...], reference: Any) -> None:
        inner["indices"].value = np.array(point)

    def _read(self, inner: Any, reference: Any) -> tuple[int, ...]:
        return tuple(int(place) for place in np.ravel(inner["indices"].value))


def parts_of(parameter: Any, keys: tuple[Any, ...] = ()) -> Iterator[ParameterPart]:
    """Yield the parts of a parametrization, constants left out; all options of a choice have theirs."""
    if not isinstance(parameter, ng.Parameter) or isinstance(parameter, ng.Constant):
        return
    if isinstance(parameter, (ng.Choice, ng.TransitionChoice)):
        yield from _options(parameter, keys)
    elif type(parameter) in (ng.Dict, ng.Tuple, ng.Instrumentation):
        inner = parameter.keys() if isinstance(parameter, ng.Dict) else range(len(parameter))
        for key in list(inner):
            yield from parts_of(parameter[key], (*keys, key))
    elif (members := _members(parameter)) is not None:
        yield NumbersPart(keys, lamcts.Space(members))
    elif parameter.dimension:
        yield StandardizedPart(keys, lamcts.Box(-1, 1, dim=parameter.dimension))


def _options(choice: Any, keys: tuple[Any, ...]) -> Iterator[ParameterPart]:
    one = lamcts.Choice(tuple(range(len(choice.choices))), ordered=isinstance(choice, ng.TransitionChoice))
    times = choice._repetitions or 1  # to ask for its value would draw one
    yield ChoicePart(keys, lamcts.Space([one] * times))
    for place in range(len(choice.choices)):
        yield from parts_of(choice.choices[place], (*keys, "choices", place))


def _members(parameter: Any) -> Sequence[Any] | None:
    """Return a space for each number of an array, or of a scalar; None where not each has two bounds apart."""
    if not isinstance(parameter, (ng.Array, ng.Scalar)) or any(bound is None for bound in parameter.bounds):
        return None
    low, high = _bounds(parameter)
    if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
        return None
    pairs = zip(low.tolist(), high.tolist(), strict=True)
    log = isinstance(parameter, ng.Log)
    return [_whole(*pair, log) if parameter.integer else lamcts.Float(*pair, log=log) for pair in pairs]


def _bounds(parameter: Any) -> tuple[Floats, Floats]:
    shape = np.shape(parameter.value)
    low, high = (np.broadcast_to(np.asarray(bound, float), shape or (1,)).ravel() for bound in parameter.bounds)
    return low, high


def _whole(low: float, high: float, log: bool) -> lamcts.Int:
    least, most = math.ceil(low - ROUNDED * abs(low)), math.floor(high + ROUNDED * abs(high))
    return lamcts.Int(least, most, log=log and least >= 1)
