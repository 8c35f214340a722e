"""A journal says which part of a search proposed a row, and is read without it too."""

import sqlite3

import lamcts
from lamcts.journal import Journal
from lamcts.journal.events import EVENTS
from lamcts.report.progress import proposers
from lamcts.report.runs import LabelledRun
from lamcts.samplers import GpBo, LocalGlobal, Uniform

BOX = lamcts.Box(-5, 10, dim=2)


def sphere(x):
    return float(((x - 1) ** 2).sum())


def run(path, budget=40, **options):
    options = {"sampler": LocalGlobal(Uniform(), GpBo(n_start=0)), **options}
    return lamcts.minimize(sphere, BOX, budget=budget, seed=0, batch=4, n_init=8, journal=path, **options)


def test_every_row_after_the_design_has_the_arm_that_proposed_it(tmp_path):
    run(tmp_path / "run.db", 20)
    run(tmp_path / "run.db", 40)  # goes on
    record = Journal.read(tmp_path / "run.db")
    assert [row for row in range(record.n) if row in record.proposers] == list(range(8, 40))
    assert set(record.proposers.values()) <= {"Uniform", "GpBo"}
    assert len(set(record.proposers.values())) > 1
    named = dict(proposers(LabelledRun("run", record)))
    assert set(named) == {"initial design", *record.proposers.values()}
    assert sorted(row for rows in named.values() for row in rows) == list(range(40))


def test_a_search_without_parts_has_none_and_is_named_by_its_number(tmp_path):
    run(tmp_path / "run.db", 20, sampler="turbo")
    record = Journal.read(tmp_path / "run.db")
    assert record.proposers == {}
    assert [name for name, _ in proposers(LabelledRun("run", record))] == ["search 1", "initial design"]


def test_a_resumed_run_without_the_names_goes_on_as_before(tmp_path):
    whole = run(tmp_path / "whole.db", 40)
    run(tmp_path / "run.db", 24)
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    rows = db.execute("SELECT kind, first, count, time FROM events WHERE kind NOT LIKE 'by %' ORDER BY n").fetchall()
    db.execute("DELETE FROM events")
    db.close()
    db = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    EVENTS.append(db, rows)  # as an older lamcts wrote them
    db.close()
    assert Journal.read(tmp_path / "run.db").proposers == {}
    assert run(tmp_path / "run.db", 40).history.x.tobytes() == whole.history.x.tobytes()
