"""`lamcts run --known FILE.csv`: results from elsewhere, or of an earlier run."""

import json
from pathlib import Path

import pytest
from commands import said

MINE = """
def f(point):
    return (point["a"] - 0.3) ** 2 + point["b"]
"""
RUN = ["run", "mine.py:f", "--param", "a=0:1", "--param", "b=0:9:int", "--no-plot", "--quiet", "--sampler", "uniform"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    Path("old.csv").write_text("a,b,value\n0.3,0,0\n0.5,1,1.04\n0.9,2,\n")


def test_results_of_a_file_are_told_and_not_counted(capsys):
    for budget, done in (("4", ""), ("6", ", 4 of them done"), ("6", ", 6 of them done")):  # nothing is told twice
        code, out, err = said(capsys, *RUN, "--known", "old.csv", "--budget", budget, "--out", "r")
        assert (code, err) == (0, "") and "3 known evaluations from old.csv" in out
        assert f"{budget} evaluations{done}, seed" in out
        assert "best 0 among the known evaluations" in out
    found = json.loads(Path("r/result.json").read_text())
    assert found["evaluations"] == 6 and found["best"] == {"value": 0, "trial": None, "point": {"a": 0.3, "b": 0}}
    out = said(capsys, "show", "r")[1]
    assert "6 finished (3 known, 1 failed" in out and "0 among the known evaluations" in out
    assert said(capsys, "show", "r", "--csv")[1].splitlines()[1].startswith("-1,0,0.3,0,")


def test_a_run_takes_what_another_one_wrote(capsys):
    assert said(capsys, *RUN, "--budget", "5", "--out", "first")[0] == 0
    Path("first.csv").write_text(said(capsys, "show", "first", "--csv")[1])
    code, out, _ = said(capsys, *RUN, "--known", "first.csv", "--budget", "30", "--out", "second")
    assert code == 0 and "5 known evaluations from first.csv" in out and "of 30" in out
    assert said(capsys, "show", "second", "--csv")[1].count("\n") == 36


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,value\n1,2\n", "lamcts run: --known: old.csv: expected a column 'b', got a, value"),
        ("a,b,value\n0.5,1.5,2\n", "--known: old.csv, line 2, column 'b': value: expected a whole number, got 1.5"),
    ],
)
def test_a_file_that_does_not_fit_is_one_line_and_starts_nothing(capsys, text, message):
    Path("old.csv").write_text(text)
    code, _, err = said(capsys, *RUN, "--known", "old.csv", "--out", "r")
    assert code == 2 and message in err and err.count("\n") == 1 and not Path("r").exists()
    assert said(capsys, *RUN, "--known", "none.csv", "--out", "r")[0] == 2


def test_files_of_related_tasks_guide_the_run_and_are_none_of_its_evaluations(capsys):
    assert said(capsys, *RUN, "--budget", "12", "--out", "first")[0] == 0
    Path("old.csv").write_text("number,value,params_a,params_b,state\n0,3,0.5,1,COMPLETE\n1,,0.1,2,PRUNED\n")
    known = ("--known", "first", "--known", "old.csv", "--budget", "8")
    with pytest.warns(RuntimeWarning, match=r"known: 1 of 2 rows of old\.csv were pruned and have no intermediate"):
        code, out, _ = said(capsys, *RUN, *known, "--out", "r")
    assert code == 0 and "13 known evaluations from first, old.csv" in out
    with pytest.warns(RuntimeWarning, match="they are left out"):
        code, out, _ = said(capsys, *RUN, *known, "--related", "--out", "s")
    assert code == 0 and "13 related evaluations from first, old.csv" in out
    code, out, _ = said(capsys, "show", "s/journal.db")
    assert code == 0 and "8 finished" in out and "known" not in out
    code, _, err = said(capsys, *RUN, "--related", "--out", "t")
    assert code == 2 and "--related: expected known results, got none; pass --known RESULTS of related tasks" in err
