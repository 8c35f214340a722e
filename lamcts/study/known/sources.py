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

SEPARATORS = ",;\t"  # the most frequent one in the header of a file separates its cells
DECLARED = re.compile(rf'"?sep=([{SEPARATORS}|])"?[{SEPARATORS}]*\r?\n', re.IGNORECASE)  # Excel's declaration
QUOTED = '"[^"]*"'  # a quoted cell, or half of one that contains a quote
NAMES = re.compile(rf"(?:[ \t]*[\r\n]+)*((?:{QUOTED}|[^\r\n])*)")  # after blank lines
PARAMETER, ATTRIBUTE, STATE = "params_", "user_attrs_", "state"  # columns of Optuna's tables
COMPLETE, FAILED, STOPPED = "COMPLETE", "FAIL", "PRUNED"  # states of trials that have ended
SENSES = ("minimize", "maximize")
EXPECTED = "a CSV file with a line of names, a journal, or a storage of Optuna"
SQLITE = "sqlite:///"  # before the path of a storage of Optuna
STORAGE = "optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend({!r}))"
CURES = {  # cures for files of other kinds, in which the path is filled in
    FileKind.STATE: OLD_STATE,
    FileKind.OPTUNA_LOG: f"known=optuna.load_study(study_name=None, storage={STORAGE}) reads its only study",
    FileKind.SPREADSHEET: "save the sheet as CSV; known=pandas.read_excel({!r}) reads it as well",
    FileKind.PARQUET: "known=pandas.read_parquet({!r}) reads it",
    FileKind.COMPRESSED: "unpack it; known=pandas.read_csv({!r}) reads a compressed CSV file as well",
}
OTHERWISE = "write its results as CSV, or as pairs [(point, value), ...]"


def sources_of(known: Any, space: SearchSpace) -> list[Any]:
    """Return the sources of known results; all trials of a list are one source, and so are all pairs."""
    if not isinstance(known, (list, tuple)):
        return [known]
    items = [item for item in known if not _is_source(item, space)]
    trials, pairs = ([item for item in items if _is_trial(item) is is_trial] for is_trial in (True, False))
    return [*(item for item in known if _is_source(item, space)), *filter(None, (trials, pairs))] or [[]]


def _is_source(item: Any, space: SearchSpace) -> bool:
    known = isinstance(item, (str, os.PathLike, Result)) or _is_table(item) or _is_study(item)
    return known or _are_pairs(item, space)


def _are_pairs(item: Any, space: SearchSpace) -> bool:
    """Return whether an item is a list of pairs, and no pair of a point and values."""
    listed = isinstance(item, (list, tuple)) and all(isinstance(pair, (list, tuple)) and len(pair) > 1 for pair in item)
    return bool(listed and item) and not takes(space, item[0]) and takes(space, item[0][0])


def table_of(source: Any, space: SearchSpace, goals: Goals) -> Table | None:
    """Return a source as a table, None for pairs; ValueError for another kind of file, or other directions."""
    if isinstance(source, (str, os.PathLike)):
        source = _read(source, bare(space))
    if isinstance(source, Result):
        _check([part.maximize for part in source.history.goals.objectives], goals, "a run")
        curves = [source.history.named_reports(row) for row in range(len(source.history))]
        rows = [
            Row(f"row {i + 1}", row, curve={step: (*part.values(),) for step, part in curves[i].items()})
            for i, row in enumerate(source.rows())
        ]
        return Table("the run", names_of(row.cells for row in rows), rows, text=False)
    if _is_study(source):
        _check([part.name.lower() == SENSES[True] for part in source.directions], goals, "an Optuna study")
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
        except ValueError as error:  # the journal may contain another space
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
    if address.startswith(SQLITE):  # Optuna would create the file, or add its tables
        kind = kind_at(address.removeprefix(SQLITE).partition("?")[0], "known: the file", most=None)
        if kind is not FileKind.OPTUNA:
            raise ValueError(f"known: expected a storage of Optuna at {address}, got {kind}; pass the path alone")
    try:
        names = optuna.get_all_study_names(address)
    except Exception as error:  # the library may raise anything for an address
        got = f"{address!r} ({type(error).__name__}: {safe_text(error):.200})"
        raise ValueError(f"known: expected a storage of Optuna, such as {SQLITE}study.db, got {got}") from None
    if name not in names and (name or len(names) != 1):
        cure = f"write {address}#{names[0]}" if names else "run the study first"
        asked = f"the study {name!r} in" if name else "one study in"
        raise ValueError(f"known: expected {asked} {address}, got {', '.join(map(repr, names)) or 'none'}; {cure}")
    return optuna.load_study(study_name=name or names[0], storage=address)


