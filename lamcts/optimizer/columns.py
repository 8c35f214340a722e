"""The columns of every table of a run: sheets, CSV files, data frames, reports, and tables of known results."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lamcts.outcomes.front import parts_of
from lamcts.outcomes.goals import Goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fixed import bare
from lamcts.spaces.product import Space as ProductSpace
from lamcts.types import Json, Point

RUN_ID = "run_id"  # tells the lines of a run from those of others
LAST = ("seconds", "message", RUN_ID)  # columns after the parameters
OWN = ("trial", *LAST)  # columns of every table of ours
SEM = "sem"  # the column of standard errors, or the prefix of several
NO_PARTS: Mapping[str, Sequence[str]] = {}


class Names(NamedTuple):
    """The columns of a table by the names of parameters, of objectives, of constrained quantities, and of errors."""

    points: Mapping[str, str]
    goals: Mapping[str, str]
    quantities: Mapping[str, str]
    sems: Mapping[str, str]  # standard errors by objective
    parts: Mapping[str, Sequence[str]]  # of a mixture, by the name of its parameter
    given: Mapping[str, tuple[str, str]]  # parameter and part of a quantity `NAME.PART`, which has no column

    @classmethod
    def of(cls, space: SearchSpace, goals: Goals) -> "Names":
        """Return a column of its own for each."""
        members, names = members_of(space), goals.names
        parts = {name: [*own] for name, member in members.items() if (own := getattr(member, "names", None))}
        given = {f"{name}.{part}": (name, part) for name, own in parts.items() for part in own}
        values = columns_of(names, OWN, "value")
        sems = {name: SEM if len(names) == 1 else f"{SEM}.{name}" for name in names}
        sems = {name: sem for name, sem in sems.items() if sem not in values.values()}
        held = (*names, *values.values(), SEM, *sems.values(), *OWN)
        quantities = columns_of((name for name in goals.quantities if name not in given), held, "quantity")
        points = columns_of(members, (*held, *quantities.values()), "point", parts)
        return cls(points, values, quantities, sems, parts, {q: given[q] for q in goals.quantities if q in given})

    def flat(self, name: str) -> list[str]:
        """Return the columns of a parameter: its own, or one for each part."""
        return [f"{self.points[name]}.{part}" for part in self.parts.get(name, ())] or [self.points[name]]

    def cells(self, name: str, value: object) -> Json:
        """Return the cells of a parameter by column."""
        if name not in self.parts or not isinstance(value, Mapping):
            return {self.points.get(name, name): value}
        return {f"{self.points[name]}.{part}": amount for part, amount in value.items()}


def members_of(space: SearchSpace) -> dict[str, SearchSpace | None]:
    """Return the parts of a point by name, each with its space; None where it has none of its own."""
    space = bare(space)
    if isinstance(space, ProductSpace):
        names = space.names or [f"x{i + 1}" for i in range(len(space.members))]
        return dict(zip(names, space.members, strict=True))
    parts = parts_of(sample_of(space))
    if [name for name, _ in parts] == ["point"]:
        return {"point": space}
    columns = getattr(space, "columns", ()) or [None] * len(parts)
    return {name: column for (name, _), column in zip(parts, columns, strict=True)}


def sample_of(space: SearchSpace) -> Point:
    return space.decode(space.sample(1, np.random.default_rng(0))[0])


def columns_of(
    names: Iterable[str], taken: Iterable[str], kind: str = "point", parts: Mapping[str, Sequence[str]] = NO_PARTS
) -> dict[str, str]:
    """Return the columns of parameters (or metrics) next to columns of other names, each of its own."""
    names, used, columns = list(names), {*taken}, dict[str, str]()
    for qualified in (False, True):  # names that need no other column first
        for name in (each for each in names if each not in columns):
            column = name
            while (cells := {column, *(f"{column}.{part}" for part in parts.get(name, ()))}) & used and qualified:
                column = f"{kind}.{column}"
            if not cells & used:
                columns[name] = column
                used |= cells
    return {name: columns[name] for name in names}
