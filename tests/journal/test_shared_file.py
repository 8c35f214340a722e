"""A journal that others read, open, remove or replace while it is written."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lamcts
from lamcts.errors import JournalError
from lamcts.journal import Journal, begun_with, journal
from lamcts.optimizer.optimizer import Optimizer
from lamcts.utils.files import kind_at

SPACE = [(0.0, 1.0)] * 2
OPEN_AND_CLOSE = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM rows').fetchall(); c.close()"
)


def made(path: Path) -> Optimizer:
    return Optimizer(SPACE, journal=path, sampler="uniform", seed=1)


def told(opt: Optimizer, n: int) -> None:
    for _ in range(n):
        (trial,) = opt.ask()
        opt.tell(trial, float(sum(trial.point)))


def another_process_opens_it(path: Path) -> None:
    subprocess.run([sys.executable, "-c", OPEN_AND_CLOSE, path], check=True)


def minimize_knows_it(path: Path) -> None:
    lamcts.minimize(lambda x: 1.0, SPACE, budget=1, known=path, n_init=1)


READERS: list[Callable[[Path], Any]] = [
    lamcts.load,
    Journal.read,
    begun_with,
    minimize_knows_it,
    lambda path: kind_at(path, "the file"),
]


@pytest.mark.parametrize("read", READERS)
def test_a_journal_that_its_own_process_reads_keeps_its_log(read: Callable[[Path], Any], tmp_path: Path) -> None:
    opt = made(tmp_path / "run.db")
    told(opt, 2)
    read(tmp_path / "run.db")
    another_process_opens_it(tmp_path / "run.db")
    assert (tmp_path / "run.db-wal").exists()
    told(opt, 2)
    assert Journal.read(tmp_path / "run.db").n == 4


def test_what_is_told_after_the_log_was_removed_is_on_disk(tmp_path: Path) -> None:
    opt = made(tmp_path / "run.db")
    told(opt, 2)
    for n in (4, 6):
        shutil.copy(tmp_path / "run.db", tmp_path / "copy.db")  # any program may: the locks of this process are gone
        another_process_opens_it(tmp_path / "run.db")
        assert not (tmp_path / "run.db-wal").exists()
        told(opt, 2)
        assert Journal.read(tmp_path / "run.db").n == n


@pytest.mark.parametrize("look", [1, 2])  # before a transaction, and after it
def test_a_journal_that_is_interrupted_while_it_is_opened_again_goes_on(
    look: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opt = made(tmp_path / "run.db")
    told(opt, 2)
    files, connect, looks = journal.identities(str(tmp_path / "run.db")), journal.connect, list[str]()

    def identities(path: str) -> list[tuple[int, int] | None]:
        looks.append(path)
        return [files[0], None] if len(looks) == look else files  # a new log may have the number of the former one

    def interrupted(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(journal, "connect", connect)
        raise KeyboardInterrupt

    monkeypatch.setattr(journal, "identities", identities)
    monkeypatch.setattr(journal, "connect", interrupted)
    with pytest.raises(KeyboardInterrupt):
        opt.ask()
    told(opt, 2)
    held = Journal.read(tmp_path / "run.db")
    assert held.n == len(opt.seen) == 4 and [each.id for each in held.pending] == [each.id for each in opt.pending]


def test_a_run_that_copies_its_journal_loses_nothing_when_it_is_killed(tmp_path: Path) -> None:
    script = f"""
import lamcts, os, shutil, subprocess, sys
def f(x):
    if os.path.exists("run.db"):
        shutil.copy("run.db", "copy.db")
        subprocess.run([sys.executable, "-c", {OPEN_AND_CLOSE!r}, "run.db"], check=True)
    return float(sum(x))
def callback(result):
    if result.nfev == 5:
        os.kill(os.getpid(), 9)
lamcts.minimize(f, {SPACE!r}, budget=9, journal="run.db", seed=0, callback=callback)
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False)
    assert Journal.read(tmp_path / "run.db").n == 5


def removed(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def replaced(path: Path) -> None:
    other = path.with_name("other.db")
    told(made(other), 1)
    removed(path)
    other.rename(path)


def put_back(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_name("moved.db").rename(path)


CHANGES: list[Callable[[Optimizer], Any]] = [
    lambda opt: opt.ask(),
    lambda opt: opt.tell(opt.pending[0], 1.0),
    lambda opt: opt.tell_point([0.25, 0.5], 1.0),
    lambda opt: opt.correct(0, 1.0),
    lambda opt: opt.forget(opt.pending[0]),
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("lose", [removed, replaced])
def test_a_journal_that_is_gone_or_another_file_is_an_error_and_nothing_is_changed(
    lose: Callable[[Path], None], change: Callable[[Optimizer], Any], tmp_path: Path
) -> None:
    path = tmp_path / "run.db"
    opt = made(path)
    told(opt, 3)
    opt.ask()
    before = opt.state_dict()
    lose(path)
    for _ in range(2):
        with pytest.raises(JournalError, match=r"run.db was removed or replaced while it was open.*put it back"):
            change(opt)
        assert str(opt.state_dict()) == str(before)
    put_back(path)
    change(opt)
    after = str(opt.state_dict())
    assert after != str(before) and str(made(path).state_dict()) == after


def test_a_run_whose_journal_is_removed_ends_with_an_error(tmp_path: Path) -> None:
    def f(x: Any) -> float:
        (tmp_path / "run.db").unlink(missing_ok=True)
        return 1.0

    with pytest.raises(JournalError, match="removed or replaced"):
        lamcts.minimize(f, SPACE, budget=5, journal=tmp_path / "run.db")
    assert [name for name in os.listdir(tmp_path) if name.endswith("lock")] == []
