"""The journal of a run: an SQLite file that is the truth, written before `ask` returns and as each result arrives."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np

from lamcts.errors import JournalError
from lamcts.journal import events, tables
from lamcts.journal.file import begin_writing, connect, create, explained, fill
from lamcts.journal.fingerprint import compare, plain
from lamcts.journal.intermediate_values import Report, put_reports
from lamcts.journal.lock import MEMORY, Lock, inspect_header, named, resolved
from lamcts.journal.recorded import Recorded, load
from lamcts.journal.table import pack
from lamcts.journal.tables import LEADERS, widths_of
from lamcts.optimizer.settings import shown
from lamcts.optimizer.state import Delta
from lamcts.outcomes.goals import VALUE
from lamcts.types import Json, JsonValue
from lamcts.utils.files import FileKind, is_kind

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer


class Journal:
    """An open journal: `write(delta)` writes what is new since `mark`, `recorded().state` is the whole state.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.journal import Journal
    >>> opt = lamcts.Optimizer([(0, 1)] * 2, seed=0)
    >>> with Journal.open(":memory:", opt.fingerprint()) as journal:
    ...     if journal.started:  # a run that goes on
    ...         opt.restore(journal.recorded().state)
    ...     trials = opt.ask(4)
    ...     journal.write(opt.delta(journal.mark))  # before the evaluations start
    ...     opt.tell(trials, [sum(trial.point) for trial in trials])
    ...     journal.write(opt.delta(journal.mark))
    ...     journal.recorded().n
    4
    """

    def __init__(self, path: str, connection: sqlite3.Connection, lock: Lock | None, held: bool = True) -> None:
        self.path = path
        self._connection, self._lock, self._held = connection, lock, held
        recorded = load(connection, path)
        self.mark = recorded.mark  # it knows no search until all were written once: since opening, or an error
        self._started = recorded.core is not None
        self._sampler = shown(recorded.fingerprint.get("sampler"))
        self._recorded: Recorded | None = recorded  # kept until the first write, so that it need not be read again
        self._version = self._version_now()

    # Opening --------------------------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], fingerprint: Json, about: Json | None = None, held: bool = True
    ) -> "Journal":
        """Open a journal for writing, or create one.

        Parameters
        ----------
        path : path-like
            The file; ":memory:" makes a journal that leaves no file.
        fingerprint : dict
            The settings of the run, from `Optimizer.fingerprint()`.
        about : dict or None, default None
            JSON values that describe the run to readers; those of the first opening are kept.
        held : bool, default True
            Whether the journal is locked until it is closed. Else it is locked for each write only, and the first write
            after one of another process is refused.

        Returns
        -------
        Journal
            The open journal.

        Raises
        ------
        JournalError
            If the journal is of another run (the message names the field), in use, damaged, or another file.
        """
        path, meta = named(path), _meta(fingerprint, about)
        if path == MEMORY:
            connection = sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
            fill(connection, meta)
            return cls(path, connection, None)
        inspect_header(path := resolved(path))  # a foreign file is refused before anything is made next to it
        lock = Lock(path)
        try:
            if not inspect_header(path):
                create(path, meta)
            connection = connect(path, readonly=False)
            try:
                with explained(path):
                    connection.execute("BEGIN")  # one moment for all tables
                    journal = cls(path, connection, lock, held)
                    connection.execute("COMMIT")
                recorded = journal._recorded
                compare(path, recorded.fingerprint if recorded else {}, fingerprint)
                journal._begin_writing()  # not before: a journal that is refused is left as it is
                if not held:
                    journal._unlock()
            except BaseException:
                connection.close()
                raise
        except BaseException:
            lock.release()
            raise
        return journal

    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        opt: "Optimizer",
        about: Json | None = None,
        own: Json | None = None,
        held: bool = True,
    ) -> "Journal":
        """Open the journal of a fresh optimizer, which takes over what the journal holds.

        Parameters
        ----------
        path, about, held
            As `open` takes them.
        opt : Optimizer
            The optimizer.
        own : dict or None, default None
            JSON values that belong to the fingerprint of the run and not to the optimizer.

        Returns
        -------
        Journal
            The open journal.

        Raises
        ------
        ValueError
            If the sampler cannot be resumed.
        JournalError
            As `open` does, and if the optimizer refuses the state.
        """
        if not opt.sampler.resumable:
            raise ValueError(
                f"journal: the sampler {opt.sampler!r} cannot be resumed; take another, or leave out the journal"
            )
        about = dict(about or {}) | ({"noisy": opt.noisy} if opt.noisy else {})
        if opt.goals.plain and opt.goals.names != (VALUE,):
            about["objectives"] = list(opt.goals.names)  # the fingerprint has the names of several only
        if opt.goals.reference is not None:
            about["reference"] = list(opt.goals.reference)
        journal = cls.open(path, opt.fingerprint() | (own or {}), about, held)
        try:
            if journal.started:
                opt.restore(replace(journal.recorded().state, fingerprint=opt.fingerprint()))  # they were compared
        except ValueError as error:
            journal.close()
            raise JournalError(
                f"the journal {journal.path} holds a state that cannot be taken over ({error}); "
                "go back to a copy of it, or start a new one elsewhere"
            ) from error
        return journal

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Recorded:
        """Return the content of a journal without locking or changing it.

        Parameters
        ----------
        path : path-like
            The file; a run may be writing it meanwhile. A file of `Optimizer.save` is read as well.

        Returns
        -------
        Recorded
            The content at one moment.

        Raises
        ------
        JournalError
            If there is no journal at `path`, or it is damaged.
        """
        path = named(path)
        if is_kind(path, FileKind.STATE):
            return _saved(path)
        if not inspect_header(path):
            raise JournalError(f"there is no journal at {path}; give the path that the run was given")
        connection = connect(os.path.realpath(path), readonly=True)
        try:
            with explained(path):
                connection.execute("BEGIN")  # one moment for all tables
                return load(connection, path)
        finally:
            connection.close()

    @property
    def started(self) -> bool:
        """Whether an optimizer was ever recorded here."""
        return self._started

    def recorded(self) -> Recorded:
        """Return all that is in the journal now."""
        if self._recorded is not None:
            return self._recorded
        with explained(self.path):
            return load(self._connection, self.path)

    # Writing --------------------------------------------------------------------------------------------------------

    def write(self, delta: Delta, memory: JsonValue = None, reports: Iterable[Report] = ()) -> None:
        """Write what is new since `mark`, in one transaction.

        Parameters
        ----------
        delta : Delta
            The changes, from `Optimizer.delta(journal.mark)`.
        memory : JSON value, default None
            The new `recorded().memory`; None leaves it as it is.
        reports : iterable of (int, int, tuple of float), default ()
            Trial, step and losses of each report of the trials that are told now, a loss for each objective; inf for
            nan.

        Raises
        ------
        JournalError
            If the changes do not begin at `mark`, or another process wrote to the journal.
        """
        since, until = delta.since, delta.until
        if since != self.mark or until.rows < since.rows or until.trials < since.trials:
            raise JournalError(
                f"write: this journal holds {self.mark.rows} evaluations, the optimizer {until.rows}; "
                "expected what is new since journal.mark, of the optimizer that took over recorded().state"
            )
        self.mark, self._recorded = replace(self.mark, searches=None), None  # should anything go wrong
        with self._transaction() as db:
            self._put(db, delta)
            tables.put_meta(db, {} if memory is None else {"memory": memory})
            put_reports(db, reports)
            events.put_events(db, events.events_of(delta))
        self.mark, self._started = until, True

    def rewrite(self, whole: Delta) -> None:
        """Write all evaluations again, of which some were corrected; `whole` is everything since `Mark()`."""
        self._recorded = None
        with self._transaction() as db:
            for table in (tables.ROWS, tables.PENDING, LEADERS):
                db.execute(f"DELETE FROM {table.name}")
            self._put(db, whole)
        self.mark = whole.until

    def _put(self, db: sqlite3.Connection, delta: Delta) -> None:
        tables.put_rows(db, delta)
        tables.put_pending(db, delta, self._sampler)
        tables.put_searches(db, delta, self._sampler)
        LEADERS.put(db, ((row, pack(plain(point), "point")) for row, point in delta.leaders))
        tables.put_meta(db, {"core": vars(delta.core)})

    def _begin_writing(self) -> None:
        with explained(self.path):
            if self._version_now() == self._version:  # else another process wrote, as the first write will say
                begin_writing(self._connection, self.path)
                self._version = self._version_now()

    def _version_now(self) -> int:
        """Return the number that changes when another connection writes."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def close(self) -> None:
        """Close the file; a journal that was closed is one single file."""
        try:
            with explained(self.path):
                self._connection.execute("PRAGMA journal_mode = DELETE")
        except JournalError:
            pass  # someone reads it just now: the file stays in WAL mode, which is as good
        finally:
            self._connection.close()
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if not self._held:
            self._lock = Lock(self.path)
        try:
            with self._begun() as db:
                yield db
        finally:
            if not self._held:
                self._unlock()

    @contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        with explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                if self._version_now() != self._version:
                    raise JournalError(
                        f"another process wrote to the journal {self.path} meanwhile; nothing more is written here, "
                        "open it again"
                    )
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def begun_with(path: str | os.PathLike[str]) -> tuple[int | None, int | None]:
    """Return the seed and the size of the initial design of a recorded run.

    Parameters
    ----------
    path : path-like
        The journal.

    Returns
    -------
    tuple of (int or None, int or None)
        The seed and the size of the initial design; None where there is no journal, or it does not hold them.

    Examples
    --------
    >>> from lamcts.journal import begun_with
    >>> begun_with(":memory:")
    (None, None)
    """
    path = named(path)
    if path == MEMORY or not inspect_header(path):
        return None, None
    held = Journal.read(path).fingerprint
    seed, design = held.get("seed"), held.get("design")
    n_init = design.get("n_init") if isinstance(design, dict) else None
    return seed if isinstance(seed, int) else None, n_init if isinstance(n_init, int) else None


def _saved(path: str) -> Recorded:
    """Return the content of a file of `Optimizer.save` as that of a journal; times are not known."""
    from lamcts.optimizer.saving import read, read_evaluations

    _, state = read(path)
    opt = read_evaluations(path)
    with Journal.open(MEMORY, opt.fingerprint()) as journal:
        journal.write(opt.delta(journal.mark))
        recorded = journal.recorded()
    created = datetime.fromtimestamp(os.path.getmtime(path), UTC).isoformat(timespec="seconds")
    times = np.full(recorded.n, np.nan)
    return replace(recorded, path=path, fingerprint=state["fingerprint"], created=created, times=times)


def _meta(fingerprint: Json, about: Json | None) -> Json:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "fingerprint": plain(fingerprint),
        "about": plain(about or {}),
        "version": metadata.version("lamcts"),
        "created": created,
        "widths": widths_of(fingerprint),
    }
