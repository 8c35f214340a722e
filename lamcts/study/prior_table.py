"""PriorObservation results as a table: a CSV file with a line of names, or the rows of a `Result`.

A column for each parameter (x1, x2, ... where points are arrays or tuples), each objective (`value` where there is one)
and each quantity that is bounded, by its name; or how far beyond its bound it is, by the words of the constraint. That
is what `lamcts show RUN --csv` writes. An empty value is a failed evaluation, or with quantities one that was checked.
A column `sem` (or `sem.NAME` of an objective) has standard errors. Numbers and texts of other columns are metrics.
"""

import csv
import json
import math
import os
import re
from ast import literal_eval
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lamcts.outcomes.front import parts_of
from lamcts.outcomes.goals import Constraint, Goals
from lamcts.outcomes.measured import Measured
from lamcts.outcomes.metrics import Metrics, metrics_of
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fixed import bare
from lamcts.spaces.float import Float
from lamcts.spaces.product import Space as ProductSpace
from lamcts.spaces.values import brief
from lamcts.study.export import LAST, columns_of
from lamcts.types import Point

SEPARATORS = ",;\t"  # of a file: the one that its first line has most of
OWN = ("trial", *LAST)  # columns of every table of ours
SEM = "sem"  # the column of standard errors, or the prefix of several
QUOTED = '"[^"]*"'  # a quoted cell, or half of one that contains a quote
Values = dict[str, float | Measured | None]
Members = Mapping[str, tuple[str, SearchSpace | None]]  # by name: its column, and its space where it has one
WORDS = {"true": True, "false": False}


class TableRow(NamedTuple):
    """A row of a table: where it stands, its cells by column, and whether they are text that has to be read.

    optional: whether it is left out where its point is incomplete.
    """

    where: str
    cells: Mapping[str, Any]
    text: bool = True
    optional: bool = False


class Parsed(NamedTuple):
    """A row of a table: where it stands, the point, values by name, None where all of them are empty."""

    where: str
    point: Point
    value: Values | None
    quantities: dict[str, float]
    metrics: Metrics


