"""`lamcts run --fix NAME=VALUE`: the rest is searched, and points are whole."""

from pathlib import Path

import pytest
from commands import said

QUIET = ["--no-plot", "--quiet", "--sampler", "uniform", "--budget", "4", "--out", "r"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text('def f(p):\n    return p["a"] + p["b"] + len(p["c"])\n')


def columns(out):
    return [line.split(",")[2:-3] for line in out.splitlines()]


def test_parameters_keep_their_values(capsys):
    own = ["run", "mine.py:f", "--param", "a=0:1", "--param", "b=1:9:int", "--param", "c=u,vv", *QUIET]
    assert said(capsys, *own, "--fix", "b=3", "--fix", "c=vv")[0] == 0
    names, *rows = columns(said(capsys, "show", "r", "--csv")[1])
    assert (
        names == ["a", "b", "c"] and {(b, c) for _, b, c in rows} == {("3", "vv")} and len({a for a, *_ in rows}) == 4
    )


def test_a_coordinate_of_an_array_goes_by_its_number(capsys):
    assert said(capsys, "run", "ackley", "--dim", "3", "--fix", "x2=0.5", *QUIET)[0] == 0
    assert {row[1] for row in columns(said(capsys, "show", "r", "--csv")[1])[1:]} == {"0.5"}


@pytest.mark.parametrize(
    ("fix", "message"),
    [
        ("x9=1", "--fix: expected a name out of x1, x2, x3, got 'x9'"),
        ("x1", "--fix: expected NAME=VALUE"),
        ("x1=99", "--fix"),
    ],
)
def test_what_cannot_be_fixed_is_one_line(capsys, fix, message):
    code, _, err = said(capsys, "run", "ackley", "--dim", "3", "--fix", fix, *QUIET)
    assert code == 2 and message in err and err.count("\n") == 1
