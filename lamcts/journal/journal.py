"""The journal of a run: an SQLite file that is the truth, written before `ask` returns and as each result arrives."""

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any

from lamcts.errors import JournalError
from lamcts.journal.file import checksum, connect, create, explained, fill, pack
from lamcts.journal.fingerprint import compare, plain
from lamcts.journal.place import MEMORY, Lock, inspect_header, named, resolved
from lamcts.journal.recorded import Check, Recorded, load, numbers_of
from lamcts.trial import Trial

if TYPE_CHECKING:
    from lamcts.optimizer import Optimizer


class Journal:
    """An open journal. `record(opt)` writes what is new; `state()` is what `opt.load_state_dict` takes.

    with Journal.open("run.db", opt.fingerprint()) as journal:
        if journal.started:
            opt.load_state_dict(journal.state())
        trials = opt.ask(4)
        journal.record(opt)                          # before the evaluations start
        opt.tell(trials, values)
        journal.record(opt)
    """

    def __init__(self, path: str, connection: sqlite3.Connection, lock: Lock | None) -> None:
        self.path = path
        self._connection, self._lock = connection, lock
        self._whole = False  # whether all sessions were written since opening; until then, and after an error, all are
        recorded = load(connection, path)
        self._started = recorded.core is not None
        self._rows = recorded.n
        self._pending = {entry["id"] for entry in recorded.pending}
        self._issued = max([-1, *self._pending, *recorded.trial.tolist()]) + 1
        self._leader = recorded.leaders[-1][0] if recorded.leaders else None
        self._log: dict[int, int] = {}  # session -> entries written
        self._recorded: Recorded | None = recorded  # kept until the first record() so that state() need not read again
        (self._version,) = connection.execute("PRAGMA data_version").fetchone()

    # Opening --------------------------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], fingerprint: dict[str, Any], about: dict[str, Any] | None = None
    ) -> "Journal":
        """Open the journal at `path` for writing, or make one; ":memory:" makes one that leaves no file.

        `fingerprint` as `Optimizer.fingerprint()` gives it: one that differs from the journal's is a JournalError
        naming the field. `about`: any JSON values on the run, for whoever reads it later (kept from the first opening).
        """
        path = resolved(named(path))
        meta = _meta(fingerprint, about)
        if path == MEMORY:
            connection = sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
            fill(connection, meta)
            return cls(path, connection, None)
        inspect_header(path)  # a foreign file is refused before anything is made beside it
        lock = Lock(path)
        try:
            if not inspect_header(path):
                create(path, meta)
            connection = connect(path, readonly=False)
            try:
                with explained(path):
                    connection.execute("BEGIN")  # one moment for all tables
                    journal = cls(path, connection, lock)
                    connection.execute("COMMIT")
                recorded = journal._recorded
                compare(path, recorded.fingerprint if recorded else {}, fingerprint)
            except BaseException:
                connection.close()
                raise
        except BaseException:
            lock.release()
            raise
        return journal

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Recorded:
        """Return all that a journal holds, without locking or changing it; a run may be writing it meanwhile."""
        path = named(path)
        if not inspect_header(path):
            raise JournalError(f"there is no journal at {path}; give the path that the run was given")
        connection = connect(path, readonly=True)
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

    def state(self) -> dict[str, Any]:
        """Return the last recorded state, as `Optimizer.load_state_dict` takes it; RuntimeError if there is none."""
        if not self.started:
            raise RuntimeError("state: nothing was recorded in this journal yet; call record(opt) first")
        return self.recorded().state()

    def recorded(self) -> Recorded:
        """Return all that is in the journal now."""
        if self._recorded is not None:
            return self._recorded
        with explained(self.path):
            return load(self._connection, self.path)

    # Writing --------------------------------------------------------------------------------------------------------

    def record(self, opt: "Optimizer", memory: Any = None) -> None:
        """Write all that is new in `opt` since the last call, in one transaction: all of it or nothing.

        `memory`: JSON values that stand in `recorded().memory` from then on; None leaves those that do.
        """
        n, pending = len(opt.seen), {trial.id: trial for trial in opt.pending}
        if n < self._rows:
            raise JournalError(
                f"record: this journal holds {self._rows} evaluations, the optimizer {n}; "
                "expected the one that took over journal.state()"
            )
        new = range(self._rows, n)
        told = {int(opt.seen.trial[row]) for row in new}
        asked = sorted({i for i in (*pending, *told) if i >= self._issued})
        forgotten = sorted(self._pending - pending.keys() - told)
        events = [("ask", asked[0], len(asked))] if asked else []
        events += [("tell", new[0], len(new))] if new else []
        events += [("forget", i, 1) for i in forgotten]
        changes = opt.changes()
        whole, self._whole = self._whole, False
        with self._transaction() as db:
            _put(db, "pending", 5, (_pending(trial) for i, trial in pending.items() if i not in self._pending))
            db.executemany("DELETE FROM pending WHERE id = ?", [(i,) for i in self._pending - pending.keys()])
            _put(db, "rows", 6, (_row(opt, row) for row in new))
            if opt.seen.best is not None and opt.seen.best != self._leader:
                point = pack(plain(opt.best.point), "point")
                _put(db, "leaders", 3, [(opt.seen.best, point, checksum(opt.seen.best, point))])
            logged = self._write_sessions(db, changes if whole else None, opt)
            kept = {"core": changes["core"]} | ({} if memory is None else {"memory": memory})
            texts = [(key, pack(value, key)) for key, value in kept.items()]
            _put(db, "meta", 3, [(key, text, checksum(key, text)) for key, text in texts])
            self._events(db, events)
        self._rows, self._pending, self._leader = n, set(pending), opt.seen.best
        self._issued = max([self._issued, *(i + 1 for i in asked)])
        self._log, self._whole, self._started, self._recorded = logged, True, True, None

    def check(self, check: Check) -> None:
        """Write one re-evaluation of a row."""
        numbers = numbers_of([check.loss, check.seconds])
        fields = (check.row, check.repeat, numbers, check.message)
        with self._transaction() as db:
            _append(db, "checks", 6, [fields])
            self._events(db, [("check", check.row, 1)])
        self._recorded = None

    def close(self) -> None:
        """Close the file; a journal that was closed is one single file."""
        try:
            with explained(self.path):
                self._connection.execute("PRAGMA journal_mode = DELETE")
        except JournalError:
            pass  # someone reads it just now: the file stays in WAL mode, which is as good
        finally:
            self._connection.close()
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_sessions(
        self, db: sqlite3.Connection, changes: dict[str, Any] | None, opt: "Optimizer"
    ) -> dict[int, int]:
        """Write the changed sessions (without `changes`: all of them, from nothing); return entries logged by each."""
        logged = {} if changes is None else dict(self._log)
        if changes is None:
            db.execute("DELETE FROM sessions")
            db.execute("DELETE FROM log")
            sessions: dict[str, Any] = opt.state_dict()["sessions"]
        else:
            sessions = changes["sessions"]
            ended = [(int(number),) for number in changes["ended"]]
            db.executemany("DELETE FROM sessions WHERE number = ?", ended)
            db.executemany("DELETE FROM log WHERE session = ?", ended)
            for (number,) in ended:
                logged.pop(number, None)
        for key, session in sessions.items():
            number, start = int(key), logged.get(int(key), 0)
            text = pack(session["state"], f"the state of {opt.sampler!r}")
            _put(db, "sessions", 3, [(number, text, checksum(number, text))])
            entries = [pack(entry, f"the log of {opt.sampler!r}") for entry in session["log"]]
            _put(db, "log", 4, ((number, start + i, e, checksum(number, start + i, e)) for i, e in enumerate(entries)))
            logged[number] = start + len(entries)
        return logged

    def _events(self, db: sqlite3.Connection, events: list[tuple[str, int, int]]) -> None:
        now = time.time()
        _append(db, "events", 6, [(*event, now) for event in events])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                (version,) = self._connection.execute("PRAGMA data_version").fetchone()
                if version != self._version:
                    raise JournalError(
                        f"another process wrote to the journal {self.path} meanwhile; nothing more is written"
                    )
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def seed_of(path: str | os.PathLike[str]) -> int | None:
    """Return the seed of the run that a journal holds, or None where there is no journal yet."""
    path = named(path)
    if path == MEMORY or not inspect_header(path):
        return None
    seed = Journal.read(path).fingerprint.get("seed")
    return seed if isinstance(seed, int) else None


