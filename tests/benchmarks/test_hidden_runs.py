"""The script of hidden constraints: where its problems fail, and what a row and a table say."""

import sys

import numpy as np
import pytest

from benchmarks.constrained import hidden
from benchmarks.harness import sheet


def main(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["hidden", *words])
    hidden.main()


def fails(problem, away):
    """Return whether a problem fails so far from its optimum, [d] in the cube."""
    centre = problem.space.encode(problem._function.centre)
    return np.isnan(problem(problem.space.decode(centre + away), seed=0))


@pytest.mark.parametrize("failure", ["edge", "corner", "far", "ball", "none"])
def test_the_optimum_itself_succeeds_but_where_it_is_a_lure(failure):
    for seed in range(3):
        assert not fails(hidden.Failing("ackley-10", failure, seed), np.zeros(10))
        assert fails(hidden.Failing("ackley-10", "lure", seed), np.zeros(10))


def test_what_is_round_the_optimum_fails_beyond_its_border():
    around = 1e-3 * np.random.default_rng(0).standard_normal((400, 10))
    shares = {}
    for failure in ("edge", "corner", "ball", "far"):
        problem = hidden.Failing("ackley-10", failure, 1)
        shares[failure] = np.mean([fails(problem, away) for away in around])
    assert shares == pytest.approx({"edge": 1 / 2, "corner": 7 / 8, "ball": 1 / 2, "far": 0}, abs=0.06)


def test_crashes_hang_on_the_number_of_the_evaluation_and_not_on_the_point():
    problem = hidden.Failing("ackley-10", "random", 0)
    some = [problem.space.decode(u) for u in np.random.default_rng(0).random((2, 10))]
    crashed = [[np.isnan(problem(point, seed=seed)) for seed in range(500)] for point in some]
    assert crashed[0] == crashed[1] and 0.05 < np.mean(crashed[0]) < 0.15


def test_rows_are_made_once_and_tables_compare_them(monkeypatch, tmp_path, capsys):
    words = ("--out", str(tmp_path / "rows.csv"), "--problems", "rosenbrock-5-rotated edge", "--seeds", "0", "--here")
    words += ("--budget", "50")
    main(monkeypatch, *words, "--methods", "random")
    main(monkeypatch, *words, "--methods", "random")
    main(monkeypatch, *words, "--methods", "random", "--as", "again")
    first, second = sheet.read(tmp_path / "rows.csv")
    assert (first["method"], second["method"]) == ("random", "again") and first["at_50"] == second["at_50"]
    assert 0.2 < float(first["failed"]) < 0.9
    capsys.readouterr()
    main(monkeypatch, *words, "--table", "--against", "random")
    assert "| edge | again | +0.00 | 1 |" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="expected problems such as"):
        main(monkeypatch, "--problems", "nowhere")
