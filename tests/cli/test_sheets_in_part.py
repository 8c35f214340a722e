"""Sheets whose lines are filled in over weeks: what is there is told, the rest is pending."""

import csv

import pytest

import lamcts
from tests.commands import said

NEW = ["--param", "t=20:90", "--param", "h=1:10", "--objective", "cost", "--objective=-mass", "--seed", "0"]
NEW += ["--constraint", "purity>=0.9"]


@pytest.fixture
def lab(tmp_path, monkeypatch, capsys):
    """Make a journal with a sheet of three points, of which one is whole, one lacks values, one has none."""
    monkeypatch.chdir(tmp_path)
    said(capsys, "ask", "lab.db", *NEW, "-n", "3", "-o", "a.csv")
    fill(
        "a.csv",
        {0: {"cost": "2", "mass": "3", "purity": "0.95"}, 1: {"cost": "6.5", "sem.cost": "0.5", "note": "grey"}},
    )
    return tmp_path


def lines(path):
    with open(path, newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def fill(path, cells):
    rows = lines(path)
    for i, own in cells.items():
        rows[i] |= own
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_a_line_is_told_in_part_written_again_with_its_cells_and_completed_by_a_later_sheet(lab, capsys):
    code, out, _ = said(capsys, "tell", "lab.db", "a.csv")
    assert code == 0 and "1 told as asked, 1 told in part, 1 without a value" in out
    assert "1 evaluation, 2 pending (1 with some values), 1 on the front" in out
    assert "1 finished (1 feasible, 0 failed), 2 pending (1 with some values)" in said(capsys, "show", "lab.db")[1]
    said(capsys, "ask", "lab.db", "--pending", "-o", "b.csv")
    part, empty = lines("b.csv")
    assert [*part] == [*lines("a.csv")[0]] and part["trial"] == "1" and (part["mass"], part["purity"]) == ("", "")
    assert (float(part["cost"]), float(part["sem.cost"]), part["note"], empty["cost"]) == (6.5, 0.5, "grey", "")
    assert "1 told before, 1 without a value" in said(capsys, "tell", "lab.db", "b.csv")[1]
    fill("b.csv", {0: {"purity": "0.9"}})
    assert "1 told in part" in said(capsys, "tell", "lab.db", "b.csv")[1]
    fill("b.csv", {0: {"cost": "", "purity": "", "sem.cost": "", "mass": "4"}})  # a sheet of the missing cell alone
    assert "1 completed, 1 without a value" in said(capsys, "tell", "lab.db", "b.csv")[1]
    row = lamcts.load("lab.db").rows()[1]
    assert [row[name] for name in ("trial", "cost", "mass", "purity", "note")] == [1, 6.5, 4, 0.9, "grey"]
    assert row["sem.cost"] == 0.5 and row["message"] == "" and len(lamcts.load("lab.db").front) == 2


def test_another_value_of_a_cell_that_was_told_needs_correct(lab, capsys):
    said(capsys, "tell", "lab.db", "a.csv")
    fill("a.csv", {1: {"cost": "7", "mass": "4"}})
    code, _, err = said(capsys, "tell", "lab.db", "a.csv")
    assert code == 2 and "what was told of trial 1, got other values" in err
    assert lamcts.Optimizer.load("lab.db").incomplete[1].values["cost"] == (6.5, 0.5)
    assert "1 corrected, 1 told before" in said(capsys, "tell", "lab.db", "a.csv", "--correct")[1]
    values = lamcts.Optimizer.load("lab.db").incomplete[1].values
    assert (values["cost"], values["mass"]) == ((7, 0.5), 4)


def test_a_note_is_added_to_a_line_that_was_told_in_part(lab, capsys):
    said(capsys, "tell", "lab.db", "a.csv")
    fill("a.csv", {1: {"note": "grey"}, 2: {"purity": "0.5"}})
    assert "1 told in part, 2 told before" in said(capsys, "tell", "lab.db", "a.csv")[1]
    with open("a.csv") as file:
        text = file.read().replace("run_id", "colour,run_id").replace("grey,", "grey,2,")
    with open("b.csv", "w") as file:
        file.write("\n".join(line for line in text.splitlines() if "run_id" in line or "grey" in line))
    assert "1 told before, with new notes" in said(capsys, "tell", "lab.db", "b.csv")[1]
    assert lamcts.Optimizer.load("lab.db").incomplete[1].metrics == {"note": "grey", "colour": 2}


def test_a_point_of_ones_own_is_told_in_part_once_and_completed(lab, capsys):
    fill("a.csv", {1: {"trial": "", "t": "50", "note": ""}})
    for words in ("1 told as asked, 1 told in part", "2 told before"):
        assert words in said(capsys, "tell", "lab.db", "a.csv")[1]
    assert [*lamcts.Optimizer.load("lab.db").incomplete] == [3]
    fill("a.csv", {1: {"mass": "4", "purity": "1"}})
    assert "1 completed, 1 told before" in said(capsys, "tell", "lab.db", "a.csv")[1]
    row = lamcts.load("lab.db").rows()[1]
    assert (row["trial"], row["t"], row["cost"], row["mass"]) == (3, 50, 6.5, 4)


@pytest.mark.parametrize(
    ("cells", "how", "words"),
    [
        ({1: {"t": "50"}}, ("tell", "lab.db", "a.csv"), "expected the point of trial 1, or all values of this line"),
        ({}, ("ask", "lab.db", "--withdraw", "2,1"), "got 1, whose cost is known: tell its line with a message"),
    ],
)
def test_what_has_values_is_neither_moved_nor_withdrawn(lab, capsys, cells, how, words):
    if not cells:
        said(capsys, "tell", "lab.db", "a.csv")
    fill("a.csv", cells)
    before = lamcts.Optimizer.load("lab.db").pending
    code, _, err = said(capsys, *how)
    assert code == 2 and words in err and lamcts.Optimizer.load("lab.db").pending == before


def test_a_message_ends_a_line_and_keeps_what_was_told_before(lab, capsys):
    said(capsys, "tell", "lab.db", "a.csv")
    fill("a.csv", {1: {"cost": "", "sem.cost": "", "message": "spilt"}})
    _, out, _ = said(capsys, "tell", "lab.db", "a.csv")
    assert "1 completed" in out and "1 line without a value of each objective: failed" in out
    row = lamcts.load("lab.db").rows()[1]
    assert (row["cost"], row["message"], row["metric.message"]) == (6.5, "mass is nan", "spilt")
    assert not lamcts.Optimizer.load("lab.db").incomplete
