"""Several journals merged into one: the evaluations of runs of one space and the same goals."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from lamcts.errors import JournalError
from lamcts.journal.intermediate_values import Report, reports_of
from lamcts.journal.journal import Journal
from lamcts.journal.lock import inspect_header, named
from lamcts.journal.recorded import Recorded
from lamcts.optimizer.settings import difference
from lamcts.optimizer.state import Core, Delta, Mark
from lamcts.outcomes.observations import Columns
from lamcts.text import shortened
from lamcts.types import Json, Rows

Entry = TypeVar("Entry")
SHARED = ("format", "space", "maximize", "objectives", "constraints", "objective")  # entries of fingerprints


class _Part(NamedTuple):
    """A run with the rows that are kept, and what its rows, trials and searches are numbered from in the new file."""

    record: Recorded
    core: Core
    rows: Rows
    first_row: int
    first_trial: int
    first_search: int

    @property
    def moved(self) -> dict[int, int]:
        """The new numbers of the rows that are kept."""
        return {row: self.first_row + i for i, row in enumerate(self.rows.tolist())}

    @property
    def columns(self) -> Columns:
        x, f, seconds, trial, source, g, kind = self.record.columns
        rows, trial, source = self.rows, trial[self.rows], source[self.rows]
        trial = np.where(trial >= 0, trial + self.first_trial, -1)
        source = np.where(source >= 0, source + self.first_search, source)
        return Columns(x[rows], f[rows], seconds[rows], trial, source, g[rows], kind[rows])


def merge(
    paths: Sequence[str | os.PathLike[str]], into: str | os.PathLike[str], *, only: str | None = None
) -> Recorded:
    """Write the evaluations of several journals into a new one, and return its content.

    Parameters
    ----------
    paths : list of paths
        Journals of runs with one space and the same goals; the runs may still go on.
    into : path
        The new file. A run with the settings and the seed of the first journal can resume from it.
    only : str or None, default None
        The kind of evaluations to keep: "ok", "failed", "checked", "pruned" or "feasible". None keeps all.

    Returns
    -------
    Recorded
        The content of the new journal.

    Raises
    ------
    JournalError
        If the journals differ in space or goals (the message names the difference), hold nothing, or `into` exists.

    Notes
    -----
    Evaluations keep values, standard errors, metrics, messages, seconds, reports and re-evaluations. Trials of later
    journals get new numbers. A known evaluation that another journal holds as well is kept once. Pending trials and the
    state of searches are left out: a run that resumes begins a new search on all evaluations.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.journal import merge
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     paths = [f"{folder}/{seed}.db" for seed in range(2)]
    ...     for seed, path in enumerate(paths):
    ...         _ = lamcts.minimize(lambda x: x[0] ** 2, [(-1, 1)], budget=12, seed=seed, journal=path)
    ...     merge(paths, f"{folder}/merged.db").n
    24
    """
    records = [Journal.read(path) for path in paths]
    if inspect_header(target := named(into)):
        raise JournalError(f"merge: expected a new file, got {target}, which exists; give another path")
    _check_alike(records)
    parts = [*_parts(records, only)]
    if not any(len(part.rows) for part in parts):
        kind = "" if only is None else f" of the kind {only!r}"
        where = ", ".join(record.path for record in records)
        raise JournalError(f"merge: expected evaluations{kind}, got none in {where}")
    first = records[0]
    with Journal.open(target, first.fingerprint, first.about | {"merged": [record.path for record in records]}) as made:
        made.write(_delta(parts), first.memory, [report for part in parts for report in _reports(part)])
        return made.recorded()


def _check_alike(records: Sequence[Recorded]) -> None:
    """Raise JournalError that names the first difference of spaces or goals; warn where functions have other names."""
    first, *others = records
    ours = _shared(first)
    for other in others:
        if found := difference(_shared(other), ours):
            raise JournalError(
                f"merge: expected runs of one space and the same goals, got {found.name} "
                f"{shortened(found.theirs)} in {other.path} and {shortened(found.ours)} in {first.path}: leave one out"
            )
        names = first.about.get("objective"), other.about.get("objective")
        if None not in names and names[0] != names[1]:
            text = f"merge: {other.path} holds values of {names[1]!r}, {first.path} those of {names[0]!r}"
            warnings.warn(
                f"{text}: where they are different functions, do not merge them", RuntimeWarning, stacklevel=3
            )


def _shared(record: Recorded) -> Json:
    return {name: record.fingerprint.get(name) for name in SHARED} | {"names": list(record.goals.names)}


def _parts(records: Sequence[Recorded], only: str | None) -> Iterator[_Part]:
    """Yield the runs that hold evaluations; of known ones, those that no run has evaluated, each once."""
    held = {key for record in records for key, trial in zip(_keys(record), record.trial, strict=True) if trial >= 0}
    row = trial = search = 0
    for record in records:
        if record.core is None or not record.n:
            continue
        kept = []
        for i, key in enumerate(_keys(record)):
            if record.trial[i] >= 0 or key not in held:
                kept.append(i)
                held.add(key)
        rows = np.intersect1d(np.array(kept, np.int64), record.rows_of_kind(only))
        yield _Part(record, record.core, rows, row, trial, search)
        row, trial, search = row + len(rows), trial + record.core.trials, search + record.core.searches


def _keys(record: Recorded) -> list[bytes]:
    """Return what equal evaluations share, of each row."""
    return [row.tobytes() for row in np.column_stack([record.x, record.columns.f, record.columns.g]) + 0.0]


def _reports(part: _Part) -> list[Report]:
    """Return the intermediate values of the trials that are kept, under their new numbers."""
    told, curves = {*part.record.trial[part.rows].tolist()}, part.record.curves
    return [
        (part.first_trial + trial, step, losses)
        for trial in curves[0]
        if trial in told
        for _, step, losses in reports_of(curves, trial)
    ]


def _delta(parts: Sequence[_Part]) -> Delta:
    """Return what a journal without rows has to be told."""
    columns = Columns(*map(np.concatenate, zip(*(part.columns for part in parts), strict=True)))
    core = _core(parts)
    leaders = [*_joined(parts, lambda record: dict(record.leaders)).items()]
    return Delta(
        since=Mark(),
        until=Mark(len(columns.x), core.trials, frozenset(), leaders[-1][0] if leaders else None, {}),
        columns=columns,
        failures=_joined(parts, lambda record: record.failures),
        issued=[],
        closed=[],
        searches={},
        ended=[],
        core=core,
        leaders=leaders,
        proposers=_joined(parts, lambda record: record.proposers),
        predicted=_joined(parts, lambda record: record.predicted),
        points=_joined(parts, lambda record: record.exact),
        metrics=_joined(parts, lambda record: record.metrics),
        sems=_joined(parts, lambda record: record.sems),
    )


def _joined(parts: Sequence[_Part], entries: Callable[[Recorded], Mapping[int, Entry]]) -> dict[int, Entry]:
    """Return what all runs hold of their kept rows, by new row."""
    pairs = [(part.moved, entries(part.record)) for part in parts]
    return {moved[row]: entry for moved, held in pairs for row, entry in held.items() if row in moved}


def _core(parts: Sequence[_Part]) -> Core:
    """Return the state of all runs together; the design and the random numbers are those of the first."""
    cores = [part.core for part in parts]
    return Core(
        trials=sum(core.trials for core in cores),
        designed=cores[0].designed,
        rng=cores[0].rng,
        searches=sum(core.searches for core in cores),
        converged=[*_joined(parts, lambda record: dict.fromkeys(record.core.converged if record.core else []))],
    )
