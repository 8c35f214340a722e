import sys

import pytest

from benchmarks.harness import script, sheet
from benchmarks.harness.sheet import RESULTS, Sheet
from benchmarks.optimizer import own_time
from benchmarks.optimizer.own_time import Case

KEY = ("method", "seed")
CASE = Case("random", "ackley-rotated", 3, 4, 7, 300)


def record(case, out):
    script.record([case], Sheet(out, Case._fields, own_time.COLUMNS), "benchmarks.optimizer.own_time:measure_once", 1)


def parsed(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["script", *words])
    given = script.parser("", "sums.csv", "tiny")
    script.many(given, "0-2")
    given.add_argument("--dims", nargs="+", default=[5, 20])
    return script.parsed(given, seeds=[0], dims=[3])


def test_a_row_is_found_by_its_key_whatever_the_types(tmp_path):
    rows = Sheet(tmp_path / "new" / "sums.csv", KEY, (*KEY, "best"))
    assert rows.missing([("cma", 1)]) == [("cma", 1)] and rows.rows() == []
    rows.append({"method": "cma", "seed": 1, "best": 0.5})
    rows.append({"method": "cma", "seed": 2})
    assert rows.missing([("cma", 1), ("cma", 2), ("cma", 3)]) == [("cma", 3)]
    assert [row["best"] for row in rows.rows()] == ["0.5", ""]


def test_a_cell_without_a_column_is_refused(tmp_path):
    with pytest.raises(ValueError, match="expected cells out of method, seed, got best"):
        Sheet(tmp_path / "sums.csv", KEY, KEY).append({"method": "cma", "seed": 1, "best": 0.5})


def test_a_run_that_failed_leaves_no_row_and_is_wanted_again(tmp_path):
    rows = Sheet(tmp_path / "sums.csv", Case._fields, own_time.COLUMNS)
    rows.add(CASE._asdict() | {"status": "failed", "message": "why"}, None)
    assert rows.wants(CASE)
    rows.add(CASE._asdict() | {"best": "1"}, None)
    assert not rows.wants(CASE) and rows.wants(CASE._replace(seed=8))


def test_a_smoke_run_is_small_and_goes_elsewhere(monkeypatch):
    tiny = parsed(monkeypatch, "--smoke")
    assert (tiny.seeds, tiny.dims) == ([0], [3]) and tiny.out.name == "smoke.csv" and tiny.out.parent != RESULTS
    whole = parsed(monkeypatch, "--seeds", "4", "7-8")
    assert (whole.seeds, whole.dims, whole.out) == ([4, 7, 8], [5, 20], RESULTS / "sums.csv")
    with pytest.raises(SystemExit):
        parsed(monkeypatch, "--seeds", "many")


def test_a_case_is_recorded_once_with_what_its_run_reached(tmp_path, capsys):
    out = tmp_path / "own_time.csv"
    record(CASE, out)
    record(CASE, out)
    (row,) = sheet.read(out)
    assert [row[name] for name in Case._fields] == list(map(str, CASE))
    assert float(row["best_100"]) >= float(row["best_200"]) >= float(row["best_300"]) == float(row["best"])
    assert float(row["own_s_100"]) <= float(row["own_s_300"]) <= float(row["own_s"]) and row["best_500"] == ""
    assert capsys.readouterr().out.count("'random'") == 1


def test_a_case_that_fails_ends_the_script_and_leaves_no_row(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LAMCTS_REFERENCE", raising=False)
    with pytest.raises(SystemExit, match="1 of 1 runs failed"):
        record(CASE._replace(method="reference TuRBO-1"), tmp_path / "own_time.csv")
    assert "expected --reference DIR" in capsys.readouterr().out
    assert not (tmp_path / "own_time.csv").exists()
