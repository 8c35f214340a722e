"""The script and its tables: what a row says, goals, and pairs whose errors compare between problems."""

import sys

import pytest

from benchmarks.constrained import measured_problems as mp
from benchmarks.constrained import runs as measured
from benchmarks.harness import sheet
from benchmarks.harness.measured import MeasuredSearch
from benchmarks.harness.sheet import RESULTS
from benchmarks.tables import measured as tables
from benchmarks.tables.goals import GOALS, Goal

WORDS = ("--problems", "gramacy", "--budget", "30", "--seeds", "0", "--here")


def main(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["measured", *words])
    measured.main()


def row(method, problem, seed, **cells):
    usual = {"method": method, "problem": problem, "seed": str(seed), "batch": "1", "budget": "100"}
    usual |= {"evaluations": "100", "first_feasible": "3", "feasible": "50", "own_ms": "1"}
    return usual | {name: str(value) for name, value in cells.items()}


def cells(text):
    """Return the lines of a markdown table by their first cell, the header as "header"."""
    header, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return {"header": header[1:]} | {line[0]: line[1:] for line in lines}


def test_a_row_holds_the_best_feasible_value_at_the_marks_and_nothing_before_the_first():
    search = searched([[0.0, 0.0]] * 30 + [[0.6, 0.6]] + [[0.0, 0.0]] * 19)
    told = measured.told(search)
    assert "at_25" not in told and told["at_50"] == "1.2" and "at_100" not in told
    assert (told["first_feasible"], told["feasible"], told["evaluations"]) == (31, 1, 50)
    assert "first_feasible" not in measured.told(searched([[0.0, 0.0]] * 25))


def searched(points):
    """Return a finished search that has met these points of a sum that the wave near 0 forbids."""
    search = MeasuredSearch(mp.make("gramacy", 0), 0, len(points))
    search.outcomes(points)
    search.finish()
    return search


def test_rows_are_made_once_and_a_label_keeps_them_apart(monkeypatch, tmp_path, capsys):
    out = ("--out", str(tmp_path / "rows.csv"))
    main(monkeypatch, *WORDS, *out, "--methods", "random", "cobyla")
    main(monkeypatch, *WORDS, *out, "--methods", "random", "cobyla")
    assert capsys.readouterr().out.count("'method'") == 2
    main(monkeypatch, *WORDS, *out, "--methods", "random", "--as", "random, before")
    old, _, new = sheet.read(tmp_path / "rows.csv")
    assert (old.pop("method"), new.pop("method")) == ("random", "random, before")
    assert old["at_25"] == new["at_25"] and old["feasible"] == new["feasible"]
    with pytest.raises(SystemExit):
        main(monkeypatch, *WORDS, *out, "--as", "two")


def test_methods_are_run_on_what_they_are_for_and_words_name_sets(monkeypatch, tmp_path):
    out = ("--out", str(tmp_path / "rows.csv"))
    main(monkeypatch, *WORDS, *out, "--problems", "gramacy", "bnh", "--methods", "random", "cobyla")
    assert [(r["problem"], r["method"]) for r in sheet.read(tmp_path / "rows.csv")] == [
        ("gramacy", "random"),
        ("gramacy", "cobyla"),
        ("bnh", "random"),
    ]
    assert measured.asked(["constrained", "g4", "bnh"]) == [*mp.CONSTRAINED, "bnh"]


