import csv
import re

import pytest

import lamcts
from lamcts.cli import main

NEW = ["--param", "t=20:90", "--param", "base=NaOH,KOH", "--objective=-yield", "--constraint", "pH<=8", "--seed", "0"]


@pytest.fixture
def sheet(tmp_path, monkeypatch, capsys):
    """Return the path of a sheet of four points in a new journal."""
    monkeypatch.chdir(tmp_path)
    assert main(["ask", "lab.db", *NEW, "-n", "4", "-o", "a.csv"]) == 0
    capsys.readouterr()
    return tmp_path / "a.csv"


def fill(path, lines, separator=",", comma=False):
    """Write cells into a sheet: a dict for each line, by column."""
    with open(path, newline="") as file:
        rows = [dict(row) for row in csv.DictReader(file)]
    for i, cells in lines.items():
        rows[i] |= cells
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        for row in rows:
            writer.writerow({name: cell.replace(".", ",") if comma else cell for name, cell in row.items()})


def test_a_sheet_has_parameters_in_their_units_and_empty_columns(sheet):
    head, *lines = csv.reader(sheet.read_text().splitlines())
    assert head == ["trial", "t", "base", "yield", "pH", "sem", "message", "note"]
    assert [line[0] for line in lines] == ["0", "1", "2", "3"]
    assert all(20 <= float(line[1]) <= 90 and line[3:] == [""] * 5 for line in lines)


def test_a_sheet_is_told_in_parts_with_commas_failures_and_changed_amounts(sheet, capsys):
    lines = {0: {"yield": "61.5", "pH": "7.1", "note": "cloudy"}, 1: {"message": "vial broke"}}
    fill(sheet, lines | {2: {"t": "33.3", "yield": "70", "pH": "8.5"}}, ";", comma=True)
    assert main(["tell", "lab.db", "a.csv"]) == 0
    said = capsys.readouterr().out
    assert "2 told as asked, 1 told with other parameters than asked, 1 without a value" in said
    assert "3 evaluations, 1 pending, best yield 61.5 (trial 0)" in said
    rows = lamcts.load("lab.db").rows()
    assert [row["trial"] for row in rows] == [0, 1, 2] and rows[0]["note"] == "cloudy"
    assert rows[1]["message"] == "EvaluationFailed: vial broke" and rows[2]["t"] == 33.3
    assert main(["tell", "lab.db", "a.csv"]) == 0  # the same sheet again
    assert "3 told before, 1 without a value" in capsys.readouterr().out
    assert lamcts.load("lab.db").nfev == 3


def test_other_values_for_what_was_told_need_correct_and_nothing_is_told_without(sheet, capsys):
    fill(sheet, {0: {"yield": "61", "pH": "7"}})
    main(["tell", "lab.db", "a.csv"])
    fill(sheet, {0: {"yield": "51"}, 1: {"yield": "40", "pH": "7"}})
    assert main(["tell", "lab.db", "a.csv"]) == 2
    assert "--correct replaces them; nothing was told" in capsys.readouterr().err
    assert lamcts.load("lab.db").nfev == 1
    assert main(["tell", "lab.db", "a.csv", "--correct"]) == 0
    rows = lamcts.load("lab.db").rows()
    assert [row["yield"] for row in rows] == [51, 40] and rows[0]["yield before correction"] == 61
    assert "pH before correction" not in rows[0]


def test_lines_without_a_trial_are_told_once(sheet, capsys):
    fill(sheet, {0: {"trial": "", "t": "50", "yield": "1", "pH": "2"}})
    main(["tell", "lab.db", "a.csv"])
    main(["tell", "lab.db", "a.csv"])
    assert "1 told before" in capsys.readouterr().out and lamcts.load("lab.db").nfev == 0
    assert lamcts.load("lab.db").rows()[0]["trial"] == -1


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"yield": "much", "pH": "7"}, "line 2, column 'yield': expected a number, got 'much'"),
        ({"t": "500", "yield": "1", "pH": "7"}, "line 2.*500"),
        ({"base": "LiOH", "yield": "1", "pH": "7"}, "line 2.*LiOH"),
        ({"trial": "77", "yield": "1", "pH": "7"}, "number of a trial of this journal, got 77"),
        ({"trial": "one", "yield": "1", "pH": "7"}, "number of a trial or nothing, got 'one'"),
        ({"yield": "1", "pH": "7", "message": "late"}, "got both: write remarks in note"),
    ],
)
def test_a_line_that_cannot_be_told_is_named_and_nothing_is_told(sheet, capsys, cells, words):
    fill(sheet, {0: cells, 1: {"yield": "2", "pH": "3"}})
    assert main(["tell", "lab.db", "a.csv"]) == 2
    error = capsys.readouterr().err
    assert re.search(words, error), error
    assert not len(lamcts.load("lab.db").history)


