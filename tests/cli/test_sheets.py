import csv
import re
import tempfile

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import lamcts
from lamcts.cli import main
from lamcts.outcomes.observations import Observations
from tests.commands import said

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
    assert head == ["trial", "t", "base", "yield", "pH", "sem", "message", "note", "run_id"]
    assert [line[0] for line in lines] == ["0", "1", "2", "3"]
    assert all(20 <= float(line[1]) <= 90 and line[3:-1] == [""] * 5 for line in lines)


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


def test_a_line_with_an_empty_constraint_is_told_in_part_and_waits_for_the_rest(sheet, capsys):
    fill(sheet, {0: {"yield": "61"}, 1: {"yield": "62", "pH": "7"}})
    for words in ("1 told as asked, 1 told in part", "2 told before"):
        assert main(["tell", "lab.db", "a.csv"]) == 0
        assert words in capsys.readouterr().out
    assert lamcts.load("lab.db").history.values.tolist() == [62]
    fill(sheet, {0: {"message": "assay lost"}})  # the constraint will never be known
    assert main(["tell", "lab.db", "a.csv"]) == 0 and "1 completed" in capsys.readouterr().out
    history = lamcts.load("lab.db").history
    assert history.values.tolist() == [62, 61] and history.metrics[1] == {"message": "assay lost"}
    assert np.array_equal(history.constraints, [[-1], [np.nan]], equal_nan=True) and not history.failed.any()


def test_a_remark_of_a_corrected_line_replaces_the_former(sheet):
    fill(sheet, {0: {"yield": "61", "pH": "7", "note": "cloudy"}, 1: {"yield": "62", "pH": "7", "note": "clear"}})
    main(["tell", "lab.db", "a.csv"])
    fill(sheet, {0: {"yield": "51", "note": "wrong vial"}, 1: {"yield": "52", "note": ""}})
    assert main(["tell", "lab.db", "a.csv", "--correct"]) == 0
    rows = lamcts.load("lab.db").rows()
    assert [(row["yield"], row["note"]) for row in rows] == [(51, "wrong vial"), (52, "clear")]


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


def test_an_empty_cell_of_one_objective_waits_and_with_a_message_fails_that_line_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    new = ["--param", "t=20:90", "--objective", "cost", "--objective", "mass", "--seed", "0"]
    assert main(["ask", "lab.db", *new, "-n", "3", "-o", "a.csv"]) == 0
    fill(tmp_path / "a.csv", {0: {"cost": "1", "mass": "2"}, 1: {"cost": "6.5"}, 2: {"mass": "3", "message": "spilt"}})
    assert main(["tell", "lab.db", "a.csv"]) == 0
    said = capsys.readouterr().out
    assert "2 told as asked, 1 told in part" in said and "1 line without a value of each objective: failed" in said
    rows = lamcts.load("lab.db").rows()
    assert rows[0]["cost"] == 1 and [row["mass"] for row in rows] == [2, 3]
    assert [row["message"] for row in rows] == ["", "cost is nan"] and rows[1]["metric.message"] == "spilt"
    assert main(["tell", "lab.db", "a.csv"]) == 0 and "3 told before" in capsys.readouterr().out
    fill(tmp_path / "a.csv", {1: {"mass": "4"}})  # a week later
    assert main(["tell", "lab.db", "a.csv"]) == 0 and "1 completed, 2 told before" in capsys.readouterr().out
    rows = lamcts.load("lab.db").rows()
    assert (rows[2]["cost"], rows[2]["mass"], rows[2]["message"]) == (6.5, 4, "") and len(rows) == 3
    assert not [name for name in rows[2] if "before" in name]
    fill(tmp_path / "a.csv", {1: {"cost": "7"}})
    assert main(["tell", "lab.db", "a.csv"]) == 2 and "--correct" in capsys.readouterr().err
    assert main(["show", "lab.db", "--csv"]) == 0
    (tmp_path / "b.csv").write_text(capsys.readouterr().out)
    how = {"budget": 1, "seed": 0, "objectives": ["cost", "mass"], "known": "b.csv"}
    again = lamcts.minimize(lambda p: (1, 1), {"t": lamcts.Float(20, 90)}, **how).rows()
    assert [row["message"] for row in again[:3]] == ["", "cost is nan", ""] and again[2]["cost"] == 6.5


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


