"""Sources of known results, read as tables: files, journals, results, DataFrames, and studies of Optuna."""

import csv
import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from lamcts.errors import MissingExtra
from lamcts.optimizer.export import cell_of, names_of
from lamcts.outcomes.goals import Goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fixed import bare
from lamcts.spaces.values import scalar
from lamcts.study.known.rows import OTHERS, Row, Table, check_once, takes
from lamcts.study.load import JOURNAL, result_of, space_of
from lamcts.study.result import Result
from lamcts.text import safe_text
from lamcts.utils.files import OLD_STATE, FileKind, kind_at, text_of

if TYPE_CHECKING:
    from pandas import DataFrame

SEPARATORS = ",;\t"  # of a file: the one that its line of names has most of
DECLARED = re.compile(rf'"?sep=([{SEPARATORS}|])"?[{SEPARATORS}]*\r?\n', re.IGNORECASE)  # how Excel says which
QUOTED = '"[^"]*"'  # a quoted cell, or half of one that contains a quote
NAMES = re.compile(rf"(?:[ \t]*[\r\n]+)*((?:{QUOTED}|[^\r\n])*)")  # after blank lines
PARAMETER, ATTRIBUTE, STATE = "params_", "user_attrs_", "state"  # columns of Optuna's tables
COMPLETE, FAILED, STOPPED = "COMPLETE", "FAIL", "PRUNED"  # states of trials that have ended
SENSES = ("minimize", "maximize")
EXPECTED = "a CSV file with a line of names, a journal, or a storage of Optuna"
SQLITE = "sqlite:///"  # before the path of a storage of Optuna
STORAGE = "optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend({!r}))"
CURES = {  # how the results of other files are given, whose path is filled in
    FileKind.STATE: OLD_STATE,
    FileKind.OPTUNA_LOG: f"known=optuna.load_study(study_name=None, storage={STORAGE}) reads its only study",
    FileKind.SPREADSHEET: "save the sheet as CSV; known=pandas.read_excel({!r}) reads it as well",
    FileKind.PARQUET: "known=pandas.read_parquet({!r}) reads it",
    FileKind.COMPRESSED: "unpack it; known=pandas.read_csv({!r}) reads a compressed CSV file as well",
}
OTHERWISE = "write its results as CSV, or as pairs [(point, value), ...]"


def sources_of(given: Any, space: SearchSpace) -> list[Any]:
    """Return the sources of known results: those in a list, whose trials and pairs are one each, or the only one."""
    if not isinstance(given, (list, tuple)):
        return [given]
    rest = [one for one in given if not _is_source(one, space)]
    trials, pairs = ([one for one in rest if _is_trial(one) is wanted] for wanted in (True, False))
    return [*(one for one in given if _is_source(one, space)), *filter(None, (trials, pairs))] or [[]]


def _is_source(one: Any, space: SearchSpace) -> bool:
    known = isinstance(one, (str, os.PathLike, Result)) or _is_table(one) or _is_study(one)
    return known or _are_pairs(one, space)


def _are_pairs(one: Any, space: SearchSpace) -> bool:
    """Return whether an item is a list of pairs, and no pair of a point and values."""
    listed = isinstance(one, (list, tuple)) and all(isinstance(each, (list, tuple)) and len(each) > 1 for each in one)
    return bool(listed and one) and not takes(space, one[0]) and takes(space, one[0][0])


