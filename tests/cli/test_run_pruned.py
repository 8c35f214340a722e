"""`lamcts run --report --pruner` ends programs that are behind, and every look at the run says which."""

import csv
import io
import json
import sys

import pytest
from commands import said

from lamcts.journal import Journal

QUICK = ["--sampler", "uniform", "--quiet", "--no-plot", "--out", "here"]
# the first five come to their end; the others are worse, and would never
SCRIPT = """#!/bin/sh
echo "$1" >> calls
[ "$(wc -l < calls)" -gt 5 ] && { echo "epoch 1 loss 9"; exec sleep 300; }
echo "epoch 1 loss $1"
echo "$1"
"""
MINE = """
import time


def f(point, trial):
    trial.report(0, point["x"])
    return point["x"]


def slow(point):
    time.sleep(300 * (point["x"] > 0.5))
    return point["x"]
"""


@pytest.fixture(autouse=True)
def _in_a_folder_with_a_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "train").write_text(SCRIPT)
    (tmp_path / "train").chmod(0o755)
    (tmp_path / "mine.py").write_text(MINE)


def test_programs_that_are_behind_are_ended_and_no_failures(capsys, tmp_path):
    pattern = r"epoch (?P<step>\d+) loss (?P<value>\S+)"
    argv = ["run", "--command", "./train {x}", "--param", "x=0:1", "--report", pattern, "--pruner", "median", *QUICK]
    code, _, err = said(capsys, *argv, "--budget", "7")
    assert (code, err) == (0, "")
    record = Journal.read("here/journal.db")
    assert (record.columns.kind == 3).tolist() == [False] * 5 + [True] * 2 and not record.failures
    assert record.reports[6] == {1: 9.0} and record.predicted[6][0][0] > min(record.values[:5])
    assert "7 finished (0 failed, 2 pruned), 0 pending" in said(capsys, "show", "here")[1]
    rows = list(csv.DictReader(io.StringIO(said(capsys, "show", "here", "--csv")[1])))
    assert [row["message"] for row in rows] == [""] * 5 + ["pruned at step 1"] * 2
    followed = said(capsys, "show", "here", "--follow")[1].splitlines()
    assert followed[-1].startswith("7/7  trial 6  pruned at step 1  x=")
    assert json.loads((tmp_path / "here" / "result.json").read_text())["best"]["value"] == min(record.values[:5])
    code, _, err = said(capsys, *argv, "--budget", "9", "--report", r"(.) (.)")
    assert code == 2 and 'settings {"report": "(.) (.)"}' in err  # another pattern is another run


def test_programs_with_several_objectives_report_a_group_for_each(capsys, tmp_path):
    both = """echo '{"loss": '"$1"', "size": '"$1"'}'"""
    text = SCRIPT.replace("loss 9", "loss 9 size 8").replace("loss $1", "loss $1 size $1").replace('echo "$1"\n', both)
    (tmp_path / "train").write_text(text)
    pattern = r"epoch (?P<step>\d+) loss (?P<loss>\S+) size (?P<size>\S+)"
    goals = ["--objective", "loss", "--objective", "size", "--report", pattern, "--pruner", "median"]
    argv = ["run", "--command", "./train {x}", "--param", "x=0:1", *goals, *QUICK, "--budget", "7"]
    assert said(capsys, *argv)[0] == 0
    record = Journal.read("here/journal.db")
    assert (record.columns.kind == 3).tolist() == [False] * 5 + [True] * 2 and not record.failures
    assert [own[6] for own in record.curves] == [{1: 9.0}, {1: 8.0}] and len(record.predicted[6]) == 2


def test_a_function_that_reports_is_pruned_and_one_that_does_not_is_refused(capsys):
    argv = ["run", "mine.py:f", "--param", "x=0:1", "--pruner", "halving", "--budget", "12", *QUICK]
    assert said(capsys, *argv)[0] == 0
    assert "12 finished" in said(capsys, "show", "here")[1] and Journal.read("here/journal.db").reports[0].keys() == {0}
    code, _, err = said(capsys, "run", "mine.py:slow", "--param", "x=0:1", "--pruner", "median", *QUICK)
    assert code == 2 and "pruner: expected a function that reports on its way" in err


def test_a_function_that_takes_too_long_is_a_failed_trial(capsys):
    argv = ["run", "mine.py:slow", "--param", "x=0:1", "--timeout", "0.2", "--budget", "2", *QUICK]
    assert said(capsys, *argv)[0] == 0
    record = Journal.read("here/journal.db")
    assert (record.x[:, 0] > 0.5).tolist() == [row in record.failures for row in range(2)] and record.failures
    assert set(record.failures.values()) == {"TimeoutError: took longer than 0.2 s"}