def rows_of_file(path: "str | os.PathLike[str]") -> list[TableRow]:
    """Return the rows of a CSV file; ValueError names the line where something is wrong with it."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"known: expected {path} to be a CSV file, text in UTF-8, or a journal: {error}") from None
    except IsADirectoryError:
        raise ValueError(f"known: expected a CSV file or a journal, got the folder {path}, which has none") from None
    reader = csv.reader(StringIO(text, newline=""), delimiter=_separator(text))
    try:
        return list(_rows(reader, str(path)))
    except csv.Error as error:
        raise ValueError(f"known: {path}, line {reader.line_num}: {error}") from None


def _separator(text: str) -> str:
    """Return the separator that the line of names has most of outside quotes; a quoted name may have several lines."""
    names = re.match(f"(?:{QUOTED}|[^\n])*", text)
    return max(SEPARATORS, key=re.sub(QUOTED, "", names[0] if names else "").count)


def _rows(reader: Any, path: str) -> Iterator[TableRow]:
    names: list[str] = []
    for cells in reader:
        where = f"{path}, line {reader.line_num}"
        if not any(cell.strip() for cell in cells):
            continue
        if not names:
            names = cells
            twice = [name for name in names if names.count(name) > 1 and name.strip()]
            if twice:
                raise ValueError(f"known: {where}: expected each column once, got {twice[0]!r} twice")
        elif len(cells) != len(names):
            raise ValueError(f"known: {where}: expected {len(names)} cells, one a column, got {len(cells)}")
        else:
            yield TableRow(where, dict(zip(names, cells, strict=True)))
    if not names:
        raise ValueError(f"known: expected a line of names in {path}, got an empty file")


def parsed(rows: Sequence[TableRow], space: SearchSpace, goals: Goals, measured: Sequence[str] = ()) -> list[Parsed]:
    """Return rows as points and values; ValueError names the place and the column.

    measured: quantities that somebody else knows, where no column has them.
    """
    if not rows:
        return []
    sems = {name: SEM if len(goals.names) == 1 else f"{SEM}.{name}" for name in goals.names}
    held = (*goals.names, *map(str, goals.constraints), SEM, *sems.values(), *OWN)
    inside = members_of(space)
    columns = columns_of(inside, held)
    rows = _renamed(rows, [*columns, *columns.values(), *held, *goals.quantities])
    columns = {name: own if own in rows[0].cells else name for name, own in columns.items()}
    members = {name: (columns[name], member) for name, member in inside.items()}
    _check_columns(rows[0], members, goals, measured)
    used = {*columns.values(), *goals.quantities, *goals.names}
    errors = {name: own for name, own in sems.items() if own not in used}
    used |= {*held}
    named = isinstance(_sample(space), Mapping)
    rows = [row for row in rows if not row.optional or _is_whole(row, members, named, space)]
    return [
        Parsed(row.where, _point(row, members, named), *_values(row, goals, errors), _metrics(row, used))
        for row in rows
    ]


def _is_whole(row: TableRow, members: Members, named: bool, space: SearchSpace) -> bool:
    """Return whether the point of a row is one of the space."""
    try:
        return _takes(space, _point(row, members, named))
    except ValueError:
        return False


def members_of(space: SearchSpace) -> dict[str, SearchSpace | None]:
    """Return the parts of a point by name, each with its space; None where it has none of its own."""
    space = bare(space)
    if isinstance(space, ProductSpace):
        names = space.names or [f"x{i + 1}" for i in range(len(space.members))]
        return dict(zip(names, space.members, strict=True))
    parts = parts_of(_sample(space))
    if [name for name, _ in parts] == ["point"]:
        return {"point": space}
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    if isinstance(low, np.ndarray) and isinstance(high, np.ndarray):
        return {name: Float(*ends) for (name, _), *ends in zip(parts, low.tolist(), high.tolist(), strict=True)}
    return {name: None for name, _ in parts}


def _renamed(rows: Sequence[TableRow], names: Sequence[str]) -> Sequence[TableRow]:
    """Return rows whose columns have their names without the blanks that somebody typed round them."""
    meant = {name.strip(): name for name in names}
    there = [*rows[0].cells]
    new = {name: meant.get(name.strip(), name) for name in there if name not in names}
    if all(name == other or other in there for name, other in new.items()):
        return rows
    return [row._replace(cells={new.get(name, name): cell for name, cell in row.cells.items()}) for row in rows]


def _sample(space: SearchSpace) -> Point:
    return space.decode(space.sample(1, np.random.default_rng(0))[0])


def _check_columns(row: TableRow, members: Members, goals: Goals, measured: Sequence[str]) -> None:
    texts = [str(held) for held in goals.constraints]
    known = {held.name for held, text in zip(goals.constraints, texts, strict=True) if text in row.cells}
    always = [own for own, member in members.values() if not getattr(member, "when", None)]
    wanted = [*(always if row.text else []), *goals.names]
    wanted += [name for name in goals.quantities if name not in known and name not in measured]
    for name in wanted:
        if name not in row.cells:
            got = ", ".join(row.cells)
            raise ValueError(f"known: {row.where.partition(', line')[0]}: expected a column {name!r}, got {got:.200}")


MISSING = object()  # the cell of a parameter that a point does not have


def _point(row: TableRow, members: Members, named: bool) -> Point:
    """Return the point of a row; a parameter by name whose cell is empty is left out, unless that is an option."""
    found = {name: _read(row, own, member) for name, (own, member) in members.items()}
    if named:
        return {name: value for name, value in found.items() if value is not MISSING}
    for name, value in found.items():
        if value is MISSING:
            raise ValueError(f"known: {row.where}, column {name!r}: expected a value, got an empty cell")
    return found["point"] if [*found] == ["point"] else [*found.values()]


def _read(row: TableRow, own: str, member: SearchSpace | None) -> Point:
    """Return what a cell says: of its readings the first that the parameter takes."""
    if not row.text:
        return row.cells.get(own, MISSING)
    cell = row.cells.get(own, "")  # a column of a parameter that is never active may be missing
    readings = [*_readings(cell)]
    if member is None:
        return readings[0] if cell.strip() else MISSING
    refused: ValueError | None = None
    for value in readings:
        try:
            member.encode(value)
            return value
        except ValueError as error:
            refused = refused or error
    if not cell.strip():  # there is no text for nan, nor for None in other programs
        empty = [] if getattr(member, "when", None) else [one for one in (math.nan, None) if _takes(member, one)]
        return empty[0] if empty else MISSING
    raise ValueError(f"known: {row.where}, column {own!r}: {refused}")


def _takes(member: SearchSpace, value: Point) -> bool:
    try:
        member.encode(value)
    except ValueError:
        return False
    return True


def value_of(text: str, member: SearchSpace | None) -> Point:
    """Return what a text says for a parameter: of its readings the first that the parameter takes, else itself."""
    for value in _readings(text):
        if member is None:
            return value
        with suppress(ValueError):
            member.encode(value)
            return value
    return text


def _readings(cell: str) -> Iterator[Point]:
    """Yield what a text may mean, numbers first, itself last."""
    for kind in (int, float):
        try:
            yield kind(cell)
        except ValueError:
            continue
    if cell.strip().lower() in WORDS:
        yield WORDS[cell.strip().lower()]
    with suppress(ValueError, RecursionError):
        if not isinstance(found := json.loads(cell), str):  # a text stands there as it is
            yield found
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        if isinstance(found := literal_eval(cell.strip()), (tuple, list, dict)):  # as pandas writes such values
            yield found
    yield cell
    yield cell.strip()


def _values(row: TableRow, goals: Goals, errors: Mapping[str, str]) -> tuple[Values | None, dict[str, float]]:
    values: Values = {name: _measured(row, name, errors) for name in goals.names}
    quantities = {name: number for name in goals.quantities if (number := _number(row, name)) is not None}
    for held in goals.constraints:
        over = _number(row, str(held))
        if over is not None and held.name in goals.quantities and held.name not in quantities:
            quantities[held.name] = _quantity(held, over)
    return None if all(each is None for each in values.values()) else values, quantities


def _measured(row: TableRow, name: str, errors: Mapping[str, str]) -> float | Measured | None:
    """Return a value, with its standard error where the row has one."""
    value, error = _number(row, name), _number(row, errors[name]) if name in errors else None
    return value if value is None or error is None else Measured(value, error)


def _metrics(row: TableRow, used: Container[str]) -> Metrics:
    """Return the numbers and texts of the columns that are not used; those of one of `OWN` lose their prefix."""
    found: Metrics = {}
    for name, cell in row.cells.items():
        if name in used or not name.strip() or (row.text and not cell.strip()):
            continue
        bare_name = name.removeprefix("metric.")  # as `rows_of` calls a metric of that name
        for value in _readings(cell) if row.text else (cell,):
            with suppress(ValueError):  # a list, say, which is no metric
                found |= metrics_of({bare_name if bare_name in OWN else name: value})
                break
    return found


def _quantity(held: Constraint, over: float) -> float:
    """Return a value of a quantity that is so far beyond its bound."""
    if held.relation == "<=":
        return held.bound + over
    return held.bound - over if held.relation == ">=" else held.bound + held.tolerance + over


def _number(row: TableRow, name: str) -> float | None:
    """Return the number of a cell, None where it is empty or there is none."""
    cell = row.cells.get(name, "")
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError):
        raise ValueError(f"known: {row.where}, column {name!r}: expected a number, got {brief(cell)}") from None
    return None if math.isnan(number) else number