def table_of(source: Any, space: SearchSpace, goals: Goals) -> Table | None:
    """Return a source as a table, None for pairs; ValueError where it is another file, or has other directions."""
    if isinstance(source, (str, os.PathLike)):
        source = _read(source, bare(space))
    if isinstance(source, Result):
        _check([each.maximize for each in source.history.goals.objectives], goals, "a run")
        curves = [source.history.named_reports(row) for row in range(len(source.history))]
        rows = [
            Row(f"row {i + 1}", row, curve={step: (*each.values(),) for step, each in curves[i].items()})
            for i, row in enumerate(source.rows())
        ]
        return Table("the run", names_of(row.cells for row in rows), rows, text=False)
    if _is_study(source):
        _check([each.name.lower() == SENSES[True] for each in source.directions], goals, "an Optuna study")
        source = source.trials
    elif not (isinstance(source, (list, tuple)) and source and all(map(_is_trial, source))):
        table = _table_of_frame(source) if _is_table(source) else source
        return _without_prefixes(table, goals) if isinstance(table, Table) else None
    rows = [_row_of_trial(trial, goals) for trial in source if trial.state.name in (COMPLETE, FAILED, STOPPED)]
    return Table("the study", names_of(row.cells for row in rows), rows, text=False)


def _read(path: str | os.PathLike[str], space: SearchSpace) -> Any:
    """Return the result of a journal, the table of a CSV file, or a study of Optuna."""
    from lamcts.journal import Journal

    name = os.fsdecode(path)
    if "://" in name:
        return _study_at(*name.partition("#")[::2])
    file = Path(path, JOURNAL) if os.path.isdir(path) else Path(path)
    if file != Path(path) and not file.exists():
        raise ValueError(f"known: expected a CSV file or a journal, got the folder {name}, which has none")
    kind = kind_at(file, "known: the file", most=None)  # a journal grows with its run
    if kind is FileKind.JOURNAL:
        record = Journal.read(file)
        try:
            return result_of(record, space_of(record, space))
        except ValueError as error:  # of another space, which the journal may hold
            with suppress(ValueError):
                return result_of(record, space_of(record))
            raise error
    if kind is FileKind.OPTUNA:
        return _study_at(f"{SQLITE}{name}")
    if kind in (FileKind.TEXT, FileKind.EMPTY):
        return table_of_file(file)
    if kind is FileKind.SPREADSHEET and (table := _table_of_workbook(file)) is not None:
        return table
    raise ValueError(f"known: expected {EXPECTED}, got {name}, {kind}; {CURES.get(kind, OTHERWISE).format(name)}")


def _study_at(address: str, name: str = "") -> Any:
    """Return the study of this name in a storage of Optuna, or the only one."""
    try:
        import optuna
    except ImportError:
        raise MissingExtra.of("optuna", "optuna") from None
    if address.startswith(SQLITE):  # which would be created, or be given tables of Optuna
        kind = kind_at(address.removeprefix(SQLITE).partition("?")[0], "known: the file", most=None)
        if kind is not FileKind.OPTUNA:
            raise ValueError(f"known: expected a storage of Optuna at {address}, got {kind}; pass the path alone")
    try:
        names = optuna.get_all_study_names(address)
    except Exception as error:  # whatever the library raises for an address
        got = f"{address!r} ({type(error).__name__}: {safe_text(error):.200})"
        raise ValueError(f"known: expected a storage of Optuna, such as {SQLITE}study.db, got {got}") from None
    if name not in names and (name or len(names) != 1):
        cure = f"write {address}#{names[0]}" if names else "run the study first"
        asked = f"the study {name!r} in" if name else "one study in"
        raise ValueError(f"known: expected {asked} {address}, got {', '.join(map(repr, names)) or 'none'}; {cure}")
    return optuna.load_study(study_name=name or names[0], storage=address)


