"""A journal is an ordinary file, found by whatever path leads to it, and written by one run at a time."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from test_journal import busy, fresh

from lamcts.errors import JournalError
from lamcts.journal import Journal, begun_with
from lamcts.journal.lock import inspect_header, is_written
from lamcts.journal.table import checksum


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def bend(monkeypatch: pytest.MonkeyPatch, step: Callable[[str, sqlite3.Connection], None]) -> None:
    """Have `step` called before each statement of a connection that is opened from now on."""

    class Bent(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            step(sql, self)
            return super().execute(sql, *parameters)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, **kwargs, factory=Bent))


# Paths --------------------------------------------------------------------------------------------------------------


def test_what_is_no_ordinary_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(writer, b"x" * 100)  # who opens and reads it after all is seen, not waited for
    os.mknod(tmp_path / "socket", stat.S_IFSOCK | 0o600)
    (tmp_path / "folder").mkdir()
    before = {path.name: path.lstat().st_mode for path in tmp_path.iterdir()}
    for kind in ("pipe", "socket", "folder"):
        for use in (lambda p: Journal.open(p, fresh().fingerprint()), Journal.read, begun_with):
            with pytest.raises(JournalError, match=f"cannot be opened: it is a {kind}; give the path of a file"):
                use(tmp_path / kind)
    assert {path.name: path.lstat().st_mode for path in tmp_path.iterdir()} == before
    os.close(writer)


def test_an_empty_device_is_not_as_good_as_no_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/null")
    for path in ("/dev/null", tmp_path / "link"):
        for look in (Journal.read, begun_with, inspect_header):  # not open: it might replace the device
            with pytest.raises(JournalError, match="cannot be opened: it is a device"):
                look(str(path))


def test_a_link_that_leads_nowhere_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link.db").symlink_to("there/run.db")
    busy(tmp_path / "link.db", 3)
    assert (tmp_path / "link.db").is_symlink()
    assert names(tmp_path / "there") == ["run.db"] and names(tmp_path) == ["link.db", "there"]
    assert Journal.read(tmp_path / "link.db").n == Journal.read(tmp_path / "there" / "run.db").n == 3


def test_a_link_to_a_journal_is_that_journal_under_the_same_lock(tmp_path: Path) -> None:
    opt = busy(tmp_path / "run.db", 3)
    (tmp_path / "link.db").symlink_to("run.db")
    for first, second in (("run.db", "link.db"), ("link.db", "run.db")):
        with (
            Journal.open(tmp_path / first, opt.fingerprint()),
            pytest.raises(JournalError, match="in use by another run"),
        ):
            Journal.open(tmp_path / second, opt.fingerprint())
    assert names(tmp_path) == ["link.db", "run.db"]


@pytest.mark.parametrize("path", ["results/../run.db", "missing/run.db", "dangling", "sqlite:///run.db"])
def test_a_missing_folder_is_named_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dangling").symlink_to("nowhere/run.db")
    with pytest.raises(
        JournalError, match=r"cannot be made: there is no folder .*(results|missing|nowhere|sqlite.*no address)"
    ):
        Journal.open(path, fresh().fingerprint())
    assert names(tmp_path) == ["dangling"]


@pytest.mark.parametrize("path", ["file:run.db", "file:run.db?mode=memory", "there/../run.db", "%72un.db"])
def test_one_path_is_that_of_the_journal_its_lock_and_its_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    name = path.removeprefix("there/../")
    with Journal.open(path, fresh().fingerprint()) as journal:
        assert journal.path == str(tmp_path / name)
        assert {name, f"{name}-lock"} <= {*names(tmp_path)}
        with pytest.raises(JournalError, match="is in use by another run"):
            Journal.open(name, fresh().fingerprint())
    assert names(tmp_path) == sorted([name, "there"]) and Journal.read(path).n == 0


@pytest.mark.parametrize("path", ["", b"", "run\0.db"])
def test_a_path_that_names_nothing_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (lambda p: Journal.open(p, fresh().fingerprint()), Journal.read, begun_with):
        with pytest.raises(ValueError, match="journal: expected the path of a file, got '"):
            use(path)
    assert not names(tmp_path)


def test_a_path_of_bytes_is_a_path(tmp_path: Path) -> None:
    class Bytes:
        def __fspath__(self) -> bytes:
            return os.fsencode(tmp_path / "r\u00fcn.db")

    path: Any = Bytes()
    assert len(busy(path, 3).seen) == Journal.read(path).n == 3 and begun_with(path) == (0, 4)
    assert names(tmp_path) == ["r\u00fcn.db"]


# Locks --------------------------------------------------------------------------------------------------------------


def test_a_lock_whose_file_went_away_before_it_was_taken_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opt = fresh()
    first, first_is_over, third = Journal.open(tmp_path / "run.db", opt.fingerprint()), [], []

    def pass_on(sql: str, connection: sqlite3.Connection) -> None:
        if not first_is_over:  # the second run has opened the lock file of the first, and not locked it yet
            first_is_over.append(True)
            first.close()
            third.append(Journal.open(tmp_path / "run.db", opt.fingerprint()))

    bend(monkeypatch, pass_on)
    with pytest.raises(JournalError, match="in use by another run"):
        Journal.open(tmp_path / "run.db", opt.fingerprint())
    third[0].close()
    Journal.open(tmp_path / "run.db", opt.fingerprint()).close()
    assert names(tmp_path) == ["run.db"]


def test_a_lock_whose_file_went_away_is_taken_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opt = fresh()
    first, first_is_over = Journal.open(tmp_path / "run.db", opt.fingerprint()), []

    def end(sql: str, connection: sqlite3.Connection) -> None:
        if not first_is_over:
            first_is_over.append(True)
            first.close()

    bend(monkeypatch, end)
    with Journal.open(tmp_path / "run.db", opt.fingerprint()):
        assert names(tmp_path) == ["run.db", "run.db-lock", "run.db-shm", "run.db-wal"]
        with pytest.raises(JournalError, match="in use by another run"):
            Journal.open(tmp_path / "run.db", opt.fingerprint())


def test_what_keeps_a_lock_from_being_taken_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.db-lock").write_text("my notes\n" * 50)
    with pytest.raises(JournalError, match=r"run.db cannot be locked: .*run.db-lock: file is not a database"):
        Journal.open(tmp_path / "run.db", fresh().fingerprint())
    assert names(tmp_path) == ["run.db-lock"]

    def full(sql: str, connection: sqlite3.Connection) -> None:
        if sql == "BEGIN EXCLUSIVE":
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

    bend(monkeypatch, full)
    with pytest.raises(JournalError, match=r"cannot be locked: .*disk is full; has the disk room"):
        Journal.open(tmp_path / "other.db", fresh().fingerprint())


def test_a_run_is_seen_by_its_lock_and_not_by_the_file_of_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    busy(path, 3)
    assert not is_written(path)
    code = "import sqlite3, sys; lock = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    code += "lock.execute('PRAGMA journal_mode = MEMORY'); lock.execute('BEGIN EXCLUSIVE'); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code, f"{path}-lock"], stdin=PIPE, stdout=PIPE) as process:
        assert process.stdout and process.stdout.readline() and is_written(path)
        process.kill()
    assert names(tmp_path) == ["run.db", "run.db-lock"] and not is_written(path)
    (tmp_path / "run.db-lock").write_text("my notes\n" * 50)
    assert not is_written(path)


def test_all_tables_are_read_as_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opt = busy(tmp_path / "run.db")
    n, written = len(opt.seen), []
    connect = sqlite3.connect
    with closing(connect(tmp_path / "run.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")  # as after a kill

    def write(sql: str, connection: sqlite3.Connection) -> None:
        """Another process writes a leader that names a row which was not there when the rows were read."""
        if "FROM leaders" in sql and not written:
            written.append(True)
            db = connect(tmp_path / "run.db", isolation_level=None)
            (numbers,) = db.execute("SELECT numbers FROM rows WHERE row = 0").fetchone()
            for table, fields in (("rows", (n, n, -1, "ok", numbers, None, None)), ("leaders", (n, "[]"))):
                marks = ", ".join("?" * (len(fields) + 1))
                db.execute(f"INSERT INTO {table} VALUES ({marks})", (*fields, checksum(*fields)))
            db.close()

    bend(monkeypatch, write)
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        assert written and journal.recorded().n == n
        opt.ask()
        with pytest.raises(JournalError, match="another process wrote"):
            journal.write(opt.delta(journal.mark))
