"""Rows of known results, read as points and values. Cells are texts to parse, or values."""

import json
import math
import re
from ast import literal_eval
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from lamcts.errors import Pruned
from lamcts.optimizer.columns import OWN, SEM, Names, members_of, sample_of
from lamcts.outcomes.goals import Constraint, Goals
from lamcts.outcomes.measured import Measured
from lamcts.outcomes.metrics import Metrics, metrics_of
from lamcts.spaces.base import SearchSpace, options_of
from lamcts.spaces.values import brief
from lamcts.types import Point

PRUNED = re.compile(r"pruned( at step \d+)?")  # the message of a row without a value
ABSENT = object()  # the value of a parameter that a point does not have
WORDS = {"true": True, "false": False}
LOGICAL = {"1": True, "1.0": True, "0": False, "0.0": False}  # of a `Bool`
MISSING = {"", "na", "n/a", "none", "null", "nan"}
OTHERS = "known=pandas.read_csv(...) reads tables of other forms"
COMMA, POINT = (re.compile(rf"[+-]?\d*{sign}\d+(e[+-]?\d+)?", re.IGNORECASE) for sign in (",", r"\."))
Curve = Mapping[int, tuple[float, ...]]  # intermediate values by step: one of each objective, in the user's sign


class Row(NamedTuple):
    """A row of a table: its location, its cells by column, and whether it is dropped if its point is incomplete."""

    where: str
    cells: Mapping[str, Any]
    optional: bool = False
    curve: Curve | None = None
    stopped: bool = False

    @property
    def pruned(self) -> bool:
        return self.stopped or PRUNED.fullmatch(str(self.cells.get("message") or "")) is not None


class Table(NamedTuple):
    """Rows, their location and column names, whether cells are texts, and the separator of a file."""

    where: str
    names: Sequence[str]
    rows: Sequence[Row]
    text: bool = True
    separator: str = ","

    def renamed(self, new: Mapping[str, str]) -> "Table":
        """Return the table of the columns in `new`, renamed."""
        rows = [row._replace(cells={new_name: row.cells[name] for name, new_name in new.items()}) for row in self.rows]
        return self._replace(names=[*dict.fromkeys(new.values())], rows=rows)


class PriorObservation(NamedTuple):
    """A known result: its point, value, constrained quantities, location in its source, metrics and reports."""

    point: Point
    value: object
    constraints: Mapping[str, float] | Sequence[float] | None
    where: str
    metrics: Metrics | None = None
    curve: Curve | None = None

    @property
    def pruned(self) -> bool:
        return isinstance(self.value, Pruned)


def observations_of(
    table: Table, space: SearchSpace, goals: Goals, measured: Sequence[str] = ()
) -> list[PriorObservation]:
    """Return rows as points and values, without pruned rows that lack reports; ValueError names row and column."""
    reader = _Reader(table, space, goals, measured)
    observations = []
    for row in reader.rows:
        if row.pruned and not row.curve:
            continue
        try:
            point = reader.point(row)
            if row.optional:
                space.encode(point)
        except ValueError:
            if row.optional:
                continue
            raise
        observation = PriorObservation(point, *reader.values(row, point), row.where, reader.metrics(row), row.curve)
        observations.append(observation._replace(value=Pruned()) if row.pruned else observation)
    return observations


def points_of(table: Table, space: SearchSpace, goals: Goals) -> list[Point]:
    """Return the points of a table, which may lack all other columns."""
    reader = _Reader(table, space, goals, None)
    return [reader.point(row) for row in reader.rows]


def check_once(names: Sequence[str], where: str) -> None:
    """Raise ValueError where a column has the name of another one."""
    twice = [name for name, count in Counter(names).items() if count > 1 and name.strip()]
    if twice:
        raise ValueError(f"known: {where}: expected each column once, got {twice[0]!r} twice")