def table_of_file(path: Path) -> Table:
    """Return the table of a CSV file; ValueError names the line where something is wrong with it."""
    text = text_of(path, "known: the file")
    declared = DECLARED.match(text)
    separator = declared[1] if declared else _separator(text)
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator)
    try:
        lines = [(f"{path}, line {reader.line_num}", cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise ValueError(f"known: {path}, line {reader.line_num}: {error}") from None
    (where, names), *rest = (lines[1:] if declared else lines) or [("", [])]
    if not names:
        raise ValueError(f"known: expected a line of names in {path}, got an empty file")
    check_once(names, where)
    for where, cells in rest:
        if len(cells) != len(names):
            cure = f"put cells that contain {separator!r} in quotes; {OTHERS}"
            raise ValueError(f"known: {where}: expected {len(names)} cells, one a column, got {len(cells)}; {cure}")
    rows = [Row(where, dict(zip(names, cells, strict=True))) for where, cells in rest]
    return Table(str(path), names, rows, separator=separator)


def _separator(text: str) -> str:
    """Return the separator that the line of names has most of outside quotes; a quoted name may have several lines."""
    names = NAMES.match(text)
    return max(SEPARATORS, key=re.sub(QUOTED, "", names[1] if names else "").count)


def _is_table(source: Any) -> "TypeGuard[DataFrame]":
    return hasattr(source, "columns") and hasattr(source, "to_dict")


def _is_study(source: Any) -> bool:
    return hasattr(source, "trials") and hasattr(source, "directions")


def _is_trial(source: Any) -> bool:
    return all(hasattr(source, name) for name in ("state", "values", "params", "user_attrs"))


def _check(maximize: Sequence[bool], goals: Goals, what: str) -> None:
    """Raise ValueError where a source has other directions than this run."""
    ours = [SENSES[each.maximize] for each in goals.objectives]
    theirs = [SENSES[each] for each in maximize]
    if ours != theirs:
        raise ValueError(
            f"known: expected the directions of this run, {', '.join(ours)}, got {what} with {', '.join(theirs)}; "
            "pass pairs of points and values in the sign of this run"
        )


def _row_of_trial(trial: Any, goals: Goals) -> Row:
    """Return a trial of Optuna that has ended; infinite intermediate values are left out."""
    values = trial.values or [math.nan] * len(goals.names)
    curve = {step: (value,) for step, value in sorted(trial.intermediate_values.items()) if math.isfinite(value)}
    cells = {**trial.user_attrs, **trial.params, **dict(zip(goals.names, values, strict=True))}
    state = trial.state.name
    return Row(f"trial {trial.number}", cells, state != COMPLETE, curve, stopped=state == STOPPED)


def _table_of_frame(table: "DataFrame") -> Table:
    """Return a DataFrame as the table of a CSV file, with names of several levels joined."""
    names = ["_".join(filter(None, name)) if isinstance(name, tuple) else str(name) for name in table.columns]
    check_once(names, "the DataFrame")
    empty, rows = table.isna().to_numpy(), []
    for i, cells in enumerate(table.itertuples(index=False, name=None)):
        texts = ["" if empty[i, j] else cell_of(scalar(cell)) for j, cell in enumerate(cells)]
        rows.append(Row(f"row {table.index[i]}", dict(zip(names, texts, strict=True))))
    return Table("the DataFrame", names, rows)


def _table_of_workbook(path: Path) -> Table | None:
    """Return the first sheet of a workbook, with the numbers of its rows; None where the library for it is missing."""
    try:
        import pandas

        frame = pandas.read_excel(path, dtype=object)
    except ImportError:
        return None
    except Exception as error:  # whatever the library raises on a damaged file
        raise ValueError(f"known: expected a workbook, got {path}, which cannot be read: {safe_text(error)}") from None
    frame.index += 2
    return _table_of_frame(frame.dropna(how="all"))


def _without_prefixes(table: Table, goals: Goals) -> Table:
    """Return a table; one of Optuna under our names, without trials that were not evaluated."""
    if STATE not in table.names or not any(name.startswith(PARAMETER) for name in table.names):
        return table
    ours = {"value": goals.names[0]} | {f"values_{i}": name for i, name in enumerate(goals.names)}
    ours |= {f"values_{name}": name for name in goals.names}
    ours = {name: ours[name] for name in table.names if name in ours}
    for prefix in (PARAMETER, ATTRIBUTE):
        ours = {name: name.removeprefix(prefix) for name in table.names if name.startswith(prefix)} | ours
    ended = [
        row._replace(optional=state != COMPLETE, stopped=state == STOPPED)
        for row in table.rows
        if (state := row.cells[STATE]) in (COMPLETE, FAILED, STOPPED)
    ]
    return table._replace(rows=ended).renamed(ours)
