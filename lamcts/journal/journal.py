"""The journal of a run: an SQLite file that is the truth, written before `ask` returns and as each result arrives."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib import metadata

from lamcts.errors import JournalError
from lamcts.journal import events, tables
from lamcts.journal.file import begin_writing, connect, create, explained, fill, folded
from lamcts.journal.fingerprint import compare, plain
from lamcts.journal.intermediate_values import Report, put_reports
from lamcts.journal.lock import MEMORY, Lock, identities, inspect_header, named, resolved
from lamcts.journal.recorded import Recorded, load
from lamcts.journal.settings import shown
from lamcts.journal.state import Delta, Mark
from lamcts.journal.table import pack
from lamcts.journal.tables import LEADERS, widths_of
from lamcts.types import Json, JsonValue

Stamp = tuple[int | None, str | None]  # the number of the last event and the entry `core`, which every write changes
STAMP = "SELECT MAX(n) FROM events", "SELECT value FROM meta WHERE key = 'core'"


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
        self.stamp, self._version = self._stamp_now(), self._version_now()
        self._next: tuple[Mark, Stamp] | None = None  # of a write under way
        self._files = identities(path)

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
            journal = cls._locked(path, lock, meta, fingerprint, held)
            if not held:
                lock.release()
        except BaseException:
            lock.release()
            raise
        return journal

    @classmethod
    def _locked(cls, path: str, lock: Lock, meta: Json, fingerprint: Json, held: bool) -> "Journal":
        """Open a journal whose lock is taken first."""
        lock.take()
        if not inspect_header(path):
            create(path, partial(fill, meta=meta))
        connection = connect(path, readonly=False)
        try:
            with explained(path):
                connection.execute("BEGIN")  # one moment for all tables
                journal = cls(path, connection, lock, held)
                connection.execute("COMMIT")
            recorded = journal._recorded
            compare(path, recorded.fingerprint if recorded else {}, fingerprint)
            journal._begin_writing()  # not before: a journal that is refused is left as it is
        except BaseException:
            connection.close()
            raise
        return journal

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Recorded:
        """Return the content of a journal without locking or changing it.

        Parameters
        ----------
        path : path-like
            The file; a run may be writing it meanwhile.

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
        if not inspect_header(path):
            raise JournalError(f"there is no journal at {path}; give the path that the run was given")
        connection = connect(os.path.realpath(path), readonly=True)
        try:
            with explained(path):
                connection.execute("BEGIN")  # one moment for all tables
                recorded = load(connection, path)
                connection.execute("COMMIT")  # nothing is locked if an exception comes before it is closed
            return recorded
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

    def write(
        self,
        delta: Delta,
        memory: JsonValue = None,
        reports: Iterable[Report] = (),
        whole: Delta | None = None,
    ) -> None:
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
        whole : Delta, default None
            Everything since `Mark()`, where evaluations before `mark` were corrected: all are written again.

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
        with self._transaction(until) as db:
            for table in (tables.ROWS, tables.PENDING, LEADERS) if whole else ():
                db.execute(f"DELETE FROM {table.name}")
            self._put(db, whole or delta)
            tables.put_meta(db, {} if memory is None else {"memory": memory})
            put_reports(db, reports)
            events.put_events(db, events.events_of(delta) + ([(events.CORRECT, 0, since.rows)] if whole else []))

    def settle(self) -> None:
        """After an exception in the middle of a write: take note of whether the write is in the file."""
        self._end_transaction()
        if self._next is not None:
            with suppress(JournalError), explained(self.path):
                self._check_files()
                if self._stamp_now() == self._next[1]:
                    self._finish()
        self._next = None

    def copy(self, path: str | os.PathLike[str]) -> None:
        """Write a copy into one file, whole or not at all.

        Parameters
        ----------
        path : path-like
            The file. A journal of the same run is replaced; the file of this journal is left as it is.

        Raises
        ------
        JournalError
            If the file is of another run, in use, damaged, or no journal, or another process wrote to this journal.
        """
        path = resolved(named(path))
        with explained(self.path):
            self._check_files()
            self._check_unchanged()
            fingerprint = tables.read_meta(self._connection, self.path)["fingerprint"]
        if path == self.path:
            return
        inspect_header(path)  # a foreign file is refused before anything is made next to it
        lock = Lock(path)
        try:
            lock.take()
            if inspect_header(path):
                with folded(path) as former:
                    compare(path, tables.read_meta(former, path)["fingerprint"], fingerprint)
            create(path, self._connection.backup)
            lock.release()
        except BaseException:
            lock.release()
            raise

    def _put(self, db: sqlite3.Connection, delta: Delta) -> None:
        tables.put_rows(db, delta)
        tables.put_pending(db, delta, self._sampler)
        tables.put_searches(db, delta, self._sampler)
        LEADERS.put(db, ((row, pack(plain(point), "point")) for row, point in delta.leaders))
        tables.put_meta(db, {"core": delta.core.to_json()})

    def _begin_writing(self) -> None:
        with explained(self.path):
            if not self._is_changed():  # else another process wrote, as the first write will say
                begin_writing(self._connection, self.path)
                self._version, self._files = self._version_now(), identities(self.path)

    def _is_changed(self) -> bool:
        """Return whether the content is another one than was read or written here last."""
        return self._version_now() != self._version or self._stamp_now() != self.stamp

    def _check_unchanged(self) -> None:
        """Raise JournalError where another process wrote."""
        if self._is_changed():
            raise JournalError(
                f"another process wrote to the journal {self.path} meanwhile; nothing more is written here, "
                "open it again"
            )

    def _version_now(self) -> int:
        """Return the number that changes when another connection writes, as long as this one is open."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def _stamp_now(self) -> Stamp:
        """Return what every write changes: the number of the last event, and the entry `core`."""
        last, core = (self._connection.execute(sql).fetchone() for sql in STAMP)
        return last[0], core and core[0]

    def _finish(self) -> None:
        if self._next is not None:
            self.mark, self.stamp = self._next
            self._started, self._next = True, None

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

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self, until: Mark) -> Iterator[sqlite3.Connection]:
        """Write until a mark in one transaction, under the lock."""
        try:
            if self._lock is not None and not self._held:
                self._lock.take()
            with explained(self.path):
                self._check_files()
                self._connection.execute("BEGIN IMMEDIATE")
                self._check_unchanged()
                yield self._connection
                self._next = until, self._stamp_now()
                self._connection.execute("COMMIT")
                self._check_files()
                self._finish()
        finally:
            self._end_transaction()

    def _end_transaction(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # the connection is closed
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        if not self._held:
            self._unlock()

    def _check_files(self) -> None:
        """Raise JournalError where the path names another file by now; open a journal again that lost its log.

        Another process removes the log when it closes the journal as the last one that has it open. SQLite prevents
        that by locks, which this process loses where anything in it opens the file by other means and closes it.
        """
        if self.path == MEMORY or (now := identities(self.path)) == self._files:
            return
        if now[0] != self._files[0]:
            raise JournalError(
                f"the journal {self.path} was removed or replaced while it was open; nothing more is written: put it "
                "back, or go on elsewhere with a copy of it"
            )
        self._files = [now[0], (0, 0)]  # until it is open again: a new log may have the number of the former one
        self._connection.close()
        self._connection = connect(self.path, readonly=False)
        begin_writing(self._connection, self.path)
        self._version, self._files = self._version_now(), identities(self.path)
        if self._next is not None and self._stamp_now() != self._next[1]:
            raise JournalError(f"the journal {self.path} lost its log during a write; do what you did again")


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


def _meta(fingerprint: Json, about: Json | None) -> Json:
    return {
        "fingerprint": plain(fingerprint),
        "about": plain(about or {}),
        "version": metadata.version("lamcts"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "widths": widths_of(fingerprint),
    }
