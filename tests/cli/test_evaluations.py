"""`lamcts show --csv`: every evaluation of a run, for a spreadsheet."""

import csv
import io
import math
import sys

import pytest
from commands import said

import lamcts
from lamcts.cli import main

OPTIONS = {"seed": 0, "sampler": "uniform", "progress": False}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_all_evaluations_are_written_with_their_points(capsys):
    space = lamcts.Space({"lr": lamcts.Float(0, 1), "act": lamcts.Choice(["a, b", "c"])})
    ran = lamcts.minimize(lambda p: None if p["lr"] < 0.3 else p["lr"], space, budget=12, journal="run.db", **OPTIONS)
    code, out, err = said(capsys, "show", "run.db", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, err) == (0, "") and list(rows[0]) == ["trial", "value", "lr", "act", "seconds", "message", "run_id"]
    assert [float(row["lr"]) for row in rows] == [point["lr"] for point in ran.history.points]
    assert [row["act"] for row in rows] == [point["act"] for point in ran.history.points]
    assert [row["message"] for row in rows if not row["value"]] == ["no value"] * len(ran.history.messages)


def test_options_of_any_kind_are_written_so_that_they_are_read_again(capsys):
    options = [(8,), [8, 4], None, math.nan, math.inf, math.sin, "\udc80"]
    space = lamcts.Space({"a": lamcts.Choice(options), "x": lamcts.Float(0, 1)})
    ran = lamcts.minimize(lambda p: p["x"], space, budget=25, journal="run.db", **OPTIONS)
    code, out, err = said(capsys, "show", "run.db", "--csv")
    cells = [row["a"] for row in csv.DictReader(io.StringIO(out))]
    assert (code, err) == (0, "") and {*cells} == {"[8]", "[8, 4]", "null", "", "inf", "math.sin", "\\udc80"}
    with open("run.csv", "w") as file:
        file.write(out)
    again = lamcts.minimize(lambda p: p["x"], space, budget=1, known="run.csv", **OPTIONS)
    assert [repr(point["a"]) for point in again.history.points[:25]] == [repr(p["a"]) for p in ran.history.points]


def test_where_the_space_is_in_no_journal_there_are_coordinates_and_a_word(capsys):
    lamcts.minimize(sum, lamcts.Finite([(1, 2), (3, 4), (5, 6)]), budget=3, journal="run.db", **OPTIONS)
    code, out, err = said(capsys, "show", "run.db", "--csv")
    assert code == 0 and out.startswith("trial,value,u1,u2,seconds") and len(out.splitlines()) == 4
    assert "does not say what its points are" in err


def test_a_journal_without_an_evaluation_has_a_line_of_names(capsys):
    opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=1), seed=0)
    from lamcts.journal import Journal

    with Journal.open("run.db", opt.fingerprint()) as journal:
        journal.write(opt.delta(journal.mark))
    assert said(capsys, "show", "run.db", "--csv") == (0, "trial,value,run_id\n", "")


@pytest.mark.parametrize("options", [(), ("--front",)])
def test_a_terminal_gets_no_control_characters_and_a_file_gets_them_as_they_are(capsys, monkeypatch, options):
    space = {"act": lamcts.Choice(["\x1b]0;owned\x07", "\u202ereversed"]), "x": lamcts.Float(0, 1)}
    goals = {"objectives": ["a", "b"]} if options else {}
    lamcts.minimize(
        lambda p: (p["x"], 1 - p["x"]) if options else p["x"], space, budget=8, journal="run.db", **goals, **OPTIONS
    )
    code, out, _ = said(capsys, "show", "run.db", "--csv", *options)
    assert code == 0 and "\x1b]0;owned\x07" in out and "\u202e" in out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, _ = said(capsys, "show", "run.db", "--csv", *options)
    assert code == 0 and r"\x1b]0;owned\x07" in out and r"\u202e" in out and out.replace("\n", "").isprintable()


def test_what_stdout_cannot_encode_is_escaped(monkeypatch):
    space = {"act": lamcts.Choice(["\ud800", "größe"])}
    lamcts.minimize(lambda p: len(p["act"]), space, budget=2, journal="run.db", **OPTIONS)
    for encoding, words in (("utf-8", (r"\ud800", "größe")), ("ascii", (r"\ud800", r"gr\xf6\xdfe"))):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(file := io.BytesIO(), encoding))
        assert main(["show", "run.db", "--csv"]) == 0
        assert all(word in file.getvalue().decode(encoding) for word in words)