def table_of_file(path: Path) -> Table:
    """Return the table of a CSV file; ValueError names an invalid line."""
    text = text_of(path, "known: the file")
    declared = DECLARED.match(text)
    separator = declared[1] if declared else _separator(text)
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator)
    try:
        lines = [(f"{path}, line {reader.line_num}", cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise ValueError(f"known: {path}, line {reader.line_num}: {error}") from None
    (where, names), *data = (lines[1:] if declared else lines) or [("", [])]
    if not names:
        raise ValueError(f"known: expected a line of names in {path}, got an empty file")
    check_once(names, where)
    for where, cells in data:
        if len(cells) != len(names):
            cure = f"put cells that contain {separator!r} in quotes; {OTHERS}"
            raise ValueError(f"known: {where}: expected {len(names)} cells, one a column, got {len(cells)}; {cure}")
    rows = [Row(where, dict(zip(names, cells, strict=True))) for where, cells in data]
    return Table(str(path), names, rows, separator=separator)


def _separator(text: str) -> str:
    """Return the most frequent separator in the header outside quotes; a quoted name may have several lines."""
    names = NAMES.match(text)
    return max(SEPARATORS, key=re.sub(QUOTED, "", names[1] if names else "").count)


def _is_table(source: Any) -> "TypeGuard[DataFrame]":
    return hasattr(source, "columns") and hasattr(source, "to_dict")


def _is_study(source: Any) -> bool:
    return hasattr(source, "trials") and hasattr(source, "directions")


def _is_trial(source: Any) -> bool:
    return all(hasattr(source, name) for name in ("state", "values", "params", "user_attrs"))


def _check(maximize: Sequence[bool], goals: Goals, what: str) -> None:
    """Raise ValueError for a source with other directions than this run."""
    ours = [SENSES[goal.maximize] for goal in goals.objectives]
    theirs = [SENSES[goal] for goal in maximize]
    if ours != theirs:
        raise ValueError(
            f"known: expected the directions of this run, {', '.join(ours)}, got {what} with {', '.join(theirs)}; "
            "pass pairs of points and values in the sign of this run"
        )


def _row_of_trial(trial: Any, goals: Goals) -> Row:
    """Return the row of an ended trial of Optuna, without infinite intermediate values."""
    values = trial.values or [math.nan] * len(goals.names)
    curve = {step: (value,) for step, value in sorted(trial.intermediate_values.items()) if math.isfinite(value)}
    cells = {**trial.user_attrs, **trial.params, **dict(zip(goals.names, values, strict=True))}
    state = trial.state.name
    return Row(f"trial {trial.number}", cells, state != COMPLETE, curve, stopped=state == STOPPED)


def _table_of_frame(table: "DataFrame") -> Table:
    """Return a DataFrame as the table of a CSV file, with names of several levels joined."""
    names = ["_".join(filter(None, name)) if isinstance(name, tuple) else str(name) for name in table.columns]
    check_once(names, "the DataFrame")
    empty = table.isna().to_numpy()
    rows = []
    for i, cells in enumerate(table.itertuples(index=False, name=None)):
        texts = ["" if empty[i, j] else cell_of(scalar(cell)) for j, cell in enumerate(cells)]
        rows.append(Row(f"row {table.index[i]}", dict(zip(names, texts, strict=True))))
    return Table("the DataFrame", names, rows)


def _table_of_workbook(path: Path) -> Table | None:
    """Return the first sheet of a workbook, with the numbers of its rows; None without pandas and its reader."""
    try:
        import pandas

        frame = pandas.read_excel(path, dtype=object)
    except ImportError:
        return None
    except Exception as error:  # the library may raise anything for a damaged file
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
