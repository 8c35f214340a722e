"""Tables that list all points of a problem, with their values."""

import fnmatch
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lamcts.outcomes.goals import Goals
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space
from lamcts.study.known.rows import Table, observations_of, value_of
from lamcts.study.known.sources import table_of_file
from lamcts.types import Floats, Point
from lamcts.utils.removed import hint


def read_points(
    path: str | os.PathLike[str], objectives: Mapping[str, str], parameters: Sequence[str]
) -> tuple[Space, list[Point], dict[str, Floats]]:
    """Return the space and the points of a CSV file, and the numbers of its other columns, nan where one is missing.

    objectives: columns of values, with "min" or "max". parameters: other columns, or patterns such as "op*".
    """
    try:
        return _read(Path(path), objectives, parameters)
    except ValueError as error:  # without the cures for `known=`
        raise ValueError(str(error).removeprefix("known: ").partition("; known=")[0]) from None


def _read(
    path: Path, objectives: Mapping[str, str], parameters: Sequence[str]
) -> tuple[Space, list[Point], dict[str, Floats]]:
    table = table_of_file(path)
    table = table.renamed({name: name.strip() for name in table.names if name.strip()})
    names = ", ".join(table.names)
    chosen = dict.fromkeys(name for part in parameters for name in fnmatch.filter(table.names, part) or [part])
    for name in [*chosen, *objectives]:
        if name not in table.names:
            raise ValueError(f"{path.name}: expected a column {name!r}, got {names}{hint('', name, table.names)}")
    members = {name: _parameter(table, name) for name in chosen if name not in objectives}
    if not members:
        raise ValueError(f"parameters: expected columns of {path.name} out of {names}, got none")
    space = Space(members)
    places = dict[bytes, str]()
    rows = observations_of(table, space, Goals.of(False, dict(objectives)))
    for row in rows:
        if (earlier := places.setdefault(space.encode(row.point).tobytes(), row.where)) != row.where:
            cure = f"drop one, or pass parameters={','.join(members)},... with all that tell rows apart"
            raise ValueError(f"{row.where}: expected one row for each point, got that of {earlier} again; {cure}")
    values = [row.value if isinstance(row.value, Mapping) else {next(iter(objectives)): row.value} for row in rows]
    cells = [{**(row.metrics or {}), **value} for row, value in zip(rows, values, strict=True)]
    others = {
        name: np.array([_number(cell.get(name)) for cell in cells]) for name in table.names if name not in members
    }
    return space, [row.point for row in rows], others


def _parameter(table: Table, name: str) -> Choice:
    """Return the values of a column: ordered numbers, or texts."""
    places = {row.cells[name].strip(): row.where for row in reversed(table.rows)}
    if not places or "" in places:
        cure = "write none where a row has no such part"
        raise ValueError(f"{places.get('', table.where)}, column {name!r}: expected a value, got an empty cell; {cure}")
    values = {value_of(text, None) for text in places}
    if all(isinstance(value, (int, float)) and np.isfinite(value) for value in values):
        return Choice(tuple(sorted(values)), ordered=len(values) > 1)
    return Choice(tuple(sorted(places)))


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and np.isfinite(value) else np.nan
