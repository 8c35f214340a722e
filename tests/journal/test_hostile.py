"""A journal that was damaged, or made to deceive, is refused in words; what it says of itself is not trusted."""

import json
import math
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_journal import busy, edit, sealed

import lamcts
from lamcts.errors import JournalError
from lamcts.journal import Journal, file


def refused(path: Path, words: str, fingerprint: dict[str, Any]) -> None:
    for use in (Journal.read, lambda p: Journal.open(p, fingerprint)):
        with pytest.raises(JournalError, match=words):
            use(path)


def test_a_trigger_that_bears_the_name_of_a_table_is_seen(tmp_path: Path) -> None:
    opt = busy(tmp_path / "run.db")
    edit(
        tmp_path / "run.db",
        "CREATE TRIGGER events AFTER INSERT ON rows BEGIN DELETE FROM rows WHERE row < 10; END",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET rowid = 1000 + 10 * rowid",
        "UPDATE sqlite_master SET rowid = 1085 WHERE type = 'trigger'",  # before the table events
    )
    refused(tmp_path / "run.db", "these differ: events", opt.fingerprint())


def test_bad_bytes_in_the_schema_and_in_texts_are_damage(tmp_path: Path) -> None:
    opt = busy(tmp_path / "run.db")
    whole = (tmp_path / "run.db").read_bytes()
    for text, bad in ((b"CREATE TABLE rows", b"CREATE TABLE r\xffws"), (b"no luck", b"no l\xffck")):
        assert text in whole
        (tmp_path / "run.db").write_bytes(whole.replace(text, bad))
        refused(tmp_path / "run.db", "is damaged", opt.fingerprint())


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE events SET time = time + 1 WHERE n = 3", "events: number 3 fails its checksum"),
        ("UPDATE events SET kind = 'ask' WHERE n = 1", "events: number 1 fails its checksum"),
        ("UPDATE events SET n = 1000 WHERE n = 3", "events: number 1000 fails its checksum"),
        ("DELETE FROM events WHERE n = 3", "events are missing"),
        ("UPDATE meta SET key = 'core2' WHERE key = 'core'", "meta: number core2 fails its checksum"),
        ("DELETE FROM meta WHERE key = 'core'", "expected an entry core"),
        (
            "UPDATE leaders SET row = row + 1 WHERE row = (SELECT MAX(row) FROM leaders)",
            r"leaders: number \d+ fails its checksum",
        ),
        ("UPDATE sessions SET number = number + 50", r"sessions: number \d+ fails its checksum"),
        ("UPDATE checks SET n = 7 WHERE n = 1", "checks: number 7 fails its checksum"),
        ("PRAGMA user_version = 1", "has format 1, from before the first release.*give another path"),
    ],
)
def test_keys_and_events_are_within_the_checksums(tmp_path: Path, statement: str, words: str) -> None:
    opt = busy(tmp_path / "run.db")
    with closing(sqlite3.connect(tmp_path / "run.db", isolation_level=None)) as db:  # as older versions wrote them
        for n in range(2):
            numbers = np.array([0.9, 0.1]).tobytes()
            db.execute(*sealed("checks", n=n, row=0, repeat=n + 1, numbers=numbers, message=None))
    edit(tmp_path / "run.db", statement)
    refused(tmp_path / "run.db", words, opt.fingerprint())


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("count", "many", "whole numbers"),
        ("first", 1.5, "whole numbers"),
        ("time", "noon", "a time in seconds"),
        ("count", 10_000, "events name row"),
        ("first", -2, "events name row -2"),
    ],
)
def test_an_event_of_the_wrong_kind_is_refused_even_with_a_right_checksum(
    tmp_path: Path, field: str, value: Any, words: str
) -> None:
    opt = busy(tmp_path / "run.db")
    event = {"n": 1, "kind": "tell", "first": 0, "count": 1, "time": 1.0}
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    db.execute(*sealed("events", **event))
    assert math.isclose(Journal.read(tmp_path / "run.db").times[0], 1.0)  # as it should be
    db.execute(*sealed("events", **event | {field: value}))
    db.close()
    refused(tmp_path / "run.db", words, opt.fingerprint())


