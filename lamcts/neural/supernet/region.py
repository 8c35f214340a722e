"""Regions of a space of architectures: of each parameter, the options that it may have. No torch here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lamcts.nas.base import ArchitectureSpace, Point
from lamcts.spaces.discrete import Choice
from lamcts.spaces.product import Space

Options = tuple[Any, ...]


@dataclass(frozen=True)
class SupernetRegion:
    """All points whose parameters have allowed options; options of one parameter have no say in those of another.

    allowed: of each parameter of the space, in its order, the options left.
    """

    allowed: Mapping[str, Options]

    @classmethod
    def whole(cls, space: ArchitectureSpace) -> "SupernetRegion":
        """Return the region that is all of a space of choices."""
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
        """Return whether all points of the region are points of another."""
        return self.allowed.keys() == other.allowed.keys() and all(
            set(options) <= set(other.allowed[name]) for name, options in self.allowed.items()
        )

    def split(self, name: str, groups: Sequence[Options]) -> list["SupernetRegion"]:
        """Return the regions of groups of options: each option of the parameter must be in just one."""
        given = [option for group in groups for option in group]
        known = self.allowed.get(name, ())
        if not all(groups) or len(given) != len(known) or set(given) != set(known):
            raise ValueError(f"{name}: expected groups of {list(known)}, each option in one, got {list(groups)}")
        return [SupernetRegion({**self.allowed, name: tuple(group)}) for group in groups]

    def draw(self, below: Callable[[int], int]) -> Point:
        """Return a point, uniform over the region: `below(n)` draws one of 0, ..., n - 1."""
        return {name: options[below(len(options))] for name, options in self.allowed.items()}

    def __str__(self) -> str:
        return ", ".join(f"{name}: {'|'.join(map(str, options))}" for name, options in self.allowed.items())
