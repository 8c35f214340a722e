"""Sheets and tables know their run: other runs' lines, known results, notes, withdrawn points, workbooks."""

import csv
import io
import json
import sys

import pytest
from commands import said

import lamcts
from lamcts.journal import Journal

NEW = ["--param", "t=20:90", "--param", "h=1:10:step=0.5", "--objective=-yield", "--constraint", "pH<=8"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def filled(path, **cells):
    """Fill columns of a sheet, with a list or the same cell for all lines."""
    with open(path, newline="") as file:
        rows = table(file.read())
    for i, row in enumerate(rows):
        row.update({name: each[i] if isinstance(each, list) else each for name, each in cells.items()})
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


@pytest.fixture
def old(capsys):
    """Return what `lamcts show --csv` writes of a journal of three experiments."""
    assert said(capsys, "ask", "old.db", *NEW, "--seed", "1", "-n", "3", "-o", "a.csv")[0] == 0
    filled("a.csv", **{"yield": ["60", "61", "62"], "pH": "7.1"})
    assert said(capsys, "tell", "old.db", "a.csv")[0] == 0
    out = said(capsys, "show", "old.db", "--csv")[1]
    with open("exp.csv", "w") as file:
        file.write(out)
    return out


def test_lines_of_another_run_are_refused_by_the_command_that_adds_them(old, capsys):
    wide = [words.replace("20:90", "20:100") for words in NEW]
    assert said(capsys, "ask", "new.db", *wide, "--seed", "2", "-n", "3", "-o", "b.csv")[0] == 0
    own, other = (Journal.read(name).run_id for name in ("new.db", "old.db"))
    code, _, err = said(capsys, "tell", "new.db", "exp.csv")
    assert code == 2 and f"run_id is {own}, got one of the run {other}" in err and "nothing was told" in err
    assert not len(lamcts.load("new.db").history)
    command = err.split("; ")[1].removesuffix(" adds them as known results").split()
    assert command == ["lamcts", "ask", "new.db", "--known", "exp.csv"]
    for words in ("3 known evaluations added; 3 points from before", "0 known evaluations added"):
        code, out, err = said(capsys, *command[1:])
        assert (code, out) == (0, "") and words in err  # no point is asked for
    rows = lamcts.load("new.db").rows()
    assert [(row["trial"], row["yield"], row["pH"]) for row in rows] == [(-1, 60, 7.1), (-1, 61, 7.1), (-1, 62, 7.1)]
    assert said(capsys, "tell", "old.db", "exp.csv")[1].startswith("exp.csv: 3 told before")


def test_a_new_journal_begins_with_known_results_of_another_space_and_bound(old, capsys):
    wide = [words.replace("20:90", "20:100").replace("pH<=8", "pH<=7") for words in NEW]
    code, out, err = said(capsys, "ask", "new.db", *wide, "--known", "old.db", "--known", "exp.csv", "-n", "2")
    assert code == 0 and "3 known evaluations added; 2 points" in err and len(table(out)) == 2
    history = lamcts.load("new.db").history
    assert not history.feasible.any() and [row["pH"] for row in history.rows()] == [7.1] * 3


def test_a_table_with_violations_of_another_bound_has_the_quantity():
    with open("old.csv", "w") as file:
        file.write("x,value,lift >= 1.2\n0.2,1,-0.25\n0.4,2,0.5\n")
    how = {"budget": 1, "seed": 0, "known": "old.csv", "constraints": ["lift >= 1.3"]}
    run = lamcts.minimize(lambda p: {"value": p["x"], "lift": 2.0}, {"x": lamcts.Float(0, 1)}, **how)
    assert [row["lift"] for row in run.rows()] == [1.45, 0.7, 2.0]
    assert run.history.feasible.tolist() == [True, False, True]


def test_lines_that_name_no_run_go_by_their_points(old, capsys):
    said(capsys, "ask", "old.db", "-n", "2", "-o", "b.csv")
    rows = filled("b.csv", **{"yield": "50", "pH": "7", "run_id": ""})
    assert said(capsys, "tell", "old.db", "b.csv")[1].startswith("b.csv: 2 told as asked")
    said(capsys, "ask", "old.db", "-n", "2", "-o", "c.csv")
    filled("c.csv", **{"yield": "50", "pH": "7", "t": "33", "run_id": ""})
    code, _, err = said(capsys, "tell", "old.db", "c.csv")
    assert code == 2 and "expected the point of trial 5, or the run_id of this run" in err
    assert rows[0]["run_id"] == ""


def test_notes_stay_and_restart_no_search(old, capsys):
    filled("a.csv", note=["cloudy", "", ""])
    assert "1 told before, with new notes, 2 told before" in said(capsys, "tell", "old.db", "a.csv")[1]
    filled("a.csv", note=["clear", "", "by Ann"])
    code, _, err = said(capsys, "tell", "old.db", "a.csv")
    assert code == 2 and "--correct replaces" in err
    assert "1 corrected, 1 told before, with new notes" in said(capsys, "tell", "old.db", "a.csv", "--correct")[1]
    assert "3 told before" in said(capsys, "tell", "old.db", "a.csv", "--correct")[1]
    rows = lamcts.load("old.db").rows()
    assert [row.get("note") for row in rows] == ["clear", None, "by Ann"]
    assert "yield before correction" not in rows[0]


def test_a_note_leaves_the_next_points_as_they_are(capsys):
    new, asked = ["--param", "x=0:1", "--param", "y=0:1", "--seed", "3"], []
    for noted in (False, True):
        lab = f"{noted}.db"
        for i in range(4):
            said(capsys, "ask", lab, *(new if i == 0 else []), "-n", "3", "-o", f"{noted}{i}.csv")
            filled(f"{noted}{i}.csv", value=[str((i - 2) ** 2 + j) for j in range(3)])
            said(capsys, "tell", lab, f"{noted}{i}.csv")
        if noted:
            filled(f"{noted}0.csv", note="late")
            assert "3 told before, with new notes" in said(capsys, "tell", lab, f"{noted}0.csv")[1]
        asked.append([[row["x"], row["y"]] for row in table(said(capsys, "ask", lab, "-n", "2")[1])])
    assert asked[0] == asked[1]


def test_a_note_that_is_interrupted_is_not_there(old, monkeypatch):
    from lamcts.optimizer import changes

    opt = lamcts.Optimizer.load("old.db")
    with monkeypatch.context() as patched:
        patched.setattr(changes, "record", lambda opt: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            changes.tell_all(opt, [changes.TellRequest(changes.MetricsChange(0), None, None, metrics={"note": "a"})])
    assert opt.metrics == {} and "note" not in lamcts.load("old.db").rows()[0]


def test_pending_points_are_withdrawn_all_or_none(old, capsys):
    said(capsys, "ask", "old.db", "-n", "3", "-o", "b.csv")
    for wrong, words in (("3,9", "pending trials ([3, 4, 5]), got 9"), ("x", "numbers of trials"), ("1", "got 1")):
        code, _, err = said(capsys, "ask", "old.db", "--withdraw", wrong)
        assert code == 2 and words in err
    code, out, err = said(capsys, "ask", "old.db", "--withdraw", "3,5")
    assert (code, out) == (0, "") and "2 points withdrawn; 1 point from before" in err
    assert [trial.id for trial in lamcts.Optimizer.load("old.db").pending] == [4]
    out = said(capsys, "ask", "old.db", "--withdraw", "4", "-n", "2")[1]
    assert [row["trial"] for row in table(out)] == ["6", "7"]


def test_a_constraint_on_an_ingredient_is_read_from_the_mixture(capsys):
    mix = ["--param", "mix=resin,filler:simplex=1:step=0.01", "--constraint", "mix.resin>=0.5", "--seed", "0"]
    assert said(capsys, "ask", "lab.db", *mix, "-n", "3", "-o", "a.csv")[0] == 0
    rows = filled("a.csv", value=["1", "2", ""])
    assert list(rows[0]) == ["trial", "mix.resin", "mix.filler", "value", "sem", "message", "note", "run_id"]
    assert "2 told as asked, 1 without a value" in said(capsys, "tell", "lab.db", "a.csv")[1]
    history = lamcts.load("lab.db").history
    assert history.feasible.tolist() == [float(row["mix.resin"]) >= 0.5 for row in rows[:2]]
    shown = table(said(capsys, "show", "lab.db", "--csv")[1])
    assert list(shown[0]) == ["trial", "value", "mix.resin", "mix.filler", "seconds", "message", "run_id"]
    said(capsys, "ask", "new.db", *mix[:-2], "--seed", "1", "--known", "lab.db")
    assert lamcts.load("new.db").history.feasible.tolist() == history.feasible.tolist()


def test_a_parameter_with_the_name_of_a_part_has_a_column_of_its_own(capsys):
    space = {"mix.a": lamcts.Float(0, 1), "mix": lamcts.Simplex(["a", "b"]), "run_id": lamcts.Int(1, 3)}
    lamcts.Optimizer(space, seed=0, journal="lab.db")
    said(capsys, "ask", "lab.db", "-o", "a.csv")
    head = list(filled("a.csv", value="1")[0])
    assert head[1:5] == ["mix.a", "point.mix.a", "point.mix.b", "point.run_id"] and head[-1] == "run_id"
    asked = lamcts.Optimizer.load("lab.db").pending[0].point
    assert "1 told as asked" in said(capsys, "tell", "lab.db", "a.csv")[1]
    assert lamcts.load("lab.db").history.points[0] == asked
    assert list(table(said(capsys, "show", "lab.db", "--csv")[1])[0])[2:6] == head[1:5]


def test_a_sheet_has_as_many_digits_as_matter(capsys):
    new = ["--param", "t=20:90", "--param", "lr=1e-6:1:log", "--param", "h=0:1:step=0.1", "--param", "k=5:500:step=5"]
    said(capsys, "ask", "lab.db", *new, "--param", "mix=a,b,c:simplex=3", "--seed", "0", "-n", "9", "-o", "a.csv")
    rows, pending = filled("a.csv", value="1"), lamcts.Optimizer.load("lab.db").pending
    for row, trial in zip(rows, pending, strict=True):
        digits = [row[name].partition("e")[0].replace(".", "").strip("0") for name in ("t", "lr", "mix.a", "mix.b")]
        assert max(map(len, digits)) <= 8
        assert len(row["h"]) <= 3 and "." not in row["k"]
        assert float(row["t"]) == pytest.approx(trial.point["t"], abs=1e-4)
    assert said(capsys, "tell", "lab.db", "a.csv")[1].startswith("a.csv: 9 told as asked")
    filled("a.csv", value="2")
    assert "9 corrected" in said(capsys, "tell", "lab.db", "a.csv", "--correct")[1]
    told = lamcts.load("lab.db").history.points
    assert [*told] == [trial.point for trial in pending]


def test_a_workbook_is_asked_and_told(capsys):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install '.[excel]'")
    base = ["--param", "base=NaOH,=KOH"]
    assert said(capsys, "ask", "lab.db", *NEW, *base, "--seed", "0", "-n", "2", "-o", "a.xlsx")[0] == 0
    book = openpyxl.load_workbook("a.xlsx")
    (head, first, second) = book.active.iter_rows()
    assert isinstance(first[1].value, float) and all(cell.data_type != "f" for cell in (*first, *second))
    names = [cell.value for cell in head]
    for name, value in (("yield", 61.5), ("pH", 7), ("note", "cloudy")):
        first[names.index(name)].value = value
    second[names.index("message")].value = "vial broke"
    book.save("a.xlsx")
    assert "2 told as asked" in said(capsys, "tell", "lab.db", "a.xlsx")[1]
    rows = lamcts.load("lab.db").rows()
    assert rows[0]["yield"] == 61.5 and rows[0]["note"] == "cloudy" and rows[1]["message"].endswith("vial broke")


@pytest.mark.parametrize(("name", "words"), [("a.xlsx", "pip install '.[excel]'"), ("a.ods", "ends in .csv or .xlsx")])
def test_no_workbook_is_written_under_another_name(capsys, monkeypatch, tmp_path, name, words):
    monkeypatch.setattr("lamcts.cli.ask.find_spec", lambda name: None)
    code, _, err = said(capsys, "ask", "lab.db", *NEW, "-o", name)
    assert code == 2 and words in err
    assert not [*tmp_path.iterdir()]


def test_predictions_at_the_points_of_a_table(old, capsys):
    opt = lamcts.Optimizer.load("old.db")
    trials = opt.ask(6)
    opt.tell(trials, [{"yield": 50 + trial.point["t"] / 9, "pH": trial.point["h"]} for trial in trials])
    expected = opt.predict([{"t": 30.0, "h": 2.0}, {"t": 60.0, "h": 4.0}])
    del opt
    with open("points.csv", "w") as file:
        file.write("h;t\n2;30,0\n4;60,0\n")
    code, out, _ = said(capsys, "predict", "old.db", "--at", "points.csv")
    rows = table(out)
    assert code == 0 and list(rows[0]) == ["t", "h", "mean", "std", "feasible"]
    assert [float(row["mean"]) for row in rows] == pytest.approx(expected.mean)
    assert [float(row["feasible"]) for row in rows] == pytest.approx(expected.feasible)
    for text, words in (("h\n2\n", "expected a column 't'"), ("t,h\n500,2\n", "line 2, column 't'")):
        with open("points.csv", "w") as file:
            file.write(text)
        code, _, err = said(capsys, "predict", "old.db", "--at", "points.csv")
        assert code == 2 and words in err


def test_the_best_as_json(old, capsys):
    found = json.loads(said(capsys, "show", "old.db", "--json")[1])
    rows = lamcts.load("old.db").rows()
    assert found["run_id"] == table(old)[0]["run_id"] and found["evaluations"] == 3
    best = found["best"]
    assert (best["value"], best["trial"], best["feasible"], best["constraints"]) == (62, 2, True, {"pH": 7.1})
    assert best["point"] == {"t": rows[2]["t"], "h": rows[2]["h"]}
    assert said(capsys, "show", "old.db", "--json", "--csv")[0] == 2


def test_a_front_as_json_and_as_a_table_with_the_run(capsys):
    space, goals = {"x": lamcts.Float(0, 1)}, {"objectives": ["a", "b"], "sampler": "uniform"}
    run = lamcts.minimize(lambda p: (p["x"], 1 - p["x"]), space, budget=6, seed=0, journal="run.db", **goals)
    found = json.loads(said(capsys, "show", "run.db", "--json")[1])
    assert [row["trial"] for row in found["front"]] == [point.trial for point in run.front]
    assert found["best"]["value"] == run.front.knee().values and found["best"]["trial"] == run.front.knee().trial
    rows = table(said(capsys, "show", "run.db", "--front", "--csv")[1])
    assert [int(row["trial"]) for row in rows] == [point.trial for point in run.front]
    assert {row["run_id"] for row in rows} == {found["run_id"]}


def test_the_best_is_called_by_its_trial_and_has_its_folder(capsys, tmp_path):
    program = "import sys; print((float(sys.argv[1]) - 0.3) ** 2)"
    (tmp_path / "sim.py").write_text(program)
    words = f"{sys.executable} sim.py {{a}} {{folder}}"
    code, out, _ = said(capsys, "run", "--command", words, "--param", "a=0:1", "--budget", "6", "--out", "r", "--quiet")
    best = json.loads((tmp_path / "r" / "result.json").read_text())["best"]
    trial = min(lamcts.load("r").rows(), key=lambda row: row["value"])["trial"]
    folder = f"r/journal.db.folders/{trial}"
    assert code == 0 and best["trial"] == trial and best["folder"] == folder and (tmp_path / folder).is_dir()
    assert f"in trial {trial}, of 6 evaluations" in out and f"its folder {folder}" in out
    shown = said(capsys, "show", "r")[1]
    assert f"in trial {trial}" in shown and folder in shown


def test_two_long_settings_are_quoted_from_where_they_differ():
    from lamcts.errors import JournalError
    from lamcts.journal.fingerprint import compare

    deck = "x" * 300
    with pytest.raises(JournalError) as caught:
        compare("run.db", {"deck": f"{deck} 1"}, {"deck": f"{deck} 2"})
    assert "xxx 1' there" in str(caught.value) and "xxx 2' here" in str(caught.value)