@pytest.mark.parametrize(
    "entries",
    [
        {"trials": {}},
        {"searches": True},
        {"designed": -1},
        {"trials": 10**30},
        {"converged": True},
        {"converged": [[1]]},
        {"rng": {}},
        {"rng": {"bit_generator": "PCG64", "state": {"state": "x", "inc": 1}, "has_uint32": 0, "uinteger": 0}},
        {"more": 1},
    ],
    ids=str,
)
def test_a_core_of_the_wrong_kind_is_refused_alike_by_all_readers(tmp_path: Path, entries: dict[str, Any]) -> None:
    path = tmp_path / "run.db"
    opt = busy(path)
    core = vars(Journal.read(path).core) | entries
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(*sealed("meta", key="core", value=json.dumps(core)))
    refused(path, "the entry core is not as it was written", opt.fingerprint())
    with pytest.raises(JournalError, match="the entry core is not as it was written"):
        lamcts.load(path)


def test_a_journal_whose_writer_was_killed_while_it_closed_the_file_is_read(tmp_path: Path) -> None:
    busy(tmp_path / "run.db")
    rows, left = Journal.read(tmp_path / "run.db").n, tmp_path / "left"
    left.mkdir()
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    db.execute("PRAGMA cache_size = 1")  # pages are written before the transaction ends
    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT INTO events VALUES (?, ?, 0, 0, 0.0, 0)", [(1000 + n, "x" * 100) for n in range(200)])
    for name in ("run.db", "run.db-journal"):
        shutil.copy(tmp_path / name, left / name)
    db.close()
    assert Journal.read(left / "run.db").n == rows  # before: attempt to write a readonly database
    assert not (left / "run.db-journal").exists()


def test_a_journal_that_is_refused_is_left_as_it_is(tmp_path: Path) -> None:
    path, opt = tmp_path / "run.db", busy(tmp_path / "run.db")
    whole = path.read_bytes()
    with pytest.raises(JournalError, match="is of another run: seed"):
        Journal.open(path, opt.fingerprint() | {"seed": 99})
    assert path.read_bytes() == whole
    at = whole.index(b"no luck")  # inside a row: its checksum is read after the file was opened
    path.write_bytes(spoilt := whole[:at] + b"On" + whole[at + 2 :])
    with pytest.raises(JournalError, match="is damaged"):
        Journal.open(path, opt.fingerprint())
    assert path.read_bytes() == spoilt and [each.name for each in tmp_path.iterdir()] == ["run.db"]


def test_a_log_of_changes_that_the_header_denies_is_refused(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()

    def crash(result: Any) -> None:
        if result.nfev == 5:
            for name in ("run.db", "run.db-wal"):
                shutil.copy(tmp_path / name, kept / name)

    def go(path: Path, **more: Any) -> None:
        given = {"budget": 8, "seed": 0, "sampler": "uniform"} | more
        lamcts.minimize(lambda x: float(x[0]), lamcts.Box(0, 1, dim=2), journal=path, **given)

    go(tmp_path / "run.db", callback=crash)
    whole = (kept / "run.db").read_bytes()
    (kept / "run.db").write_bytes(whole[:18] + b"\1\1" + whole[20:])
    with pytest.raises(JournalError, match="does not know of the changes in"):
        go(kept / "run.db")
    (kept / "run.db").write_bytes(whole)
    assert len(lamcts.load(kept / "run.db").history) == 5


def test_a_journal_that_is_closed_while_another_opens_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opts = [lamcts.Optimizer(lamcts.Box(0, 1, dim=2), seed=0, journal=tmp_path / "run.db")]
    opts[0].tell(opts[0].ask(), [1.0])
    assert (tmp_path / "run.db-wal").stat().st_size
    real = file.unchanged_database

    def closed(path: Any) -> Any:
        opts.clear()
        return real(path)

    monkeypatch.setattr(file, "unchanged_database", closed)
    assert len(lamcts.load(tmp_path / "run.db").history) == 1


def test_text_that_a_flipped_bit_made_bytes_is_refused(tmp_path: Path) -> None:
    busy(tmp_path / "run.db")
    edit(tmp_path / "run.db", "UPDATE events SET kind = CAST(kind AS BLOB) WHERE n = 4")  # its checksum stays right
    with pytest.raises(JournalError, match="events: number 4 fails its checksum"):
        Journal.read(tmp_path / "run.db")
