"""Known results as a table: a CSV file with a line of names, or the rows of a `Result`, a DataFrame or a study.

A column for each parameter (x1, x2, ... where points are arrays or tuples), each objective (`value` where there is one)
and each quantity that is bounded, by its name; or how far beyond its bound it is, by the words of the constraint. That
is what `lamcts show RUN --csv` writes. An empty value is a failed evaluation, or with quantities one that was checked.
A column `sem` (or `sem.NAME` of an objective) has standard errors. Numbers and texts of other columns are metrics.
"""

import json
import math
import re
from ast import literal_eval
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from lamcts.outcomes.front import parts_of
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.measured import Measured
from lamcts.outcomes.metrics import Metrics, metrics_of
from lamcts.spaces.base import SearchSpace, options_of
from lamcts.spaces.fixed import bare
from lamcts.spaces.product import Space as ProductSpace
from lamcts.spaces.values import brief
from lamcts.study.export import LAST, columns_of
from lamcts.types import Point

OWN = ("trial", *LAST)  # columns of every table of ours
SEM = "sem"  # the column of standard errors, or the prefix of several
PRUNED = re.compile(r"pruned( at step \d+)?")  # the message of a row without a value
Members = Mapping[str, tuple[str, SearchSpace | None]]  # by name: its column, and its space where it has one
WORDS = {"true": True, "false": False}
LOGICAL = {"t": True, "1": True, "1.0": True, "f": False, "0": False, "0.0": False}  # R's and Excel's, for a `Bool`
MISSING = {"", "na", "n/a", "none", "null", "nan"}  # of R, Excel, Python, SQL and pandas
COMMA, POINT = (re.compile(rf"[+-]?\d*{sign}\d+(e[+-]?\d+)?", re.IGNORECASE) for sign in (",", r"\."))


class TableRow(NamedTuple):
    """A row of a table: its place, and its cells by column, texts that have to be read or values.

    optional: whether it is left out where its point is incomplete. comma: whether its numbers have decimal commas.
    """

    where: str
    cells: Mapping[str, Any]
    text: bool = True
    optional: bool = False
    comma: bool = False


class Table(NamedTuple):
    """Rows, the place and the names of their columns, and what separates the cells of a file."""

    where: str
    names: Sequence[str]
    rows: Sequence[TableRow]
    separator: str = ","


class PriorObservation(NamedTuple):
    """A result: its point, what the function returned there, what constraints bound, where it was given, metrics."""

    point: Point
    value: object
    constraints: Mapping[str, float] | Sequence[float] | None
    where: str
    metrics: Metrics | None = None


def parsed(table: Table, space: SearchSpace, goals: Goals, measured: Sequence[str] = ()) -> list[PriorObservation]:
    """Return rows as points and values, without pruned ones; ValueError names the place and the column.

    measured: quantities that somebody else knows, where no column has them.
    """
    sems = {name: SEM if len(goals.names) == 1 else f"{SEM}.{name}" for name in goals.names}
    numbers = (*goals.names, *map(str, goals.constraints), SEM, *sems.values())
    held = (*numbers, *OWN)
    inside = members_of(space)
    columns = columns_of(inside, held)
    table = _renamed(table, [*columns, *columns.values(), *held, *goals.quantities])
    there = {*table.names}
    members = {name: (columns[name] if columns[name] in there else name, member) for name, member in inside.items()}
    _check_columns(table, members, goals, measured)
    used = {*(own for own, _ in members.values()), *goals.quantities, *goals.names}
    errors = {name: own for name, own in sems.items() if own not in used}
    used |= {*held}
    named = isinstance(_sample(space), Mapping)
    comma, found = _has_commas(table, members, (*goals.quantities, *numbers)), []
    for row in table.rows:
        if PRUNED.fullmatch(str(row.cells.get("message") or "")):
            continue
        row = row._replace(comma=comma)
        try:
            point = _point(row, members, named)
            if row.optional:
                space.encode(point)
        except ValueError:
            if row.optional:
                continue
            raise
        value, quantities = _values(row, goals, errors)
        found.append(PriorObservation(point, value, quantities or None, row.where, _metrics(row, used)))
    return found


def members_of(space: SearchSpace) -> dict[str, SearchSpace | None]:
    """Return the parts of a point by name, each with its space; None where it has none of its own."""
    space = bare(space)
    if isinstance(space, ProductSpace):
        names = space.names or [f"x{i + 1}" for i in range(len(space.members))]
        return dict(zip(names, space.members, strict=True))
    parts = parts_of(_sample(space))
    if [name for name, _ in parts] == ["point"]:
        return {"point": space}
    columns = getattr(space, "columns", ()) or [None] * len(parts)
    return {name: column for (name, _), column in zip(parts, columns, strict=True)}


def _renamed(table: Table, names: Sequence[str]) -> Table:
    """Return a table whose columns have their names without the blanks round them, and without a # before the first."""
    known, there, meant = {*names}, {*table.names}, {name.strip(): name for name in names}
    new = {name: meant.get(name.lstrip(" #").rstrip(), name) for name in table.names if name not in known}
    new = {name: own for name, own in new.items() if own not in there}
    if not new:
        return table
    check_once(renamed := [new.get(name, name) for name in table.names], table.where)
    rows = [row._replace(cells={new.get(name, name): cell for name, cell in row.cells.items()}) for row in table.rows]
    return table._replace(names=renamed, rows=rows)


def check_once(names: Sequence[str], where: str) -> None:
    """Raise ValueError where a column has the name of another one."""
    twice = [name for name, count in Counter(names).items() if count > 1 and name.strip()]
    if twice:
        raise ValueError(f"known: {where}: expected each column once, got {twice[0]!r} twice")


