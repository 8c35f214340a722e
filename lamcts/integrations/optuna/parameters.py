"""Optuna's parameters as a space whose points are numbers: of a category the number of its option."""

from collections.abc import Mapping
from typing import Any

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
        self._members = {name: _member(distribution) for name, distribution in self.distributions.items()}
        members = [*self._members.values()]
        self.space = lamcts.Space(members)
        # The value of a parameter that a trial did not have: no trial has ends there, and all have the same.
        self.neutral: Point = tuple(member.decode(np.full(member.dim, 0.5)) for member in members)

    def point(self, internal: Mapping[str, float]) -> Point | None:
        """Return the point of internal values by name, neutral where there is none; None without any parameter."""
        known = self.numbers(internal)
        if not known:
            return None
        return tuple(known.get(name, middle) for name, middle in zip(self.distributions, self.neutral, strict=True))

    def numbers(self, internal: Mapping[str, float]) -> dict[str, float | int]:
        """Return the numbers in a point of the values that a distribution contains, by name."""
        return {
            name: _number(self._members[name], internal[name])
            for name, distribution in self.distributions.items()
            if name in internal and distribution._contains(internal[name])
        }

    def internal(self, point: Point) -> dict[str, float]:
        """Return the values of a point in Optuna's internal form, which are JSON."""
        return {name: float(number) for name, number in zip(self._members, point, strict=True)}

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


def _number(member: SearchSpace, internal: float) -> float | int:
    """Return the number in a point of a value in Optuna's internal form."""
    if isinstance(member, lamcts.Float) and member.step is None:
        return float(internal)
    number: float | int = member.decode(member.encode(internal))  # equal steps are equal, however they were added up
    return number


def _member(distribution: BaseDistribution) -> SearchSpace:
    if isinstance(distribution, CategoricalDistribution):
        return lamcts.Choice(tuple(range(len(distribution.choices))))
    if isinstance(distribution, FloatDistribution):
        return lamcts.Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    if not isinstance(distribution, IntDistribution):
        raise ValueError(f"expected a float, int or categorical distribution, got {type(distribution).__name__}")
    low, high = int(distribution.low), int(distribution.high)
    if distribution.log and low <= LARGEST_LOG:
        return lamcts.Int(low, high, log=True)
    return lamcts.Int(low, high, step=int(distribution.step))
