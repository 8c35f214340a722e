import sys

import numpy as np
import pytest

from benchmarks.constrained import columns_time
from benchmarks.costs import bounds, reuse
from benchmarks.discrete import runs as discrete
from benchmarks.discrete import spaces_time, tree_mutation
from benchmarks.harness import script, sheet
from benchmarks.harness.search import Search
from benchmarks.harness.sheet import RESULTS, Sheet
from benchmarks.nas import alphax, lanas, lookups, metadnn
from benchmarks.optimizer import fill_region, gp_speed, growth, own_time, shifted, split_gap, swimmer, tuning
from benchmarks.optimizer.shifted import Case
from benchmarks.parallel import steps
from lamcts import Box

KEY = ("method", "seed")
CASE = Case("random", "ackley-rotated", 3, 4, 7, 300)


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
    rows = Sheet(tmp_path / "sums.csv", Case._fields, shifted.COLUMNS)
    rows.add(CASE._asdict() | {"status": "failed", "message": "why"}, None)
    assert rows.wants(CASE)
    rows.add(CASE._asdict() | {"best": "1"}, None)
    assert not rows.wants(CASE) and rows.wants(CASE._replace(seed=8))


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("shifted", shifted.COLUMNS),
        ("own_time", own_time.COLUMNS),
        ("growth", growth.COLUMNS),
        ("gp_speed", gp_speed.COLUMNS),
        ("columns_time", columns_time.COLUMNS),
        ("spaces_time", spaces_time.COLUMNS),
        ("swimmer", swimmer.COLUMNS),
        ("steps", steps.COLUMNS),
        ("split_gap", split_gap.COLUMNS),
        ("fill_region", fill_region.COLUMNS),
        ("tuning", tuning.COLUMNS),
        ("lookups", lookups.COLUMNS),
        ("reuse", reuse.COLUMNS),
        ("metadnn", metadnn.COLUMNS),
        ("discrete", discrete.COLUMNS),
        ("lanas", lanas.COLUMNS),
        ("tree_mutation", tree_mutation.COLUMNS),
        ("alphax", alphax.COLUMNS),
        ("lanas", lanas.COLUMNS),
        ("bounds", bounds.COLUMNS),
    ],
)
def test_rows_that_are_committed_have_the_columns_that_are_written_today(name, columns):
    rows = sheet.read(RESULTS / f"{name}.csv")
    assert rows and all(tuple(row) == columns for row in rows)


def test_a_smoke_run_is_small_and_goes_elsewhere(monkeypatch):
    tiny = parsed(monkeypatch, "--smoke")
    assert (tiny.seeds, tiny.dims) == ([0], [3]) and tiny.out.name == "smoke.csv" and tiny.out.parent != RESULTS
    whole = parsed(monkeypatch, "--seeds", "4", "7-8")
    assert (whole.seeds, whole.dims, whole.out) == ([4, 7, 8], [5, 20], RESULTS / "sums.csv")
    with pytest.raises(SystemExit):
        parsed(monkeypatch, "--seeds", "many")


def test_a_case_is_recorded_once_with_what_its_run_reached(tmp_path, capsys):
    out = tmp_path / "shifted.csv"
    shifted.record([CASE], out)
    shifted.record([CASE], out)
    (row,) = sheet.read(out)
    assert [row[name] for name in Case._fields] == list(map(str, CASE))
    assert float(row["best_100"]) >= float(row["best_200"]) >= float(row["best_300"]) == float(row["best"])
    assert float(row["own_s_100"]) <= float(row["own_s_300"]) <= float(row["own_s"]) and row["best_500"] == ""
    assert capsys.readouterr().out.count("'random'") == 1


def test_a_case_that_fails_ends_the_script_and_leaves_no_row(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LAMCTS_REFERENCE", raising=False)
    with pytest.raises(SystemExit, match="1 of 1 runs failed"):
        shifted.record([CASE._replace(method="reference TuRBO-1")], tmp_path / "shifted.csv")
    assert "expected --reference DIR" in capsys.readouterr().out
    assert not (tmp_path / "shifted.csv").exists()


class Swimming:
    """One number, which the search sees 20 too high."""

    x0, maximize, optimum, name = np.zeros(1), True, None, "swimming"
    space = Box(0, 1000, dim=1)

    def __call__(self, point, *, seed=None):
        return float(point[0]) + 20

    def evaluate(self, point, *, seed, rollouts):
        return type("Returns", (), {"returns": np.full(rollouts, float(point[0]))})


def test_a_threshold_is_reached_by_an_incumbent_that_fresh_episodes_confirm():
    search = Search(Swimming(), 3, 5)
    search.evaluate_all([[0.0], [310.0], [100.0], [330.0], [400.0]], [0] * 5)
    told = swimmer.judged(search)
    assert told == {"reached_at": 4, "rescoring_episodes": 40, "rescored": "400.0", "rescored_sd": "0.0", "w0": "0.0"}
    lucky = Search(Swimming(), 3, 2)
    lucky.evaluate_all([[0.0], [310.0]], [0] * 2)
    assert swimmer.judged(lucky)["reached_at"] == "" and swimmer.judged(lucky)["rescoring_episodes"] == 20