def _sample(space: SearchSpace) -> Point:
    return space.decode(space.sample(1, np.random.default_rng(0))[0])


def _check_columns(table: Table, members: Members, goals: Goals, measured: Sequence[str]) -> None:
    there, text = {*table.names}, not table.rows or table.rows[0].text
    known = {held.name for held in goals.constraints if str(held) in there}
    wanted = [own for own, member in members.values() if text and not getattr(member, "when", None)]
    wanted += [*goals.names, *(name for name in goals.quantities if name not in known and name not in measured)]
    for name in wanted if there else ():  # a study without trials has no columns
        if name not in there:
            got = ", ".join(table.names)
            raise ValueError(f"known: {table.where}: expected a column {name!r}, got {got:.200}")


def _has_commas(table: Table, members: Members, numbers: Iterable[str]) -> bool:
    """Return whether the numbers of a table have decimal commas; ValueError where others have points."""
    if table.separator == "," or not table.rows:
        return False
    names = [own for own, member in members.values() if member is None or not options_of(member)]
    names = [name for name in (*names, *numbers) if name in table.rows[0].cells]
    cells = [(row.cells[name].strip(), row.where) for row in table.rows for name in names]
    comma, point = (next((one for one in cells if sign.fullmatch(one[0])), None) for sign in (COMMA, POINT))
    if comma and point:
        got = f"{comma[0]!r} in {comma[1]} and {point[0]!r} in {point[1]}"
        raise ValueError(f"known: expected one decimal sign and no separators of thousands, got {got}")
    return comma is not None


ABSENT = object()  # the value of a parameter that a point does not have


def _point(row: TableRow, members: Members, named: bool) -> Point:
    """Return the point of a row; a parameter by name whose cell is empty is left out, unless that is an option."""
    found = {name: _read(row, own, member) for name, (own, member) in members.items()}
    if named:
        return {name: value for name, value in found.items() if value is not ABSENT}
    for name, value in found.items():
        if value is ABSENT:
            raise ValueError(f"known: {row.where}, column {name!r}: expected a value, got an empty cell")
    return found["point"] if [*found] == ["point"] else [*found.values()]


def _read(row: TableRow, own: str, member: SearchSpace | None) -> Point:
    """Return what a cell says: of its readings the first that the parameter takes."""
    if not row.text:
        return row.cells.get(own, ABSENT)
    cell = row.cells.get(own, "")  # a column of a parameter that is never active may be missing
    readings = [*_readings(cell, row.comma)]
    if member is None:
        return readings[0] if cell.strip() else ABSENT
    refused: ValueError | None = None
    for value in readings:
        try:
            member.encode(value)
            return value
        except ValueError as error:
            refused = refused or error
    if cell.strip().lower() in MISSING:  # there is no text for nan, nor for None in other programs
        empty = [] if getattr(member, "when", None) else [one for one in (math.nan, None) if takes(member, one)]
        return empty[0] if empty else ABSENT
    raise ValueError(f"known: {row.where}, column {own!r}: {refused}")


def takes(member: SearchSpace, value: Point) -> bool:
    """Return whether a value is a point of a space."""
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


def _readings(cell: str, comma: bool = False) -> Iterator[Point]:
    """Yield what a text may mean: numbers first, then itself, last what is a word of R or Excel for True and False."""
    word = cell.strip()
    for kind in (int, float):
        try:
            yield kind(cell)
        except ValueError:
            continue
    if comma and COMMA.fullmatch(word):
        yield float(word.replace(",", "."))
    if word.lower() in WORDS:
        yield WORDS[word.lower()]
    with suppress(ValueError, RecursionError):
        if not isinstance(found := json.loads(cell), str):  # a text stands there as it is
            yield found
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        if word.startswith(("(", "[", "{")) and isinstance(found := literal_eval(word), (tuple, list, dict)):
            yield found  # as pandas writes such values
    yield cell
    yield word
    if word.lower() in LOGICAL:
        yield LOGICAL[word.lower()]


def _values(row: TableRow, goals: Goals, errors: Mapping[str, str]) -> tuple[object, dict[str, float]]:
    """Return the value of a row, by name where goals have several; None where it is empty. And its quantities."""
    values = {name: _measured(row, name, errors) for name in goals.names}
    quantities = {name: number for name in goals.quantities if (number := _number(row, name)) is not None}
    for held in goals.constraints:
        over = _number(row, str(held))
        if over is not None and held.name in goals.quantities and held.name not in quantities:
            quantities[held.name] = held.quantity(over)
    empty = all(each is None for each in values.values())
    return None if empty else values[goals.names[0]] if goals.plain else values, quantities


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
        for value in _readings(cell, row.comma) if row.text else (cell,):
            with suppress(ValueError):  # a list, say, which is no metric
                found |= metrics_of({bare_name if bare_name in OWN else name: value})
                break
    return found


def _number(row: TableRow, name: str) -> float | None:
    """Return the number of a cell, None where it is empty or there is none."""
    cell = row.cells.get(name)
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING):
        return None
    try:
        number = float(cell.replace(",", ".") if row.comma and COMMA.fullmatch(cell.strip()) else cell)
    except (TypeError, ValueError):
        cure = "write a number alone, without a unit, a percent sign or a separator of thousands"
        raise ValueError(f"known: {row.where}, column {name!r}: expected a number, got {brief(cell)}; {cure}") from None
    return None if math.isnan(number) else number