@pytest.mark.parametrize("name", ["note", "message", "sem", "trial", "value", "seconds"])
def test_a_mixture_with_the_name_of_another_column_is_told(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    assert main(["ask", "lab.db", "--param", f"{name}=flour,sugar:simplex", "-o", "a.csv"]) == 0
    rows = [*csv.reader((tmp_path / "a.csv").read_text().splitlines())]
    rows[1][3] = "1.5"
    rows[1][-2] = "cloudy"
    with open("a.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert main(["tell", "lab.db", "a.csv"]) == 0
    assert "1 told as asked" in capsys.readouterr().out
    assert lamcts.load("lab.db").history.metrics[0] == {rows[0][-2]: "cloudy"}


def test_a_sheet_with_swapped_points_is_told_whole(sheet, capsys):
    lines = list(csv.DictReader(sheet.read_text().splitlines()))
    swap = {0: {"t": lines[1]["t"], "base": lines[1]["base"]}, 1: {"t": lines[0]["t"], "base": lines[0]["base"]}}
    fill(sheet, {i: swap.get(i, {}) | {"yield": str(60 + i), "pH": "7"} for i in range(4)})
    for words in ("2 told as asked, 2 told with other parameters", "4 told before"):
        assert main(["tell", "lab.db", "a.csv"]) == 0
        assert words in capsys.readouterr().out
    rows = lamcts.load("lab.db").rows()
    assert [(row["trial"], row["yield"]) for row in rows] == [(0, 60.0), (1, 61.0), (2, 62.0), (3, 63.0)]
    assert rows[0]["t"] == pytest.approx(float(lines[1]["t"])) and not lamcts.Optimizer.load("lab.db").pending


def test_a_point_of_another_pending_trial_may_be_evaluated_twice(sheet):
    lines = list(csv.DictReader(sheet.read_text().splitlines()))
    fill(sheet, {0: {"t": lines[1]["t"], "base": lines[1]["base"], "yield": "50", "pH": "7"}})
    main(["tell", "lab.db", "a.csv"])
    assert [trial.id for trial in lamcts.Optimizer.load("lab.db").pending] == [1, 2, 3]


@pytest.mark.parametrize("call", range(5))
def test_a_sheet_that_is_interrupted_is_told_whole_or_not_at_all(sheet, monkeypatch, call):
    fill(sheet, {0: {"yield": "50", "pH": "7"}})
    main(["tell", "lab.db", "a.csv"])
    fill(sheet, {i: {"yield": str(60 + i), "pH": "7"} for i in range(4)})  # a correction, and three values
    real, calls = Observations.append, []

    def append(self, *given):
        rows = real(self, *given)
        calls.append(1)
        if len(calls) == call + 1:
            raise MemoryError
        return rows

    with monkeypatch.context() as patched:  # the journal is read, corrected, and three rows are added
        patched.setattr(Observations, "append", append)
        assert main(["tell", "lab.db", "a.csv", "--correct"]) != 0
    assert [row["yield"] for row in lamcts.load("lab.db").rows()] == [50.0]
    assert main(["tell", "lab.db", "a.csv", "--correct"]) == 0
    assert [row["yield"] for row in lamcts.load("lab.db").rows()] == [60.0, 61.0, 62.0, 63.0]


def test_a_saved_optimizer_goes_on_with_sheets(sheet):
    opt = lamcts.Optimizer([(0, 1)], seed=0)
    opt.ask(2)
    opt.save("run.db")
    assert main(["ask", "run.db", "--pending", "--out", "run.csv"]) == 0
    fill(sheet.with_name("run.csv"), {0: {"value": 2.5}, 1: {"value": 1.5}})
    assert main(["tell", "run.db", "run.csv"]) == 0
    assert lamcts.load("run.db").nfev == 2


RESERVED = [
    "trial",
    "seconds",
    "message",
    "note",
    "sem",
    "value",
    "point",
    "metric.note",
    "point.note",
    "value.message",
]
HOSTILE = [
    "learning rate",
    "a,b",
    "c;d",
    "e\tf",
    'g"h',
    "'i'",
    "größe",
    "=1+1",
    "+x",
    "-y",
    "@z",
    "#k",
    "j.k",
    " pad ",
    " ",
    "\n",
]
TEXT = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = st.lists(
    st.sampled_from([*RESERVED, *HOSTILE]) | st.text(TEXT, min_size=1, max_size=4), min_size=4, max_size=6, unique=True
)
MEMBERS = [
    lamcts.Float(0, 1),
    lamcts.Int(0, 9),
    lamcts.Choice(["a", "b,c"]),
    lamcts.Bool(),
    lamcts.Float(0, 1),
    lamcts.Int(0, 9),
]


@given(names=NAMES, value=st.sampled_from([*RESERVED, *HOSTILE[:-2]]), quantity=st.sampled_from([*RESERVED, "p H"]))
@settings(max_examples=25, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
def test_a_sheet_with_any_names_is_told_as_it_was_asked(names, value, quantity):
    space = lamcts.Space(dict(zip(names, MEMBERS, strict=False)))
    with tempfile.TemporaryDirectory() as folder:
        path, sheet = f"{folder}/lab.db", f"{folder}/a.csv"
        opt = lamcts.Optimizer(space, seed=0, objectives=[value], constraints=[f"{quantity} <= 8"], journal=path)
        del opt
        assert main(["ask", path, "-n", "3", "-o", sheet]) == 0
        asked = [trial.point for trial in lamcts.Optimizer.load(path).pending]
        with open(sheet, newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        assert len({*head}) == len(head)
        for i, row in enumerate(rows):
            row[len(names) + 1] = str(i + 0.5)
            if quantity != value:
                row[len(names) + 2] = str(i + 0.25)
            row[-2] = "a remark"
        with open(sheet, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([head, *rows])
        assert main(["tell", path, sheet]) == 0
        history = lamcts.load(path).history
        assert [*history.points] == asked and np.allclose(history.values, [0.5, 1.5, 2.5])
        told = [0.5, 1.5, 2.5] if quantity == value else [0.25, 1.25, 2.25]
        assert np.allclose(history.constraints[:, 0], np.subtract(told, 8))


@pytest.mark.parametrize(
    "names",
    [{"a\0b": MEMBERS[0]}, {"\ud800": MEMBERS[0]}],
)
def test_names_that_make_no_columns_of_their_own_are_refused_before_anything_is_asked(tmp_path, capsys, names):
    lamcts.Optimizer(names, seed=0, journal=tmp_path / "lab.db")
    assert main(["ask", str(tmp_path / "lab.db"), "-o", str(tmp_path / "a.csv")]) == 2
    assert "columns of their own" in capsys.readouterr().err
    assert not lamcts.Optimizer.load(tmp_path / "lab.db").pending and not (tmp_path / "a.csv").exists()


def test_a_new_journal_with_the_names_of_other_columns_is_asked_and_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    new = [
        "--param",
        "note=0:1",
        "--param",
        "message=a,b,c:simplex",
        "--param",
        "learning rate=0:1",
        "--objective",
        "message",
    ]
    assert main(["ask", "lab.db", *new, "--objective=-note", "--constraint", "note<=3", "-o", "a.csv"]) == 0
    head = (tmp_path / "a.csv").read_text().splitlines()[0].split(",")
    parts = [f"point.message.{name}" for name in "abc"]
    assert head[:6] == ["trial", "point.note", *parts, "learning rate"]
    assert head[6:] == ["value.message", "note", "sem.message", "sem.note", "message", "metric.note", "run_id"]
    fill(tmp_path / "a.csv", {0: {"value.message": "2", "note": "1.5", "sem.note": "0.25", "metric.note": "cloudy"}})
    assert main(["tell", "lab.db", "a.csv"]) == 0
    row = lamcts.load("lab.db").rows()[0]
    assert (row["value.message"], row["note"], row["sem.note"], row["metric.note"]) == (2, 1.5, 0.25, "cloudy")


@pytest.mark.parametrize("cell", ["1.7", "0.5", "-0.5", "-3", "nan", "inf", "1e400", "two"])
def test_a_trial_that_is_no_whole_number_is_an_error_with_line_and_column(sheet, capsys, cell):
    fill(sheet, {1: {"trial": cell, "yield": "1", "pH": "7"}})
    assert main(["tell", "lab.db", "a.csv"]) == 2
    assert "a.csv, line 3, column 'trial': expected the number of a trial" in capsys.readouterr().err
    assert not len(lamcts.load("lab.db").history)


@pytest.mark.parametrize("out", ["none/a.csv", "lab.db/a.csv", "folder", "n" * 300])
def test_a_sheet_that_cannot_be_written_is_refused_before_anything_is_asked(tmp_path, monkeypatch, capsys, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    code, _, err = said(capsys, "ask", "new.db", *NEW, "-o", out)
    assert code == 2 and "--out/-o: expected a file that can be written" in err
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("command", ["run", "compare"])
def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_evaluated(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    for out in ("file", "file/sub", "n" * 300):
        code, _, err = said(capsys, command, "ackley", "--dim", "2", "--budget", "2", "--out", out)
        assert code == 2 and "--out/-o: expected a folder that can be written" in err
