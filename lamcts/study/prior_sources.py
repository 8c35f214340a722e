"""Sources of known results: pairs, CSV files, journals, a `Result`, a DataFrame, a study of Optuna, or several of them.

    minimize(f, space, budget=50, known=[study, "trials.csv", "run.db"])

Optuna's tables, `study.trials_dataframe()` and its CSV file, have columns `params_NAME`, `value` or `values_NAME`, and
`state`. Pruned, running and waiting trials are left out, and so are failed trials that lack parameters. Other failed
trials are failed evaluations.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from lamcts.outcomes.goals import Goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fixed import bare
from lamcts.spaces.values import scalar
from lamcts.study.export import cell_of
from lamcts.study.load import JOURNAL, load
from lamcts.study.prior_table import TableRow, rows_of_file
from lamcts.study.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

SQLITE = b"SQLite format 3\0"  # how a journal begins
PARAMETER, ATTRIBUTE, STATE = "params_", "user_attrs_", "state"  # columns of Optuna's tables
COMPLETE, FAILED = "COMPLETE", "FAIL"  # states of trials that were evaluated
SENSES = ("minimize", "maximize")


class OptunaTrial(Protocol):
    """What is read of a trial of Optuna."""

    number: int
    state: Any
    values: Sequence[float] | None
    params: Mapping[str, Any]
    user_attrs: Mapping[str, Any]


class OptunaStudy(Protocol):
    """What is read of a study of Optuna."""

    trials: Sequence[OptunaTrial]
    directions: Sequence[Any]


def sources_of(given: Any) -> list[Any]:
    """Return the sources of known results: those in a list, whose pairs are one more, or the only one."""
    if not isinstance(given, (list, tuple)):
        return [given]
    apart = [isinstance(one, (str, os.PathLike, Result)) or _is_table(one) or _is_study(one) for one in given]
    pairs = [one for one, alone in zip(given, apart, strict=True) if not alone]
    sources = [one for one, alone in zip(given, apart, strict=True) if alone]
    return [*sources, pairs] if pairs or not sources else sources


def rows_of_source(source: Any, goals: Goals, space: SearchSpace) -> list[TableRow] | None:
    """Return the rows of a source that is a table, None for another; ValueError where it has other directions."""
    if isinstance(source, (str, os.PathLike)) and _is_journal(Path(source)):
        source = _loaded(source, space)
    if isinstance(source, Result):
        _check([each.maximize for each in source.history.goals.objectives], goals, "a run")
        return [TableRow(f"row {i + 1}", row, text=False) for i, row in enumerate(source.rows())]
    if _is_study(source):
        _check([each.name.lower() == SENSES[True] for each in source.directions], goals, "an Optuna study")
        return [row for trial in source.trials for row in _rows_of_trial(trial, goals)]
    if isinstance(source, (str, os.PathLike)):
        return [*_without_prefixes(rows_of_file(source), goals)]
    return [*_without_prefixes(_rows_of_table(source), goals)] if _is_table(source) else None


def _loaded(path: "str | os.PathLike[str]", space: SearchSpace) -> Result:
    """Return the result of a journal; the space of this run replaces one that the journal does not hold."""
    try:
        return load(path)
    except ValueError:
        return load(path, bare(space))


def _is_journal(path: Path) -> bool:
    if path.is_dir():
        return (path / JOURNAL).exists()
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def _is_table(source: Any) -> "TypeGuard[DataFrame]":
    return hasattr(source, "columns") and hasattr(source, "to_dict")


def _is_study(source: Any) -> TypeGuard[OptunaStudy]:
    return hasattr(source, "trials") and hasattr(source, "directions")


def _check(maximize: Sequence[bool], goals: Goals, what: str) -> None:
    """Raise ValueError where a source has other directions than this run."""
    ours = [SENSES[each.maximize] for each in goals.objectives]
    theirs = [SENSES[each] for each in maximize]
    if ours != theirs:
        raise ValueError(
            f"known: expected the directions of this run, {', '.join(ours)}, got {what} with {', '.join(theirs)}; "
            "pass pairs of points and values in the sign of this run"
        )


def _rows_of_trial(trial: OptunaTrial, goals: Goals) -> Iterator[TableRow]:
    """Yield the row of a trial that was evaluated."""
    if trial.state.name in (COMPLETE, FAILED):
        values = trial.values or [math.nan] * len(goals.names)
        cells = {**trial.user_attrs, **trial.params, **dict(zip(goals.names, values, strict=True))}
        yield TableRow(f"trial {trial.number}", cells, text=False, optional=trial.state.name == FAILED)


def _rows_of_table(table: "DataFrame") -> Iterator[TableRow]:
    """Yield the rows of a DataFrame as those of a CSV file, with names of several levels joined."""
    names = ["_".join(filter(None, name)) if isinstance(name, tuple) else str(name) for name in table.columns]
    empty = table.isna().to_numpy()
    for i, cells in enumerate(table.itertuples(index=False, name=None)):
        texts = ["" if empty[i, j] else cell_of(scalar(cell)) for j, cell in enumerate(cells)]
        yield TableRow(f"row {table.index[i]}", dict(zip(names, texts, strict=True)))


def _without_prefixes(rows: Iterable[TableRow], goals: Goals) -> Iterator[TableRow]:
    """Yield rows of a table; those of Optuna's tables under our names, without trials that were not evaluated."""
    values = {"value": goals.names[0]} | {f"values_{i}": name for i, name in enumerate(goals.names)}
    values |= {f"values_{name}": name for name in goals.names}
    for row in rows:
        if not (state := row.cells.get(STATE)) or not any(name.startswith(PARAMETER) for name in row.cells):
            yield row
        elif state in (COMPLETE, FAILED):
            cells = _named(row, ATTRIBUTE) | _named(row, PARAMETER)
            cells |= {values[name]: cell for name, cell in row.cells.items() if name in values}
            yield row._replace(cells=cells, optional=state == FAILED)


def _named(row: TableRow, prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): cell for name, cell in row.cells.items() if name.startswith(prefix)}