def test_an_empty_cell_of_one_objective_fails_that_line_alone_and_keeps_the_rest(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    new = ["--param", "t=20:90", "--objective", "cost", "--objective", "mass", "--seed", "0"]
    assert main(["ask", "lab.db", *new, "-n", "3", "-o", "a.csv"]) == 0
    fill(tmp_path / "a.csv", {0: {"cost": "1", "mass": "2"}, 1: {"cost": "6.5"}, 2: {"mass": "3", "message": "spilt"}})
    assert main(["tell", "lab.db", "a.csv"]) == 0
    said = capsys.readouterr().out
    assert "3 told as asked" in said and "2 lines without a value of each objective: failed, the measured" in said
    rows = lamcts.load("lab.db").rows()
    assert [row["cost"] for row in rows[:2]] == [1, 6.5] and [row["mass"] for row in rows[::2]] == [2, 3]
    assert [row["message"] for row in rows] == ["", "mass is nan", "cost is nan"]
    assert rows[2]["metric.message"] == "spilt"
    assert main(["tell", "lab.db", "a.csv"]) == 0 and "3 told before" in capsys.readouterr().out
    assert main(["show", "lab.db", "--csv"]) == 0
    (tmp_path / "b.csv").write_text(capsys.readouterr().out)
    how = {"budget": 1, "seed": 0, "objectives": ["cost", "mass"], "known": "b.csv"}
    again = lamcts.minimize(lambda p: (1, 1), {"t": lamcts.Float(20, 90)}, **how).rows()
    assert [row["message"] for row in again[:3]] == ["", "mass is nan", "cost is nan"] and again[1]["cost"] == 6.5


def test_a_trial_in_two_lines_is_an_error_before_anything_is_told(sheet, capsys):
    fill(sheet, {0: {"yield": "1", "pH": "7"}, 1: {"trial": "0", "yield": "2", "pH": "7"}})
    assert main(["tell", "lab.db", "a.csv"]) == 2
    assert "line 3: expected each trial once, got 0 in a.csv, line 2 too" in capsys.readouterr().err
    assert not len(lamcts.load("lab.db").history)


def test_a_sheet_without_a_column_of_the_run_is_refused(sheet, capsys):
    sheet.write_text("trial,t,base,yield\n0,30,KOH,1\n")
    assert main(["tell", "lab.db", "a.csv"]) == 2
    assert "expected a column 'pH'" in capsys.readouterr().err


def test_sheets_are_never_replaced_and_pending_points_are_written_again(sheet, capsys):
    assert main(["ask", "lab.db", "-o", "a.csv"]) == 2
    assert "it may hold values" in capsys.readouterr().err
    assert main(["ask", "lab.db", "--pending"]) == 0
    assert capsys.readouterr().out == sheet.read_text()
    assert main(["ask", "lab.db", "-n", "2"]) == 0
    assert "4 points from before not told yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["none.db"], "does not exist: --param makes a new one"),
        (["none.db", "--maximize"], "--maximize: expected only with --param"),
        (["lab.db", "--param", "t=20:99", "--seed", "0"], "is of another run: space"),
    ],
)
def test_a_journal_that_is_missing_or_of_another_run_is_an_error(sheet, capsys, more, words):
    assert main(["ask", *more]) == 2
    assert words in capsys.readouterr().err


def test_a_mixture_has_a_column_for_each_ingredient(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    new = ["--param", "mix=flour,sugar,salt:simplex=200:step=5", "--param", "t=20:90"]
    assert main(["ask", "lab.db", *new, "-n", "3", "-o", "a.csv"]) == 0
    head, first, *_ = csv.reader((tmp_path / "a.csv").read_text().splitlines())
    assert head[:5] == ["trial", "mix.flour", "mix.sugar", "mix.salt", "t"]
    assert sum(map(float, first[1:4])) == 200 and all(float(cell) % 5 == 0 for cell in first[1:4])
    changed = {"mix.flour": "100.0", "mix.sugar": "60.0", "mix.salt": "40.0", "value": "2.5"}
    fill(tmp_path / "a.csv", {0: {"value": "1.5"}, 1: changed}, ";", comma=True)
    assert main(["tell", "lab.db", "a.csv"]) == 0
    assert "1 told as asked, 1 told with other parameters" in capsys.readouterr().out
    assert lamcts.load("lab.db").rows()[1]["mix"] == {"flour": 100.0, "sugar": 60.0, "salt": 40.0}
    assert main(["ask", "lab.db", "--pending", "-o", "b.csv"]) == 0
    fill(tmp_path / "b.csv", {0: {"mix.salt": "much", "value": "1"}})
    assert main(["tell", "lab.db", "b.csv"]) == 2
    assert "line 2, column 'mix'" in capsys.readouterr().err