def test_what_is_missing_is_skipped_with_a_word(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("LAMCTS_DATA", str(tmp_path))
    monkeypatch.setattr(measured.peers, "absent", lambda package: package)
    main(monkeypatch, "--problems", "nb201-flops", "--methods", "scbo", "--out", str(tmp_path / "rows.csv"))
    text = capsys.readouterr().out
    assert "skipped nb201-flops: there is no nasbench201.npz" in text and "'botorch'" in text
    assert not (tmp_path / "rows.csv").exists()


def test_errors_are_relative_to_the_optimum_or_what_is_missing_of_the_hypervolume():
    cell = {str(s): row("a", "g1", s, at_100=value) for s, value in enumerate((-15, -13.5, ""))}
    assert tables.errors("g1", cell, 100) == pytest.approx([-10, -1, tables.INFEASIBLE])
    assert tables.errors("ackley-10", {"0": row("a", "ackley-10", 0, at_100=0.01)}, 100) == pytest.approx([-2])
    largest = mp.make("branin-currin", 0).hypervolume
    assert tables.errors("branin-currin", {"0": row("a", "", 0, at_100=largest - 0.1)}, 100) == pytest.approx([-1])


def test_medians_count_a_run_without_a_feasible_point_as_the_worst():
    rows = [row("a", "g1", s, at_50=v, at_100=v, first_feasible=f) for s, (v, f) in enumerate([(-14, 5), ("", "")])]
    rows += [row("a", "g1", 2, at_50=-12, at_100=-12, first_feasible=9)]
    found = cells(tables.reached(tables.runs_by_problem(rows), 100))
    assert found["header"] == ["method", "at 50", "at 100", "log10 error", "first feasible", "feasible", "seeds"]
    assert found["g1"] == ["a", "-12", "-12", "-0.70", "9", "50%", "3"]
    assert cells(tables.reached(tables.runs_by_problem(rows[1:2]), 100))["g1"][1:5] == ["none", "none", "10.00", "none"]


def test_goals_are_in_bold_where_they_are_met_and_empty_where_no_run_went_so_far():
    near, far = 2994.4710661 * (1 + 5e-4), 3100
    rows = [row("a", "speed-reducer", 0, at_100=near), row("b", "speed-reducer", 0, at_100=far)]
    rows += [row("c", "speed-reducer", 0, evaluations=50), row("a", "dtlz2-30", 0, evaluations=500, at_500=0.4)]
    found = cells(tables.goals(tables.runs_by_problem(rows), 500))
    assert found["speed-reducer"] == ["log10 error <= -3 at 100", "**-3.30103**", "-1.45295", ""]
    assert found["dtlz2-30"] == [">= 0.38 at 500", "**0.4**", "", ""]
    assert tables.goals(tables.runs_by_problem(rows), 50) == ""


def test_goals_are_of_problems_and_marks_that_there_are():
    assert all(goal.problem in mp.ALL and goal.mark in measured.MARKS for goal in GOALS)
    assert tables.MARKS == measured.MARKS
    assert Goal("g1", 100, 2, least=True).met(2) and not Goal("g1", 100, 2).met(2.1)


def test_pairs_are_by_seed_at_the_last_mark_that_both_reached():
    rows = [row("lamcts", "g1", s, at_50=-13.5, at_100=-14.85) for s in (0, 1)]
    rows += [row("other", "g1", s, evaluations=50, at_50=v) for s, v in ((0, -14.985), (1, ""), (2, -15))]
    rows += [row("lamcts", "dtlz2-30", 0, at_100=0.0), row("other", "dtlz2-30", 0, at_100=0.0)]
    found = cells(tables.beside(tables.runs_by_problem(rows), 100))
    assert found["header"] == ["median", "behind", "pairs", "Wilcoxon", "g1", "dtlz2-30"]
    assert found["other"][:3] == ["+0.00", "50%", "3"]  # ahead by two decades, infeasible, equal
    assert found["other"][4:] == ["+4.50", "+0.00"]


def test_tables_are_of_the_methods_seeds_and_batches_that_were_asked_for(monkeypatch, tmp_path, capsys):
    out = ("--out", str(tmp_path / "rows.csv"))
    main(monkeypatch, *WORDS, *out, "--seeds", "0-2", "--methods", "random", "lamcts quadratic", "cobyla")
    capsys.readouterr()
    main(monkeypatch, *WORDS, *out, "--table", "--seeds", "0-1", "--methods", "random", "cobyla")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| gramacy")]
    assert [line.split(" | ")[1] for line in lines] == ["random", "cobyla"]
    assert all(line.endswith("| 2 |") for line in lines)
    main(monkeypatch, *WORDS, *out, "--table", "--batch", "8")
    assert capsys.readouterr().out.strip() == ""


def test_committed_rows_are_of_known_problems_each_once():
    rows = sheet.read(RESULTS / "measured.csv")
    assert {r["problem"] for r in rows} <= {*mp.CONSTRAINED, *mp.PARETO}
    assert all(int(r["evaluations"]) == int(r["budget"]) for r in rows)
    assert len({tuple(r[name] for name in measured.KEY) for r in rows}) == len(rows)