class _Reader:
    """Reads the rows of one table."""

    def __init__(self, table: Table, space: SearchSpace, goals: Goals, measured: Sequence[str] | None) -> None:
        members = members_of(space)
        names = Names.of(space, goals)
        flat = [column for name in members for column in names.flat(name)]
        known = {name for part in names[:4] for pair in part.items() for name in pair} | {*flat, SEM, *OWN}
        table = _trimmed(table, known)
        present = {*table.names}
        self._columns, self._goal, self._quantity = (
            {name: column if column in present else name for name, column in part.items()} for part in names[:3]
        )
        mixtures = [
            name for name in names.parts if names.points[name] not in present and {*names.flat(name)} <= present
        ]
        self._parts = {name: dict(zip(names.parts[name], names.flat(name), strict=True)) for name in mixtures}
        self._columns |= {name: names.points[name] for name in mixtures}
        used = {*self._columns.values(), *self._goal.values()}
        self._quantity = {name: column for name, column in self._quantity.items() if column not in {*used, *OWN}}
        used |= {*goals.quantities, *self._quantity.values()}
        self._sems = {name: sem for name, sem in names.sems.items() if sem not in used}
        bounds = {name: bound for name in table.names if name not in known and (bound := _bound(name))}
        self._bounds = {name: bound for name, bound in bounds.items() if bound.name in goals.quantities}
        self._used = used | known | {*self._bounds}
        self._derived = names.derived
        self._members = members
        self._goals = goals
        self._text = table.text
        self._named = isinstance(sample_of(space), Mapping)
        self.rows = table.rows
        self._check_columns(table, measured)
        numbers = (*self._quantity.values(), *self._goal.values(), SEM, *self._sems.values())
        self._comma = self._has_commas(table, numbers)

    def _check_columns(self, table: Table, measured: Sequence[str] | None) -> None:
        """Raise ValueError for a missing column; quantities in `measured` need none, and no values for None."""
        present = {*table.names}
        known = {bound.name for bound in self._bounds.values()} | {*(measured or ()), *self._derived}
        pairs = [(self._columns[name], member) for name, member in self._members.items() if name not in self._parts]
        wanted = [column for column, member in pairs if self._text and not getattr(member, "when", None)]
        wanted += (
            ()
            if measured is None
            else [
                *(self._goal[name] for name in self._goals.names),
                *(self._quantity.get(name, name) for name in self._goals.quantities if name not in known),
            ]
        )
        for name in wanted if present else ():  # a study without trials has no columns
            if name not in present:
                got = ", ".join(table.names)
                cure = f"; {OTHERS}" if self._text else ""
                raise ValueError(f"known: {table.where}: expected a column {name!r}, got {got:.200}{cure}")

    def _has_commas(self, table: Table, numbers: Iterable[str]) -> bool:
        """Return whether the numbers of a table have decimal commas; ValueError where others have points."""
        if table.separator == ",":
            return False
        names = [
            column
            for name in self._columns
            if (member := self._members[name]) is None or not options_of(member)
            for column in self._parts.get(name, {name: self._columns[name]}).values()
        ]
        cells = [
            (row.cells[name].strip(), row.where)
            for row in table.rows
            for name in (*names, *numbers)
            if name in row.cells
        ]
        comma, point = (next((pair for pair in cells if sign.fullmatch(pair[0])), None) for sign in (COMMA, POINT))
        if comma and point:
            got = f"{comma[0]!r} in {comma[1]} and {point[0]!r} in {point[1]}"
            raise ValueError(f"known: expected one decimal sign and no separators of thousands, got {got}")
        return comma is not None

    def point(self, row: Row) -> Point:
        """Return the point of a row; a named parameter with an empty cell is absent, unless its text is an option."""
        values = {name: self._parameter(row, name) for name in self._columns}
        if self._named:
            return {name: value for name, value in values.items() if value is not ABSENT}
        for name, value in values.items():
            if value is ABSENT:
                raise ValueError(f"known: {row.where}, column {name!r}: expected a value, got an empty cell")
        return values["point"] if [*values] == ["point"] else [*values.values()]

    def _parameter(self, row: Row, name: str) -> Point:
        """Return the value of a cell: the first of its readings that the parameter accepts."""
        column = self._columns[name]
        member = self._members[name]
        if name in self._parts and member is not None:
            return self._mixture(row, name, member)
        if not self._text:
            return row.cells.get(column, ABSENT)
        cell = row.cells.get(column, "")  # a column of a parameter that is never active may be missing
        try:
            value = _first_taken(_readings(cell, self._comma), member)
            return ABSENT if member is None and not cell.strip() else value
        except ValueError as refused:
            if cell.strip().lower() not in MISSING:
                raise ValueError(f"known: {row.where}, column {column!r}: {refused}") from None
        # there is no text for nan, nor for None in other programs
        empty_values = (
            []
            if member is None or getattr(member, "when", None)
            else [value for value in (math.nan, None) if takes(member, value)]
        )
        return empty_values[0] if empty_values else ABSENT

    def _mixture(self, row: Row, name: str, member: SearchSpace) -> Point:
        """Return the mixture of the cells of its parts."""
        cells = {part: row.cells[column] for part, column in self._parts[name].items()}
        inner = members_of(member)
        if getattr(member, "when", None) and not any(cell.strip() for cell in cells.values()):
            return ABSENT
        try:
            amounts = {part: _first_taken(_readings(cell, self._comma), inner[part]) for part, cell in cells.items()}
            member.encode(amounts)
        except ValueError as refused:
            raise ValueError(f"known: {row.where}, column {self._columns[name]!r}: {refused}") from None
        return amounts

    def values(self, row: Row, point: Point) -> tuple[object, dict[str, float] | None]:
        """Return the value of a row, by name where goals have several, and its quantities, nan for an empty cell."""
        goals = self._goals
        values = {name: self._measured(row, name) for name in goals.names}
        read = {name: self._number(row, column) for name, column in self._quantity.items() if column in row.cells}
        quantities = {name: math.nan if number is None else number for name, number in read.items()}
        for column, bound in self._bounds.items():
            over = self._number(row, column)
            if math.isnan(quantities.setdefault(bound.name, math.nan)) and over is not None:
                quantities[bound.name] = bound.quantity(over)
        empty = all(value is None for value in values.values())
        value = None if empty else values[goals.names[0]] if goals.plain else values
        if empty and all(map(math.isnan, quantities.values())):
            return value, None
        derived = {
            name: float(point[parameter][part])
            for name, (parameter, part) in self._derived.items()
            if parameter in point
        }
        return value, quantities | derived or None

    def _measured(self, row: Row, name: str) -> float | Measured | None:
        """Return a value, with its standard error if the row has one."""
        value = self._number(row, self._goal[name])
        sem = self._sems.get(name)
        error = None if sem is None else self._number(row, sem)
        return value if value is None or error is None else Measured(value, error)

    def _number(self, row: Row, name: str) -> float | None:
        """Return the number of a cell, None for an empty or missing cell."""
        cell = row.cells.get(name)
        if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING):
            return None
        try:
            number = float(cell.replace(",", ".") if self._comma and COMMA.fullmatch(cell.strip()) else cell)
        except (TypeError, ValueError):
            cure = "write a number alone, without a unit, a percent sign or a separator of thousands"
            where = f"{row.where}, column {name!r}"
            raise ValueError(f"known: {where}: expected a number, got {brief(cell)}; {cure}") from None
        return None if math.isnan(number) else number

    def metrics(self, row: Row) -> Metrics:
        """Return the numbers and texts of other columns; those of one of `OWN` lose their prefix."""
        metrics: Metrics = {}
        for name, cell in row.cells.items():
            if name in self._used or not name.strip() or (self._text and not cell.strip()):
                continue
            bare_name = name.removeprefix("metric.")  # as `rows_of` calls a metric of that name
            for value in _readings(cell, self._comma) if self._text else (cell,):
                with suppress(ValueError):  # a list, say, which is no metric
                    metrics |= metrics_of({bare_name if bare_name in OWN else name: value})
                    break
        return metrics


