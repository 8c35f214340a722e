"""Evaluations for other programs: rows, CSV, a DataFrame of pandas, JSON values, HTML."""

import csv
import html
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lamcts.errors import MissingExtra
from lamcts.optimizer.columns import LAST, Names, columns_of
from lamcts.outcomes.front import Front, parts_of
from lamcts.spaces.values import plain, scalar
from lamcts.text import safe_repr, valid
from lamcts.types import Json, array_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from lamcts.optimizer.history import History

LONGEST = 300  # characters of a value in an HTML cell, chosen by eye


def rows_of(history: "History", flat: bool = False) -> list[Json]:
    """Return a dict for each evaluation; a used name becomes `value.NAME`, `point.NAME` and so on."""
    goals = history.goals
    columns = Names.of(history.points.space, goals)
    unknown = (math.nan,) * len(goals.names)
    values = history.values.reshape(len(history), len(goals.names))
    rows = []
    for i, (trial, row_values, point) in enumerate(zip(history.trial, values, history.points, strict=True)):
        row: Json = {"trial": int(trial)} | dict(zip(columns.goals.values(), row_values.tolist(), strict=True))
        errors = dict(zip(goals.names, history.sems.get(i, unknown), strict=True))
        row |= {column: errors[name] for name, column in columns.sems.items() if history.sems}
        measured = {} if history.excesses is None else goals.measured(history.excesses[i])
        row |= {column: measured[name] for name, column in columns.quantities.items()}
        for name, value in ((name, scalar(value)) for name, value in parts_of(point)):
            row |= columns.cells(name, value) if flat else {columns.points.get(name, name): value}
        metrics = history.metrics.get(i, {})
        row |= {column: metrics[name] for name, column in columns_of(metrics, (*row, *LAST), "metric").items()}
        rows.append(row | {"seconds": float(history.seconds[i]), "message": history.message(i) or ""})
    return rows


def names_of(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the names of all columns, with those of `LAST` at the end."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [*(name for name in names if name not in LAST), *(name for name in LAST if name in names)]


class SupportsWrite(Protocol):
    """A stream of text, such as an open file."""

    def write(self, text: str, /) -> object: ...


def write_csv(rows: list[Json], names: list[str], file: SupportsWrite) -> None:
    """Write rows as comma-separated text with all digits; other values than numbers and texts are JSON."""
    cells = [[*map(valid, names)], *([cell_of(row[name]) if name in row else "" for name in names] for row in rows)]
    needs_quotes = any("\r" in cell for row in cells for cell in row)  # the writer does not quote it
    needs_quotes |= any(mark in name for name in names for mark in ";\t")  # readers guess the separator from names
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if needs_quotes else csv.QUOTE_MINIMAL).writerows(cells)


def cell_of(value: object) -> str:
    """Return the text of a value in a table: a number, a text or label, else JSON."""
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value).removesuffix(".0")
    json_value = plain(value)
    return valid(str(json_value)) if isinstance(json_value, (str, int)) else json.dumps(json_value)


def dataframe_of(history: "History") -> "DataFrame":
    """Return the rows as a pandas DataFrame; MissingExtra where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra.of("pandas", "pandas") from None
    rows = rows_of(history, flat=True)
    return pandas.DataFrame(rows, columns=names_of(rows) or None)


def json_values(value: Any) -> Any:
    """Return JSON values, None for nan and infinities, which JSON lacks; other objects become text."""
    from lamcts.optimizer.history import History

    if isinstance(value, (History, Front)):
        return json_values(value.rows())
    if is_dataclass(value) and not isinstance(value, type):
        return json_values(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): json_values(part) for name, part in value.items()}
    value = scalar(value)
    if hasattr(value, "__array__") and not isinstance(value, type):
        return json_values(array_of(value).tolist())
    if isinstance(value, (list, tuple)):
        return [json_values(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else plain(value)


def html_of(values: Mapping[str, object]) -> str:
    """Return an HTML table of names and values."""
    lines = []
    for name, value in values.items():
        text = safe_repr(value)
        shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
        header = f"<th style='text-align:right'>{html.escape(name)}</th>"
        lines.append(f"<tr>{header}<td style='text-align:left; white-space:pre-wrap'>{html.escape(shown)}</td></tr>")
    return f"<table>{''.join(lines)}</table>"
