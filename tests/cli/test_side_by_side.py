"""`lamcts show A B`: runs side by side, and their evaluations in one table."""

import csv
import io
from pathlib import Path

import pytest
from commands import said

import lamcts

SPACE = lamcts.Space({"a": lamcts.Float(0, 1), "b": lamcts.Int(0, 9)})
OPTIONS = {"seed": 0, "sampler": "uniform", "progress": False}
MINE = """
def f(point):
    return {"loss": point["a"] + point["b"], "b_squared": point["b"] ** 2}
"""


def f(point):
    if point["a"] > 0.8:
        raise RuntimeError("too high")
    return {"loss": point["a"] + point["b"], "b_squared": point["b"] ** 2}


def front(point):
    return {"loss": point["a"] + point["b"], "gain": -point["b"]}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    lamcts.minimize(f, SPACE, budget=12, journal="one.db", objectives=["loss"], **OPTIONS)
    lamcts.minimize(f, SPACE, budget=20, journal="two.db", objectives=["loss"], **{**OPTIONS, "seed": 1})


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_each_run_is_a_column_with_its_budget_best_point_failures_and_time(capsys):
    code, out, err = said(capsys, "show", "one.db", "two.db")
    lines = {line[2:].split("  ")[0]: line.split()[-2:] for line in out.splitlines()}
    one, two = lamcts.load("one.db"), lamcts.load("two.db")
    assert (code, err) == (0, "") and out.splitlines()[0].split() == ["one", "two"]
    assert lines["budget"] == ["12", "20"] == lines["evaluations"] and lines["seed"] == ["0", "1"]
    assert lines["best"] == [f"{one.fun:.6g}", f"{two.fun:.6g}"]
    assert lines["best point: b"] == [str(one.x["b"]), str(two.x["b"])]
    left = next(line for line in out.splitlines() if "left to gain" in line)
    assert one.remaining_gain is None and " -  " in left  # fewer than 10 values
    assert f"at most {two.remaining_gain.upper:.2g} with 90 % probability" in left
    assert lines["failed"] == [str(len(each.history.messages)) for each in (one, two)] != ["0", "0"]
    assert all(float(seconds) > 0 for seconds in lines["time in evaluations, s"])


def test_runs_of_other_goals_and_without_an_evaluation_stand_next_to_one_another(capsys):
    lamcts.minimize(front, SPACE, budget=8, journal="front.db", objectives=["loss", "gain"], **OPTIONS)
    opt = lamcts.Optimizer(SPACE, seed=0)
    from lamcts.journal import Journal

    with Journal.open("empty.db", opt.fingerprint()) as journal:
        journal.write(opt.delta(journal.mark))
    code, out, _ = said(capsys, "show", "one.db", "front.db", "empty.db")
    lines = {line[2:].split("  ")[0]: line for line in out.splitlines()}
    assert code == 0 and "none yet" in lines["best"]
    knee = lamcts.load("front.db").front.knee()
    assert f"loss {knee.values['loss']:.6g}" in lines["knee (a compromise)"]
    assert lines["best point: b"].split()[-2:] == [str(knee.point["b"]), "-"]


def test_all_evaluations_are_one_table_that_a_new_run_takes(capsys):
    code, out, err = said(capsys, "show", "one.db", "two.db", "--csv")
    rows = rows_of(out)
    assert (code, err) == (0, "") and [*rows[0]][:3] == ["run", "trial", "loss"]
    assert [row["run"] for row in rows] == ["one"] * 12 + ["two"] * 20
    values = [row["loss"] for name in ("one.db", "two.db") for row in lamcts.load(name).rows()]
    assert [float(row["loss"] or "nan") for row in rows] == pytest.approx(values, nan_ok=True, abs=0)
    Path("all.csv").write_text(out)
    words = ["--param", "a=0:1", "--param", "b=0:9:int", "--objective", "loss", "--budget", "3"]
    code, out, _ = said(capsys, "run", "mine.py:f", *words, "--known", "all.csv", "--quiet", "--no-plot", "--out", "r")
    assert code == 0 and "32 known evaluations from all.csv" in out


@pytest.mark.parametrize("only", ["ok", "failed", "checked", "feasible"])
def test_evaluations_of_one_kind_alone(capsys, only):
    code, out, _ = said(capsys, "show", "one.db", "--csv", "--only", only)
    failed = [row for row in lamcts.load("one.db").rows() if row["message"]]
    expected = {"ok": 12 - len(failed), "feasible": 12 - len(failed), "failed": len(failed), "checked": 0}[only]
    assert code == 0 and len(rows_of(out)) == expected
    assert all(bool(row["message"]) == (only == "failed") for row in rows_of(out))


def test_a_parameter_that_is_called_run_keeps_its_column(capsys):
    for name in ("x.db", "y.db"):
        lamcts.minimize(lambda p: p["run"], {"run": lamcts.Float(0, 1)}, budget=3, journal=name, **OPTIONS)
    rows = rows_of(said(capsys, "show", "x.db", "y.db", "--csv")[1])
    assert rows[0]["journal.run"] == "x" and rows[0]["run"] == rows[0]["value"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["one.db", "two.db", "--front"], "--front: expected one journal, got 2"),
        (["one.db", "two.db", "--follow"], "--follow: expected one journal, got 2"),
        (["one.db", "--only", "ok"], "--only: expected with --csv alone: lamcts show one.db --csv --only ok"),
        (["one.db", "--csv", "--only", "good"], "--only: invalid choice: 'good'"),
        (["one.db", "none.db"], "there is no journal at none.db"),
    ],
)
def test_a_mistake_is_one_line(capsys, words, message):
    code, out, err = said(capsys, "show", *words)
    assert code == 2 and message in err and err.count("\n") == 1 and not out


def test_the_name_of_a_single_objective_is_read_back(capsys):
    assert lamcts.load("one.db").history.goals.names == ("loss",)
    assert [*lamcts.load("one.db").rows()[0]] == ["trial", "loss", "a", "b", "b_squared", "seconds", "message"]
    assert "direction    minimize loss" in said(capsys, "show", "one.db")[1]


@pytest.mark.parametrize("names", [5, "loss", [""], [5], ["a", "b"], None])
def test_notes_of_users_that_are_no_name_are_left_alone(names):
    about = {"objectives": names}
    lamcts.minimize(lambda p: p["a"], SPACE, budget=3, journal="odd.db", about=about, **OPTIONS)
    assert lamcts.load("odd.db").history.goals.names == ("value",)
