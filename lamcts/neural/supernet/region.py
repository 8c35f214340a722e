"""Regions of a space of architectures: the allowed options of each parameter. No torch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space

Options = tuple[Any, ...]


@dataclass(frozen=True)
class SupernetRegion:
    """The points with allowed options for each parameter."""

    allowed: Mapping[str, Options]  # remaining options of each parameter of the space, in its order

    @classmethod
    def whole(cls, space: ArchitectureSpace) -> "SupernetRegion":
        """Return the region of all points of a space of choices."""
        inner = space.space
        if not isinstance(inner, Space) or inner.names is None:
            raise ValueError(f"{space.name}: expected a space of named choices, got {inner!r}")
        found = {}
        for name, member in zip(inner.names, inner.members, strict=True):
            if not isinstance(member, Choice):
                raise ValueError(f"{space.name}: expected a space of named choices, got {name}: {member!r}")
            found[name] = member.options
        return cls(found)

    def holds(self, point: Point) -> bool:
        return all(point[name] in options for name, options in self.allowed.items())

    def within(self, other: "SupernetRegion") -> bool:
        """Return whether the region is part of another."""
        return self.allowed.keys() == other.allowed.keys() and all(
            set(options) <= set(other.allowed[name]) for name, options in self.allowed.items()
        )

    def split(self, name: str, groups: Sequence[Options]) -> list["SupernetRegion"]:
        """Split a parameter into groups of options; each option belongs to exactly one."""
        given = [option for group in groups for option in group]
        known = self.allowed.get(name, ())
        if not all(groups) or len(given) != len(known) or set(given) != set(known):
            raise ValueError(f"{name}: expected groups of {list(known)}, each option in one, got {list(groups)}")
        return [SupernetRegion({**self.allowed, name: tuple(group)}) for group in groups]

    def draw(self, below: Callable[[int], int]) -> Point:
        """Return a uniform random point; `below(n)` draws from 0 to n - 1."""
        return {name: options[below(len(options))] for name, options in self.allowed.items()}

    def __str__(self) -> str:
        return ", ".join(f"{name}: {'|'.join(map(str, options))}" for name, options in self.allowed.items())
