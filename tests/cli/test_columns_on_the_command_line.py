"""`lamcts run`, `show` and `plot` with constraints and several objectives."""

import csv
import json
import sys
from pathlib import Path

import pytest

from lamcts.cli import main

MINE = """
def f(point):
    a, b = point["a"], point["b"]
    return {"cost": a**2 + b, "range": a + b, "stress": 100 * a + 50 * b}

def own(point):
    return f(point)

own.objectives, own.constraints = {"cost": "min", "range": "max"}, ("stress <= 250",)
"""
PROGRAM = """
import json, sys
a, b = map(float, sys.argv[1:])
print("cost=%r range=%r" % (a * a + b, a + b))
print(json.dumps({"cost": a * a + b if a < 2 else None, "range": a + b if a < 2 else None, "stress": 100 * a}))
"""
SPACE = ["--param", "a=0:3", "--param", "b=0:5"]
HOW = [*SPACE, "--seed", "1", "--sampler", "uniform", "--quiet"]
BOTH = ["--objective", "cost", "--objective", "-range"]
BOUND = ["--constraint", "stress<=250"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "prog.py").write_text(PROGRAM)


def run(*words):
    return main(["run", *words, *HOW])


def found_in(folder):
    return json.loads(Path(folder, "result.json").read_text())


