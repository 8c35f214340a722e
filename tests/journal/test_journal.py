"""The journal keeps what an optimizer knows, all of it or nothing, and refuses what is not its own."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.errors import JournalError
from lamcts.journal import Journal
from lamcts.journal.table import checksum
from lamcts.journal.tables import TABLES
from lamcts.optimizer import Optimizer
from lamcts.spaces.box import Box

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
from stroll import Stroll

SPACE = Box(-1, 1, dim=3)


def fresh(seed: int = 0, **settings: Any) -> Optimizer:
    return Optimizer(SPACE, seed=seed, sampler=Stroll(), n_init=4, **settings)


def sphere(point: np.ndarray) -> float:
    return float(((point - 0.3) ** 2).sum())


def busy(path: Path | str, n: int = 30, opt: Optimizer | None = None) -> Optimizer:
    """Record `n` evaluations, some failed, two forgotten, three still out; return the optimizer."""
    opt = opt or fresh()
    with Journal.open(path, opt.fingerprint(), {"objective": "sphere"}) as journal:
        for i in range(n):
            trials = opt.ask(2 if i % 5 == 0 else 1)
            journal.write(opt.delta(journal.mark))
            if i % 13 == 5:
                opt.forget(trials[0])
            else:
                opt.tell(trials[0], ValueError("no luck") if i % 7 == 3 else sphere(trials[0].point), 0.5)
            journal.write(opt.delta(journal.mark))
    return opt


def same(a: Any, b: Any) -> bool:
    """Whether two states are equal, floats bit for bit."""
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(v, w) for v, w in zip(a, b, strict=True))
    return repr(a) == repr(b)


def test_the_state_read_back_is_the_state_of_the_optimizer_bit_for_bit(tmp_path: Path) -> None:
    opt = busy(tmp_path / "run.db")
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        assert journal.started
        state = journal.recorded().state.to_json()
    assert same(json.loads(json.dumps(state["core"])), json.loads(json.dumps(opt.state_dict()["core"])))
    for part in ("format", "columns", "failures", "pending", "searches"):
        assert same(state[part], opt.state_dict()[part]), part


def test_a_resumed_optimizer_proposes_what_the_stopped_one_would_have(tmp_path: Path) -> None:
    opt, again = busy(tmp_path / "run.db"), fresh()
    with Journal.open(tmp_path / "run.db", again.fingerprint()) as journal:
        again.restore(journal.recorded().state)
        journal.write(again.delta(journal.mark))
    for _ in range(20):
        (ours,), (theirs,) = opt.ask(), again.ask()
        assert ours == theirs or (ours.id == theirs.id and ours.x.tobytes() == theirs.x.tobytes())
        for o, trial in ((opt, ours), (again, theirs)):
            o.tell(trial, sphere(trial.point))


MOVES = st.lists(
    st.tuples(st.sampled_from(["ask", "tell", "fail", "late", "forget", "point", "record"]), st.integers(0, 9))
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(MOVES)
def test_any_order_of_calls_is_kept(moves: list[tuple[str, int]]) -> None:
    opt = fresh()
    failed: list[Any] = []
    with Journal.open(":memory:", opt.fingerprint()) as journal:
        for kind, i in [*moves, ("record", 0)]:
            out = opt.pending
            if kind == "ask":
                opt.ask(1 + i % 3)
            elif kind == "record":
                journal.write(opt.delta(journal.mark))
            elif kind == "point":
                opt.tell_point(np.full(3, i / 10 + len(opt.seen) / 1000), float(i))
            elif kind == "late" and failed:
                opt.tell(failed.pop(), 1.0 + i)
            elif out and kind == "tell":
                opt.tell(out[i % len(out)], -0.0 if i == 0 else 10.0 ** (35 * i - 150))
            elif out and kind == "fail":
                failed.append(out[i % len(out)])
                opt.tell(failed[-1], None)
            elif out and kind == "forget":
                opt.forget(out[i % len(out)])
        state, expected = journal.recorded().state.to_json(), opt.state_dict()
        for part in ("columns", "failures", "pending", "searches"):
            assert same(state[part], expected[part]), part


def test_a_record_that_fails_halfway_writes_nothing_and_the_next_one_makes_up_for_it(tmp_path: Path) -> None:
    opt = fresh()
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        opt.tell(opt.ask(4), [1.0, 2.0, 3.0, 4.0])
        journal.write(opt.delta(journal.mark))
        before = Journal.read(tmp_path / "run.db").state.to_json()
        opt.tell(opt.ask(3), [0.5, 0.4, 0.3])
        journal._connection.execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(FAIL, 'disk full'); END"
        )
        with pytest.raises(JournalError, match="disk full"):
            journal.write(opt.delta(journal.mark))
        assert same(Journal.read(tmp_path / "run.db").state.to_json(), before)
        journal._connection.execute("DROP TRIGGER full")
        journal.write(opt.delta(journal.mark))
    state = Journal.read(tmp_path / "run.db").state.to_json()
    for part in ("columns", "pending", "searches"):
        assert same(state[part], opt.state_dict()[part]), part


def test_every_ask_tell_and_forget_leaves_an_event_in_order(tmp_path: Path) -> None:
    opt = fresh()
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        trials = opt.ask(2)
        journal.write(opt.delta(journal.mark))
        opt.tell(trials[1], 1.0)
        journal.write(opt.delta(journal.mark))
        opt.forget(trials[0])
        journal.write(opt.delta(journal.mark))
        opt.tell_point([0, 0, 0], 2.0)
        journal.write(opt.delta(journal.mark))
        journal.write(opt.delta(journal.mark))  # nothing new: no event
    with sqlite3.connect(tmp_path / "run.db") as db:
        events = db.execute("SELECT kind, first, count FROM events ORDER BY n").fetchall()
    db.close()
    assert events == [("ask", 0, 2), ("tell", 0, 1), ("forget", 0, 1), ("tell", 1, 1)]


def test_a_reader_sees_rows_in_the_users_sign_and_the_best_point_without_the_space(tmp_path: Path) -> None:
    opt = busy(tmp_path / "run.db", opt=fresh(maximize=True))
    recorded = Journal.read(tmp_path / "run.db")
    assert recorded.n == len(opt.seen) and recorded.maximize
    assert np.array_equal(recorded.values, -opt.seen.y, equal_nan=True)
    point, value, row = recorded.best or (None, 0.0, 0)
    assert (point, value, row) == (opt.best.point.tolist(), opt.best.value, opt.seen.best)
    assert recorded.about == {"objective": "sphere"} and recorded.fingerprint == opt.fingerprint()
    assert [tuple(p) for p in recorded.points(SPACE)] == [tuple(SPACE.decode(x)) for x in opt.seen.x]
    assert np.isfinite(recorded.times).all() and (np.diff(recorded.times) >= 0).all()
    assert recorded.asks == 30 and set(recorded.failures.values()) == {"ValueError: no luck"}


def test_a_reader_may_look_while_the_run_goes_on(tmp_path: Path) -> None:
    opt = fresh()
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        opt.tell(opt.ask(2), [1.0, 2.0])
        journal.write(opt.delta(journal.mark))
        assert Journal.read(tmp_path / "run.db").n == 2
        opt.tell(opt.ask(1), [3.0])
        journal.write(opt.delta(journal.mark))
        assert Journal.read(tmp_path / "run.db").n == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.db"]  # closed: one file


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("seed", Optimizer(SPACE, seed=5, sampler=Stroll(), n_init=4)),
        ("maximize", Optimizer(SPACE, seed=0, sampler=Stroll(), n_init=4, maximize=True)),
        ("sampler.step", Optimizer(SPACE, seed=0, sampler=Stroll(step=0.2), n_init=4)),
        ("design.n_init", Optimizer(SPACE, seed=0, sampler=Stroll(), n_init=5)),
        ("space.high", Optimizer(Box(-1, 2, dim=3), seed=0, sampler=Stroll(), n_init=4)),
    ],
)
def test_a_journal_of_another_run_is_refused_by_name_of_the_field(tmp_path: Path, field: str, other: Optimizer) -> None:
    busy(tmp_path / "run.db", 3)
    with pytest.raises(JournalError, match=rf"of another run: {field} is .+ there and .+ here; run with the settings"):
        Journal.open(tmp_path / "run.db", other.fingerprint())
    Journal.open(tmp_path / "run.db", fresh().fingerprint()).close()  # the lock was given back


def test_files_that_are_no_journals_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    text, foreign = tmp_path / "notes.txt", tmp_path / "foreign.db"
    text.write_text("my notes\n" * 50)
    db = sqlite3.connect(foreign)
    db.execute("CREATE TABLE meta (key, value)")
    db.commit()
    db.close()
    for path, words in ((text, "not a lamcts journal"), (foreign, "SQLite file of another program")):
        before = path.read_bytes()
        for use in (lambda p: Journal.open(p, fresh().fingerprint()), Journal.read):
            with pytest.raises(JournalError, match=words):
                use(path)
        assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["foreign.db", "notes.txt"]


def test_an_empty_file_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "run.db").touch()
    assert len(busy(tmp_path / "run.db", 5).seen) == 5
    assert Journal.read(tmp_path / "run.db").n == 5


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no journal at"):
        Journal.read(tmp_path / "run.db")
    with pytest.raises(JournalError, match="folder"):
        Journal.open(tmp_path / "no" / "run.db", fresh().fingerprint())
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal.read(tmp_path)


def edit(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("PRAGMA user_version = 9", "format 9, this lamcts reads up to 7; update"),
        ("DELETE FROM rows WHERE row = 3", "rows are missing"),
        ("UPDATE rows SET numbers = x'00' WHERE row = 3", "checksum"),
        ("UPDATE rows SET message = 'other' WHERE row = 3", "checksum"),
        ("UPDATE pending SET session = 'a' WHERE id = (SELECT MIN(id) FROM pending)", "checksum"),
        ("UPDATE meta SET value = '{}' WHERE key = 'core'", "checksum"),
        ("DELETE FROM meta WHERE key = 'fingerprint'", "expected an entry fingerprint"),
        ("DELETE FROM log WHERE n = 1", "not complete"),
        ("UPDATE leaders SET row = 10000 WHERE row = (SELECT MAX(row) FROM leaders)", "leaders: number 10000 fails"),
        ("CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END", "these differ: t"),
        ("ALTER TABLE rows ADD COLUMN extra", "these differ: rows"),
        ("DROP TABLE events", "these differ: events"),
    ],
)
def test_what_was_tampered_with_is_refused(tmp_path: Path, statement: str, words: str) -> None:
    opt = busy(tmp_path / "run.db")
    edit(tmp_path / "run.db", statement)
    with pytest.raises(JournalError, match=words):
        Journal.read(tmp_path / "run.db")
    with pytest.raises(JournalError, match=words):
        Journal.open(tmp_path / "run.db", opt.fingerprint())


def sealed(table: str, **fields: Any) -> tuple[str, tuple[Any, ...]]:
    from lamcts.journal.table import checksum

    values = tuple(fields.values())
    return f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * (len(values) + 1))})", (*values, checksum(*values))


ROW = {"row": 3, "trial": 3, "source": -1, "kind": "ok", "numbers": b"\0" * 40, "message": None, "note": None}


@pytest.mark.parametrize(
    ("table", "fields", "words"),
    [
        ("rows", ROW | {"numbers": b"\0" * 32}, "equally many numbers"),
        ("rows", ROW | {"trial": "x"}, "whole numbers"),
        ("rows", ROW | {"numbers": b"\x7f" * 40}, r"within \[0, 1\]"),
        ("pending", {"id": 99, "session": 0, "note": "null", "x": b"\0" * 23}, "equally many numbers"),
        ("meta", {"key": "about", "value": "[" * 100_000}, "not JSON|expected an entry"),
    ],
)
def test_values_of_the_wrong_kind_or_size_are_refused_even_with_a_right_checksum(
    tmp_path: Path, table: str, fields: dict[str, Any], words: str
) -> None:
    busy(tmp_path / "run.db")
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    statement, values = sealed(table, **fields)
    db.execute(statement, values)
    db.close()
    with pytest.raises(JournalError, match=words):
        Journal.read(tmp_path / "run.db")


def test_a_truncated_file_is_an_error_at_any_length(tmp_path: Path) -> None:
    opt = busy(tmp_path / "run.db", 60)
    whole = (tmp_path / "run.db").read_bytes()
    assert len(whole) > 8 * 4096
    for length in [*range(1, 100, 7), *range(100, len(whole), 1777)]:
        (tmp_path / "run.db").write_bytes(whole[:length])
        with pytest.raises(JournalError, match=r"damaged|not a lamcts journal"):
            Journal.open(tmp_path / "run.db", opt.fingerprint())


def test_a_corrupted_page_is_an_error_or_does_not_matter(tmp_path: Path) -> None:
    busy(tmp_path / "run.db", 60)
    whole, state = (tmp_path / "run.db").read_bytes(), Journal.read(tmp_path / "run.db").state.to_json()
    rng, refused = np.random.default_rng(0), 0
    for start in range(0, len(whole), 4096):
        for size in (16, 512, 3990):
            at = start + int(rng.integers(100, 4096 - size))
            bad = bytearray(whole)
            bad[at : at + size] = bytes(b ^ 0x5A for b in bad[at : at + size])
            (tmp_path / "run.db").write_bytes(bad)
            try:
                read = Journal.read(tmp_path / "run.db").state.to_json()
            except JournalError:
                refused += 1
            else:
                assert same(read, state), (start, size)
    assert (
        refused > len(whole) // 4096
    )  # garbage from end to end of a page always, smaller bits where they hit something


def test_two_runs_do_not_share_a_journal(tmp_path: Path) -> None:
    opt = fresh()
    with Journal.open(tmp_path / "run.db", opt.fingerprint()):
        with pytest.raises(JournalError, match="in use by another run"):
            Journal.open(tmp_path / "run.db", opt.fingerprint())
        code = "import sys; from lamcts.journal import Journal; Journal.open(sys.argv[1], {})"
        other = subprocess.run([sys.executable, "-c", code, tmp_path / "run.db"], capture_output=True, text=True)
        assert "in use by another run" in other.stderr
    Journal.open(tmp_path / "run.db", opt.fingerprint()).close()


def test_a_write_by_someone_else_meanwhile_is_noticed(tmp_path: Path) -> None:
    opt = fresh()
    journal = Journal.open(tmp_path / "run.db", opt.fingerprint())
    opt.ask(2)
    journal.write(opt.delta(journal.mark))
    edit(tmp_path / "run.db", "DELETE FROM pending WHERE id = 0")
    with pytest.raises(JournalError, match="another process wrote"):
        journal.write(opt.delta(journal.mark))
    journal.close()


def test_a_state_that_is_not_json_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Bad(Stroll):
        def start(self, *args: Any) -> Any:
            session = super().start(*args)
            session.state = lambda: {"x": np.zeros(3)}
            return session

    opt = Optimizer(SPACE, seed=0, sampler=Bad(), n_init=2)
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        opt.tell(opt.ask(2), [1.0, 2.0])
        journal.write(opt.delta(journal.mark))
        opt.ask(1)
        with pytest.raises(JournalError, match=r"the state of .*Bad.*: expected JSON values"):
            journal.write(opt.delta(journal.mark))
    assert Journal.read(tmp_path / "run.db").n == 2


def test_an_optimizer_that_never_took_over_the_state_is_refused(tmp_path: Path) -> None:
    opt = busy(tmp_path / "run.db")
    journal = Journal.open(tmp_path / "run.db", opt.fingerprint())
    with journal, pytest.raises(JournalError, match=r"took over recorded\(\)\.state"):
        journal.write(fresh().delta(journal.mark))
    with (
        Journal.open(":memory:", opt.fingerprint()) as empty,
        pytest.raises(RuntimeError, match="nothing was recorded"),
    ):
        _ = empty.recorded().state


def test_a_used_optimizer_can_be_journalled_from_the_middle(tmp_path: Path) -> None:
    opt = fresh()
    for _ in range(12):
        opt.tell(trials := opt.ask(), [sphere(trials[0].point)])
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        journal.write(opt.delta(journal.mark))
    assert same(Journal.read(tmp_path / "run.db").state.to_json()["searches"], opt.state_dict()["searches"])


def test_metrics_are_in_the_journal_and_in_the_state_of_a_run_that_goes_on(tmp_path: Path) -> None:
    opt, path = fresh(), tmp_path / "run.db"
    with Journal.open(path, opt.fingerprint()) as journal:
        a, b, c = opt.ask(3)
        journal.write(opt.delta(journal.mark))
        opt.tell([a, b], [{"value": 1.0, "epochs": 3, "nan": np.nan}, ValueError("no")], metrics=[None, {"gpu": "a"}])
        journal.write(opt.delta(journal.mark))
        opt.tell(c, 2.0)
        journal.write(opt.delta(journal.mark))
    record = Journal.read(path)
    assert repr(record.metrics) == "{0: {'epochs': 3, 'nan': nan}, 1: {'gpu': 'a'}}"
    assert record.metric_names == ["epochs", "nan", "gpu"]
    again = fresh()
    again.restore(record.state)
    assert repr(again.metrics) == repr(record.metrics) and same(again.state_dict(), opt.state_dict())


def test_a_journal_of_format_3_is_read_and_goes_on_in_the_present_one(tmp_path: Path) -> None:
    opt, path = busy(tmp_path / "run.db"), tmp_path / "run.db"
    edit(path, "PRAGMA user_version = 3")
    assert Journal.read(path).n == len(opt.seen) and Journal.read(path).metrics == {}
    again = fresh()
    with Journal.open(path, again.fingerprint()) as journal:
        again.restore(journal.recorded().state)
        again.tell(again.ask(), [{"value": 1.0, "epochs": 3}])
        journal.write(again.delta(journal.mark))
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (7,)
    assert Journal.read(path).metrics == {len(opt.seen): {"epochs": 3}}


def test_a_journal_of_another_run_keeps_its_format(tmp_path: Path) -> None:
    busy(tmp_path / "run.db")
    edit(tmp_path / "run.db", "PRAGMA user_version = 3")
    with pytest.raises(JournalError, match="seed"):
        Journal.open(tmp_path / "run.db", fresh(seed=1).fingerprint())
    with closing(sqlite3.connect(tmp_path / "run.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (3,)


@pytest.mark.parametrize("note", ['{"metrics":5}', '{"metrics":{"a":[1,2]}}', '{"metrics":{" ":1}}', '{"other":1}'])
def test_metrics_that_nobody_can_have_written_are_damage(tmp_path: Path, note: str) -> None:
    busy(tmp_path / "run.db")
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    row = [*db.execute("SELECT row, trial, source, kind, numbers, message FROM rows WHERE row = 0").fetchone(), note]
    db.execute("UPDATE rows SET note = ?, crc = ? WHERE row = 0", (note, checksum(*row)))
    db.close()
    with pytest.raises(JournalError, match="rows: number 0"):
        Journal.read(tmp_path / "run.db")


def test_the_schema_of_formats_3_to_7_stays_as_it_is() -> None:
    import hashlib

    digest = hashlib.sha256("\n".join(table.statement for table in TABLES).encode()).hexdigest()[:16]
    assert digest == "d799783d4da233b8", (
        "journals of users have this schema: a new one needs a new FORMAT and a way to read both"
    )
