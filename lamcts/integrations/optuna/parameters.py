"""Optuna's parameters as a space, and its values as points of it.

A point is a tuple of numbers, one a parameter: of a float its value, of an integer that comes in steps the number of
the step, of a category the number of its option, which may be any value then.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

import lamcts
from lamcts.spaces import SearchSpace

LARGEST_LOG = 2**39  # the largest low end of a log Int of ours
Point = tuple[float | int, ...]


class OptunaParameters:
    """Parameters by name: their distributions and their joint space."""

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.distributions = dict(distributions)
        self._codes = {name: _code(distribution) for name, distribution in self.distributions.items()}
        members = [code.space for code in self._codes.values()]
        self.space = lamcts.Space(members)
        # The value of a parameter that a trial did not have: no trial has ends there, and all have the same.
        self.neutral: Point = tuple(member.decode(np.full(member.dim, 0.5)) for member in members)

    def point(self, internal: Mapping[str, float]) -> Point | None:
        """Return the point of values in Optuna's internal form by name; None without any parameter.

        A parameter without a value that its distribution holds gets the neutral one.
        """
        known = self.numbers(internal)
        if not known:
            return None
        return tuple(known.get(name, middle) for name, middle in zip(self.distributions, self.neutral, strict=True))

    def numbers(self, internal: Mapping[str, float]) -> dict[str, float | int]:
        """Return the numbers in a point of the values that a distribution contains, by name."""
        return {
            name: self._codes[name].number(internal[name])
            for name, distribution in self.distributions.items()
            if name in internal and distribution._contains(internal[name])
        }

    def internal(self, point: Point) -> dict[str, float]:
        """Return the values of a point in Optuna's internal form, which are JSON."""
        pairs = zip(self._codes.items(), point, strict=True)
        return {name: code.internal(number) for (name, code), number in pairs}

    def values(self, point: Point) -> dict[str, Any]:
        """Return the values of a point as an objective sees them."""
        internal = self.internal(point).items()
        return {name: self.distributions[name].to_external_repr(value) for name, value in internal}


def together(a: BaseDistribution, b: BaseDistribution) -> BaseDistribution | None:
    """Return a distribution of all values of two, or None: ranges have a hull, categories do not."""
    if a == b:
        return a
    if isinstance(a, FloatDistribution) and isinstance(b, FloatDistribution):
        if a.log == b.log and a.step is b.step is None:
            return FloatDistribution(min(a.low, b.low), max(a.high, b.high), log=a.log)
    elif isinstance(a, IntDistribution) and isinstance(b, IntDistribution) and a.log == b.log and a.step == b.step == 1:
        return IntDistribution(min(a.low, b.low), max(a.high, b.high), log=a.log)
    return None


class _Code(NamedTuple):
    """A member of the space; Optuna's value of its number is low + number * step, at most high.

    With step 0 both are equal.
    """

    space: SearchSpace
    low: float = 0.0
    high: float = math.inf
    step: float = 0.0

    def number(self, internal: float) -> float | int:
        if (
            isinstance(self.space, lamcts.Float) and self.space.step is not None
        ):  # equal steps have equal points, however they were added up
            return float(self.space.decode(self.space.encode(internal)))
        return round((internal - self.low) / self.step) if self.step else float(internal)

    def internal(self, number: float | int) -> float:
        return float(min(self.low + number * self.step, self.high)) if self.step else float(number)


def _code(distribution: BaseDistribution) -> _Code:
    if isinstance(distribution, CategoricalDistribution):
        return _Code(lamcts.Choice(tuple(range(len(distribution.choices)))), step=1)
    if not isinstance(distribution, (FloatDistribution, IntDistribution)):
        raise ValueError(f"expected a float, int or categorical distribution, got {type(distribution).__name__}")
    low, high, log, step = distribution.low, distribution.high, distribution.log, distribution.step
    if step is None:
        return _Code(lamcts.Float(low, high, log=log))
    if isinstance(distribution, FloatDistribution):
        return _Code(lamcts.Float(low, high, step=step))
    if log and low <= LARGEST_LOG:
        return _Code(lamcts.Int(int(low), int(high), log=True), high=high, step=1)
    return _Code(lamcts.Int(0, round((high - low) / step)), low, high, step)
