"""Hide an optimum: the labels of every category are shuffled, bits flipped, and numbers moved where a problem allows.

Published problems have their optimum at the first label of everything, or at all zeros, and methods differ in how much
they like that (Papenmeier et al., Bounce, 2023). Here each seed gives another map from the labels that a search sees
to those of the problem; the values behind them stay as they are.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.discrete.discrete_problems.base import CLOSE, Point
from lamcts import Bool, Canonical, Choice, Float, Int, Space

HIDES = 71  # a stream of its own: the same seed also drives the search


@dataclass(frozen=True)
class Permuted:
    """A category: the option that is seen, and the one behind it."""

    options: tuple[Any, ...]
    order: tuple[int, ...]

    def true(self, seen: Any) -> Any:
        return self.options[self.order[self.options.index(seen)]]

    def seen(self, true: Any) -> Any:
        return self.options[self.order.index(self.options.index(true))]


@dataclass(frozen=True)
class Moved:
    """A number: mirrored inside `low` to `high`, or not, and then moved by `step`."""

    low: float
    high: float
    mirror: bool
    step: float = 0.0

    def true(self, seen: Any) -> Any:
        return (self.low + self.high - seen if self.mirror else seen) - self.step

    def seen(self, true: Any) -> Any:
        there = true + self.step
        return self.low + self.high - there if self.mirror else there


@dataclass(frozen=True)
class Hidden:
    """An objective seen through one map a parameter; the space looks the same, its optimum is elsewhere."""

    inner: Any
    maps: dict[str, Permuted | Moved] = field(repr=False)
    seed: int
    x0: None = None

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        try:
            return float(self.inner(self.true(point), seed=seed))
        except RuntimeError:  # how the package's tables say that an evaluation failed
            return math.nan

    def true(self, point: Point) -> Point:
        """Return the problem's own point behind the one that a search sees."""
        return {name: self.maps[name].true(value) if name in self.maps else value for name, value in point.items()}

    def seen(self, point: Point) -> Point:
        """Return what a search sees of the problem's own point."""
        return {name: self.maps[name].seen(value) if name in self.maps else value for name, value in point.items()}

    @cached_property
    def space(self) -> Any:
        space = self.inner.space
        if isinstance(space, Canonical):
            key = space.key
            return Canonical(space.inner, lambda point: key(self.true(point)), f"{space.name}, hidden by {self.seed}")
        return space

    @property
    def maximize(self) -> bool:
        return bool(self.inner.maximize)

    @property
    def optimum(self) -> float | None:
        return self.inner.optimum

    @property
    def bound(self) -> float:
        return getattr(self.inner, "bound", 0.0)

    @property
    def close(self) -> float:
        return getattr(self.inner, "close", CLOSE)

    @property
    def name(self) -> str:
        return str(self.inner.name)


def hidden(objective: Any, seed: int) -> Hidden:
    """Return `objective` with the optimum where `seed` puts it."""
    rng = np.random.default_rng((seed, HIDES))
    reach, mirrored = getattr(objective, "reach", {}), getattr(objective, "mirrored", frozenset())
    maps = {}
    for name, member in parameters(objective.space):
        if (found := _map(member, rng, reach.get(name), name in mirrored)) is not None:
            maps[name] = found
    return Hidden(objective, maps, seed)


def parameters(space: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and the spaces of the parameters of a space of dict points."""
    inner = space.inner if isinstance(space, Canonical) else space
    if not isinstance(inner, Space) or inner.names is None:
        raise ValueError(f"expected a space of named parameters, got {space!r}; pass Space({{...}})")
    yield from zip(inner.names, inner.members, strict=True)


def _map(member: Any, rng: np.random.Generator, reach: float | None, mirrored: bool) -> Permuted | Moved | None:
    if isinstance(member, Bool):
        return Permuted((False, True), _order(2, rng))
    if isinstance(member, Choice):
        k = len(member.options)
        if not member.ordered:
            return Permuted(member.options, _order(k, rng))
        return Permuted(member.options, tuple(range(k))[::-1]) if mirrored and rng.random() < 0.5 else None
    if isinstance(member, Int):
        return Moved(member.low, member.high, True) if mirrored and rng.random() < 0.5 else None
    if isinstance(member, Float) and reach is not None:
        step = rng.uniform(-reach, reach) * (member.high - member.low)
        return Moved(member.low, member.high, bool(rng.random() < 0.5), step)
    return None


def _order(k: int, rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(i) for i in rng.permutation(k))