def _bound(column: str) -> Constraint | None:
    """Return the constraint in the name of a column of violations; None for another column."""
    with suppress(ValueError):
        return Constraint.read(column)
    return None


def _trimmed(table: Table, names: set[str]) -> Table:
    """Return a table with column names stripped of white space."""
    present = {*table.names}
    stripped = {name.strip(): name for name in names}
    new = {name: stripped.get(name.strip(), name) for name in table.names if name not in names}
    new = {name: column for name, column in new.items() if column not in present}
    if not new:
        return table
    check_once([new.get(name, name) for name in table.names], table.where)
    return table.renamed({name: new.get(name, name) for name in table.names})


def takes(member: SearchSpace, value: Point) -> bool:
    """Return whether a value is a point of a space."""
    try:
        member.encode(value)
    except ValueError:
        return False
    return True


def value_of(text: str, member: SearchSpace | None) -> Point:
    """Return the first reading of a text that a parameter accepts, else the text."""
    try:
        return _first_taken(_readings(text), member)
    except ValueError:
        return text


def _first_taken(readings: Iterable[Point], member: SearchSpace | None) -> Point:
    """Return the first reading that a parameter accepts; ValueError of the first reading without one."""
    refused: ValueError | None = None
    for value in readings:
        try:
            if member is not None:
                member.encode(value)
            return value
        except ValueError as error:
            refused = refused or error
    raise refused or ValueError("expected a value, got none")


def _readings(cell: str, comma: bool = False) -> Iterator[Point]:
    """Yield the readings of a text: numbers, parsed values, the text, and last 1 and 0 for True and False."""
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
        if not isinstance(parsed := json.loads(cell), str):  # a quoted text is read as it is
            yield parsed
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        if word.startswith(("(", "[", "{")) and isinstance(parsed := literal_eval(word), (tuple, list, dict)):
            yield parsed  # as pandas writes such values
    yield cell
    yield word
    if word in LOGICAL:
        yield LOGICAL[word]