def _meta(fingerprint: dict[str, Any], about: dict[str, Any] | None) -> dict[str, Any]:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "fingerprint": plain(fingerprint),
        "about": plain(about or {}),
        "version": metadata.version("lamcts"),
        "created": created,
    }


def _pending(trial: Trial) -> tuple[Any, ...]:
    fields = (trial.id, trial.session, trial.tag, numbers_of(trial.x))
    return (*fields, checksum(*fields))


def _row(opt: "Optimizer", row: int) -> tuple[Any, ...]:
    seen = opt.seen
    numbers = numbers_of([seen.y[row], seen.seconds[row], *seen.x[row]])
    fields = (row, int(seen.trial[row]), int(seen.source[row]), numbers, opt.failures.get(row))
    return (*fields, checksum(*fields))


def _put(db: sqlite3.Connection, table: str, width: int, rows: Iterable[tuple[Any, ...]]) -> None:
    db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * width)})", rows)


def _append(db: sqlite3.Connection, table: str, width: int, rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows that have no number of their own; they go on where the table ends."""
    (start,) = db.execute(f"SELECT COALESCE(MAX(n) + 1, 0) FROM {table}").fetchone()
    _put(db, table, width, ((n, *row, checksum(n, *row)) for n, row in enumerate(rows, start)))
