"""Names of the columns in all tables of a run: sheets, CSV files, data frames, reports and known results."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lamcts.outcomes.front import parts_of
from lamcts.outcomes.goals import Goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fixed import bare
from lamcts.spaces.product import Space as ProductSpace
from lamcts.types import Json, Point

RUN_ID = "run_id"  # identifies the run of a line
LAST = ("seconds", "message", RUN_ID)  # columns after the parameters
OWN = ("trial", *LAST)  # columns of every table
SEM = "sem"  # the column of standard errors, or the prefix of several columns
NO_PARTS: Mapping[str, Sequence[str]] = {}


class Names(NamedTuple):
    """The columns of parameters, objectives, constrained quantities and standard errors by name."""

    points: Mapping[str, str]
    goals: Mapping[str, str]
    quantities: Mapping[str, str]
    sems: Mapping[str, str]  # standard errors by objective
    parts: Mapping[str, Sequence[str]]  # ingredients by the parameter of a mixture
    derived: Mapping[str, tuple[str, str]]  # parameter and part of a quantity `NAME.PART`, which has no column

    @classmethod
    def of(cls, space: SearchSpace, goals: Goals) -> "Names":
        """Return distinct columns for all names."""
        members = members_of(space)
        names = goals.names
        parts = {
            name: [*part_names] for name, member in members.items() if (part_names := getattr(member, "names", None))
        }
        derived = {f"{name}.{part}": (name, part) for name, part_names in parts.items() for part in part_names}
        values = columns_of(names, OWN, "value")
        sems = {name: SEM if len(names) == 1 else f"{SEM}.{name}" for name in names}
        sems = {name: sem for name, sem in sems.items() if sem not in values.values()}
        used = (*names, *values.values(), SEM, *sems.values(), *OWN)
        quantities = columns_of((name for name in goals.quantities if name not in derived), used, "quantity")
        points = columns_of(members, (*used, *quantities.values()), "point", parts)
        return cls(points, values, quantities, sems, parts, {q: derived[q] for q in goals.quantities if q in derived})

    def flat(self, name: str) -> list[str]:
        """Return the column of a parameter, or the columns of its parts."""
        return [f"{self.points[name]}.{part}" for part in self.parts.get(name, ())] or [self.points[name]]

    def cells(self, name: str, value: object) -> Json:
        """Return the cells of a parameter by column."""
        if name not in self.parts or not isinstance(value, Mapping):
            return {self.points.get(name, name): value}
        return {f"{self.points[name]}.{part}": amount for part, amount in value.items()}


def members_of(space: SearchSpace) -> dict[str, SearchSpace | None]:
    """Return the spaces of the parts of a point by name, None for a part without a space."""
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
    names: Iterable[str], used: Iterable[str], kind: str = "point", parts: Mapping[str, Sequence[str]] = NO_PARTS
) -> dict[str, str]:
    """Return distinct columns of parameters (or metrics), none of them in `used`; `kind` qualifies a used name."""
    names = list(names)
    taken_names = {*used}
    columns: dict[str, str] = {}
    for qualified in (False, True):  # unqualified columns first
        for name in (name for name in names if name not in columns):
            column = name
            while (
                cells := {column, *(f"{column}.{part}" for part in parts.get(name, ()))}
            ) & taken_names and qualified:
                column = f"{kind}.{column}"
            if not cells & taken_names:
                columns[name] = column
                taken_names |= cells
    return {name: columns[name] for name in names}
