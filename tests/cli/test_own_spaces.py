"""`--space FILE.py:NAME`: spaces without a text form, such as those with rules, on the command line."""

import csv

import pytest

import lamcts
from lamcts.cli import main

SOURCE = """
import lamcts

def mix():
    parts = lamcts.Simplex(["a", "b", "c"], 100, step=5, high=70)
    return lamcts.Valid(parts, lambda point: point["a"] >= point["b"], name="a above b")

box = {"x": lamcts.Float(0, 1)}
number = 3

def broken():
    raise KeyError("no file")
"""
NEW = ["ask", "lab.db", "--space", "mine.py:mix", "--objective=-yield", "--seed", "0", "-n", "3", "-o", "a.csv"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "loss.py").write_text("def loss(point):\n    return point['a'] - point['c']\n")


def test_a_space_with_rules_is_asked_told_and_opened_again(capsys):
    assert main(NEW) == 0
    assert "lamcts tell lab.db a.csv --space mine.py:mix" in capsys.readouterr().err
    with open("a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(float(row["a"]) >= float(row["b"]) and float(row["c"]) <= 70 for row in rows)
    with open("a.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows([row | {"yield": str(i)} for i, row in enumerate(rows)])
    for words in (["tell", "lab.db", "a.csv"], ["ask", "lab.db"]):
        assert main(words) == 2
        message = capsys.readouterr().err
        assert "--space: expected the run's, since the journal lab.db does not hold it" in message
        assert "--space FILE.py:NAME on the command line" in message
    assert main(["tell", "lab.db", "a.csv", "--space", "mine.py:mix"]) == 0
    assert "3 told as asked" in capsys.readouterr().out
    assert main(["ask", "lab.db", "--space", "mine.py:mix"]) == 0  # the journal has the other settings
    assert main(["ask", "lab.db", "--space", "mine.py:mix", "--objective=other"]) == 2
    assert "of another run" in capsys.readouterr().err
    assert main(["tell", "lab.db", "a.csv", "--space", "mine.py:box"]) == 2
    assert "of another run" in capsys.readouterr().err


def test_a_run_takes_a_space_of_a_file_and_resumes():
    for budget in ("6", "9"):
        words = ["--space", "mine.py:mix", "--journal", "run.db", "--budget", budget, "--seed", "0", "--out", "out"]
        assert main(["run", "loss.py:loss", *words]) == 0
    result = lamcts.load("run.db", space=lamcts.Simplex(["a", "b", "c"], 100, step=5, high=70))
    assert result.nfev == 9 and all(point["a"] >= point["b"] for point in result.history.points)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ("mine.py:number", "expected"),
        ("mine.py:broken", "--space: mine.py:broken raised KeyError: 'no file'"),
        ("mine.py:other", "got 'other'"),
        ("none.py:mix", "expected a Python file"),
        ("mine:mix", "expected a .json or .toml file, FILE.py:NAME, or LOW:HIGH with --dim"),
    ],
)
def test_what_is_no_space_is_an_error(capsys, space, message):
    assert main(["ask", "lab.db", "--space", space]) == 2
    assert message in capsys.readouterr().err
    assert main(["ask", "lab.db", "--space", "mine.py:box", "--param", "y=0:1"]) == 2
    assert "expected a .json or .toml file next to --param, got FILE.py:NAME" in capsys.readouterr().err
    assert main(["ask", "lab.db", "--space", "mine.py:box", "--dim", "3"]) == 2
    assert "--dim: expected only with --space=LOW:HIGH" in capsys.readouterr().err


def test_a_dict_of_parameters_is_a_space(capsys):
    assert main(["ask", "lab.db", "--space", "mine.py:box"]) == 0
    assert capsys.readouterr().out.startswith("trial,x,value")