@pytest.mark.dear
def test_a_front_is_searched_said_written_and_drawn(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    reference = ["--reference", "cost=10", "--reference", "range=0"]
    assert run("mine.py:f", *BOTH, *BOUND, *reference, "--budget", "30", "--out", "r") == 0
    said = capsys.readouterr().out
    assert "objectives: cost (min), range (max); constraints: stress <= 250" in said
    found = json.loads((tmp_path / "r/result.json").read_text())
    assert (
        f"front of {len(found['front'])} points, hypervolume " in said and "(reference point cost 10, range 0)" in said
    )
    assert found["best"]["feasible"] and found["best"]["point"]["a"] <= 2.5
    assert set(found["best"]["value"]) == {"cost", "range"} and found["reference"] == {"cost": 10, "range": 0}
    with (tmp_path / "r/front.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["cost"]) for row in rows] == [row["cost"] for row in found["front"]]
    assert {path.stem for path in (tmp_path / "r").glob("*.png")} == {"front", "hypervolume", "violation"}
    assert main(["show", "r"]) == 0
    shown = capsys.readouterr().out
    assert "cost (min), range (max)" in shown and "stress <= 250" in shown and " feasible, 0 failed" in shown
    assert f"{len(rows)} points, hypervolume " in shown and "knee " in shown
    assert main(["show", "r", "--front", "--csv"]) == 0
    assert [row["trial"] for row in csv.DictReader(capsys.readouterr().out.splitlines())] == [r["trial"] for r in rows]
    assert main(["show", "r", "--front"]) == 0 and len(capsys.readouterr().out.splitlines()) == len(rows) + 1
    for kind in ("front", "parallel", "hypervolume", "violation"):
        assert main(["plot", "r", "--kind", kind]) == 0 and (tmp_path / f"r/journal-{kind}.png").stat().st_size > 5000
    assert main(["plot", "r", "--kind", "best"]) == 0
    assert {path.name for path in (tmp_path / "r").glob("journal-best-*.png")} == {
        "journal-best-cost.png",
        "journal-best-range.png",
    }


def test_the_best_is_feasible_and_higher_is_better_behind_a_minus(capsys):
    assert run("mine.py:f", "--objective", "-range", *BOUND, "--budget", "30", "--out", "r", "--no-plot") == 0
    found = found_in("r")
    assert found["best"]["feasible"] and found["best"]["constraints"]["stress"] <= 250
    best, place = f"{found['best']['value']:.6g}", f"in trial {found['best']['trial']}"
    assert f"best {best} {place}, of 30 evaluations" in capsys.readouterr().out
    main(["show", "r"])
    assert f"best         {best} {place}" in capsys.readouterr().out


def test_where_nothing_is_feasible_it_says_by_how_much(capsys):
    bound = ["--constraint", "stress<=-5"]
    assert run("mine.py:f", "--objective", "cost", *bound, "--budget", "12", "--out", "r", "--no-plot") == 0
    over = found_in("r")["best"]["violation"]
    assert "no feasible point; least infeasible in trial" in capsys.readouterr().out
    main(["show", "r"])
    shown = capsys.readouterr().out
    assert f"infeasible, violation {over:.6g} (stress <= -5 by {over:.6g})" in shown and "(0 feasible, " in shown


def test_a_function_brings_its_own_goals(capsys):
    assert run("mine.py:own", "--budget", "8", "--out", "r", "--no-plot") == 0
    assert "objectives: cost (min), range (max); constraints: stress <= 250" in capsys.readouterr().out


def test_an_objective_of_the_package_brings_its_own_goals(capsys):
    assert main(["run", "gramacy", "--budget", "8", "--out", "r", "--no-plot", "--quiet", "--sampler", "uniform"]) == 0
    assert "objectives: sum (min); constraints: wave <= 0, circle <= 1.5" in capsys.readouterr().out


def test_a_program_prints_an_object_and_null_says_that_it_was_not_run(capsys):
    command = ["--command", f"{sys.executable} prog.py {{a}} {{b}}"]
    assert run(*command, *BOTH, *BOUND, "--budget", "9", "--out", "r", "--no-plot") == 0
    found = found_in("r")
    assert all(row["a"] < 2 for row in found["front"]) and found["front"]
    capsys.readouterr()
    main(["show", "r"])
    assert " checked and not run)" in capsys.readouterr().out


def test_patterns_find_numbers_by_name_and_belong_to_the_run(capsys):
    command = ["--command", f"{sys.executable} prog.py {{a}} {{b}}", *BOTH, "--out", "r", "--no-plot"]
    patterns = ["--pattern", r"cost=cost=(\S+)", "--pattern", r"range=range=(\S+)"]
    assert run(*command, *patterns, "--budget", "3") == 0 == run(*command, *patterns, "--budget", "5")
    found = found_in("r")
    for row in found["front"]:
        assert row["cost"] == row["a"] ** 2 + row["b"] and row["range"] == row["a"] + row["b"]
    assert run(*command, "--pattern", r"cost=(\d+)", "--budget", "5") == 2


def test_other_names_that_a_program_prints_are_metrics_of_the_best_and_columns(capsys, tmp_path):
    line = '{"cost": float(sys.argv[1]), "epochs": 3, "data": "mnist", "curve": [1, 2], "a": 1, "": 2}'
    (tmp_path / "p.py").write_text(f"import json, sys\nprint(json.dumps({line}))\n")
    command = ["--command", f"{sys.executable} p.py {{a}} {{b}}", "--objective", "cost"]
    assert run(*command, "--budget", "3", "--out", "r", "--no-plot") == 0
    assert found_in("r")["best"]["metrics"] == {"epochs": 3, "data": "mnist"}
    capsys.readouterr()
    assert main(["show", "r"]) == 0 and "metrics      epochs 3, data mnist\n" in capsys.readouterr().out
    assert main(["show", "r", "--csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert all((row["epochs"], row["data"]) == ("3", "mnist") for row in rows) and "curve" not in rows[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mine.py:f", "--objective", "cost", "--maximize"], "--maximize: expected none with --objective"),
        (["mine.py:f", *BOTH, "--reference", "cost"], "--reference: expected NAME=NUMBER"),
        (["mine.py:f", *BOTH, "--reference", "cost=x"], "--reference: expected a number after the name"),
        (["mine.py:f", *BOTH, "--reference", "cost=1"], "--reference: expected a number for each of cost, range"),
        (["mine.py:f", "--constraint", "stress"], "--constraint: expected 'name <= number'"),
        (["mine.py:f", *BOTH, "--target", "3"], "--target: expected none with several objectives, got 3"),
        (["--command", "true {a} {b}", *BOTH, "--pattern", "x"], "--pattern: expected NAME=REGEX"),
        (["--command", "true {a} {b}", *BOTH, "--pattern", "x=y"], "--pattern: expected a name of cost, range, got"),
        (["--command", "true {a} {b}", "--pattern", "x", "--pattern", "y"], "--pattern: expected one for one number"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_file(capsys, tmp_path, words, message):
    assert run(*words, "--out", "r") == 2
    error = capsys.readouterr().err
    assert message in error and len(error.splitlines()) == 1 and not (tmp_path / "r").exists()


def test_goals_of_the_package_are_its_own(capsys):
    assert main(["run", "gramacy", "--objective", "cost"]) == 2
    assert "--objective: expected only with file.py:function or --command" in capsys.readouterr().err
    assert run("mine.py:f", "--objective", "cost", "--budget", "3", "--out", "r", "--no-plot") == 0
    capsys.readouterr()
    assert main(["show", "r", "--front"]) == 2 and "--front: expected a run with several" in capsys.readouterr().err
    assert main(["show", "r", "--csv"]) == 0 and capsys.readouterr().out.startswith(
        "trial,cost,a,b,range,stress,seconds,message"
    )
