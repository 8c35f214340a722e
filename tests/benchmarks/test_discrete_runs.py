"""The script and its tables: what a row says, and the arithmetic of areas, ranks and pairs."""

import math
import sys

import numpy as np
import pytest

from benchmarks.discrete import discrete_problems as dp
from benchmarks.discrete import runs as discrete
from benchmarks.discrete.discrete_problems.bits import onemax
from benchmarks.harness import sheet
from benchmarks.harness.search import Search
from benchmarks.harness.sheet import RESULTS
from benchmarks.tables import discrete as tables

WORDS = ("--problems", "onemax", "--budget", "24", "--seeds", "0")


def main(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["discrete", *words])
    discrete.main()


def searched(values, problem=None, budget=None):
    """Return a search that has met these losses."""
    search = Search(problem or onemax(), 0, budget or len(values))
    search.values = [float(value) for value in values]
    return search


def row(method, problem, seed, **cells):
    usual = {"method": method, "problem": problem, "seed": str(seed), "batch": "1", "budget": "100", "hit": ""}
    usual |= {"regret_30": "1", "regret_100": "1", "area_100": "1", "own_ms_100": "1"}
    return usual | {name: str(value) for name, value in cells.items()}


def cells(text):
    """Return the lines of a markdown table by their first cell, the header as "header"."""
    header, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return {"header": header[1:]} | {line[0]: line[1:] for line in lines}


def test_the_curve_is_the_best_regret_so_far_and_goes_on_where_the_space_was_used_up():
    assert discrete.curve(searched([3, math.nan, 1, 2], budget=6), 6).tolist() == [3, 3, 1, 1, 1, 1]
    assert discrete.curve(searched([math.nan, 2, 3]), 3).tolist() == [2, 2, 2]  # as the first success
    with pytest.raises(RuntimeError, match="none of 2 evaluations succeeded"):
        discrete.curve(searched([math.nan] * 2), 2)


def test_regret_is_measured_from_the_optimum_else_from_the_bound_whatever_the_sign():
    up = dp.Discrete("up", onemax().space, len, maximize=True, optimum=10.0)
    assert discrete.curve(searched([-7, -9], up), 2).tolist() == [3, 1]
    assert dp.regret(dp.Discrete("low", onemax().space, len, bound=2.0), 5.0) == 3
    assert dp.regret(dp.hidden(up, 0), 4.0) == 6


def test_the_area_is_the_mean_over_evaluations_11_to_the_end():
    regrets = np.array([9.0] * 10 + [4.0] * 45 + [2.0] * 45 + [1.0] * 200)
    assert discrete.area(regrets, 100) == 3.0
    assert discrete.area(regrets, 300) == pytest.approx((90 * 3 + 200) / 290)


def test_a_row_says_when_the_optimum_was_reached_and_how_many_values_were_different():
    search = Search(onemax(3), 0, 40)
    points = [{"b00": bool(k & 1), "b01": bool(k & 2), "b02": bool(k & 4)} for k in range(8)]
    search.evaluate_all(points + points[:4] * 8)
    search.finish()
    told = discrete.told(search, 40)
    assert told["hit"] == 8 and told["distinct"] == 4 and told["evaluations"] == 40 and told["failures"] == 0
    assert told["regret_10"] == "0" and "regret_60" not in told and "area_100" not in told
    assert "hit" not in discrete.told(searched_again(points[:7]), 7)


def searched_again(points):
    search = Search(onemax(3), 0, len(points))
    search.evaluate_all(points)
    search.finish()
    return search


def test_rows_are_made_once_and_a_label_keeps_them_apart(monkeypatch, tmp_path, capsys):
    out = ("--out", str(tmp_path / "rows.csv"))
    main(monkeypatch, *WORDS, *out, "--methods", "random", "local search")
    main(monkeypatch, *WORDS, *out, "--methods", "random", "local search")
    assert capsys.readouterr().out.count("'method'") == 2
    main(monkeypatch, *WORDS, *out, "--methods", "random", "--as", "random 0.1")
    old, _, new = sheet.read(tmp_path / "rows.csv")
    assert (old.pop("method"), new.pop("method")) == ("random", "random 0.1")
    assert old == new  # but for the name: no own times at this budget
    with pytest.raises(SystemExit):
        main(monkeypatch, *WORDS, *out, "--as", "two")


def test_runs_in_this_process_have_the_same_rows(monkeypatch, tmp_path):
    for name, here in (("a.csv", ()), ("b.csv", ("--here",))):
        main(monkeypatch, *WORDS, "--methods", "evolution", "--out", str(tmp_path / name), *here)
    assert sheet.read(tmp_path / "a.csv") == sheet.read(tmp_path / "b.csv")


def test_problems_without_their_table_are_skipped_with_a_word(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("LAMCTS_DATA", str(tmp_path))
    main(monkeypatch, "--problems", "macro", "--out", str(tmp_path / "rows.csv"))
    assert "skipped macro: there is no nasbench_macro.npz" in capsys.readouterr().out
    assert not (tmp_path / "rows.csv").exists()


def test_means_shares_and_evaluations_to_the_optimum_with_cut_runs_marked():
    rows = [row("a", "p", s, regret_30=s, hit=hit) for s, hit in enumerate((20, 40, "", 150))]
    found = cells(tables.regret(tables.runs_by_problem(rows), [30, 100]))
    assert found["header"] == ["method", "at 30", "at 100", "at the optimum", "evaluations to it", "seeds"]
    assert found["p"] == ["a", "1.5", "1", "50%", "65+", "4"]  # (20 + 40 + 100 + 100) / 4
    all_there = {"0": row("a", "p", 0, hit=10), "1": row("a", "p", 1, hit=20)}
    assert tables.reached(all_there, 100) == ("100%", "15")
    assert tables.reached({"0": row("a", "p", 0)}, 100) == ("0%", "")


def test_ranks_are_means_over_seeds_and_over_problems_that_all_methods_have():
    regrets = {("a", 0): 1, ("b", 0): 2, ("c", 0): 3, ("a", 1): 2, ("b", 1): 2, ("c", 1): 1}
    rows = [row(method, "p", seed, regret_30=value) for (method, seed), value in regrets.items()]
    rows += [row("a", "q", 0)]  # the others have none
    found = cells(tables.ranked(tables.runs_by_problem(rows), [30]))
    assert found == {"header": ["at 30", "problems"], "a": ["1.75", "1"], "b": ["2.25", "1"], "c": ["2.00", "1"]}


def test_areas_are_ratios_of_means_by_problem_and_pairs_by_seed():
    rows = [row("lamcts", "p", s, area_100=a) for s, a in enumerate((1, 3, 7))]
    rows += [row("other", "p", s, area_100=a) for s, a in enumerate((3, 5))]  # the third seed has no pair
    rows += [row("lamcts", "q", 0, area_100=2), row("other", "q", 0, area_100=1)]
    found = cells(tables.areas(tables.runs_by_problem(rows), 100))
    assert found["header"] == ["ratio", "behind", "pairs", "Wilcoxon", "p", "q"]
    assert found["other"] == ["1.00", "67%", "3", "0.75", "2.00", "0.50"]  # sqrt(2 * 0.5); 2 * 3 / 2^3


def test_areas_may_be_compared_with_any_method():
    rows = [row(method, "p", 0, area_100=area) for method, area in (("lamcts", 4), ("lamcts 0.1", 2), ("other", 1))]
    found = cells(tables.areas(tables.runs_by_problem(rows), 100, "lamcts 0.1"))
    assert (found["lamcts"][0], found["other"][0]) == ("2.00", "0.50") and "lamcts 0.1" not in found


def test_tables_are_of_the_methods_seeds_and_batches_that_were_asked_for(monkeypatch, tmp_path, capsys):
    out = ("--out", str(tmp_path / "rows.csv"))
    main(monkeypatch, "--problems", "onemax", "--budget", "30", "--seeds", "0-2", "--here", *out)
    capsys.readouterr()
    main(monkeypatch, *WORDS, *out, "--table", "--seeds", "0-1", "--methods", "random", "tpe")
    text = capsys.readouterr().out
    lines = [line for line in text.splitlines() if line.startswith("| onemax")]
    assert [line.split(" | ")[1] for line in lines] == ["random", "tpe"]
    assert all(line.endswith("| 2 |") for line in lines)
    main(monkeypatch, *WORDS, *out, "--table", "--batch", "8")
    assert capsys.readouterr().out.strip() == ""


def test_no_area_is_as_good_as_another_and_ratios_stay_finite():
    rows = [row(m, "p", 0, area_100=0) for m in ("lamcts", "other")]
    rows += [row("lamcts", "q", 0, area_100=0), row("other", "q", 0, area_100=1)]
    ratio = tables.compared({p: (f["other"], f["lamcts"]) for p, f in tables.runs_by_problem(rows).items()}, 100)
    assert ratio.each == {"p": 1.0, "q": pytest.approx(1000)} and ratio.won == 0.75


def test_wilcoxon_is_two_sided_and_equal_pairs_say_nothing():
    assert tables.wilcoxon([1, 2, 3, 4, 5]) == tables.wilcoxon([-1, -2, -3, -4, -5]) == pytest.approx(2 / 2**5)
    assert tables.wilcoxon([0, 0]) == 1.0


def test_of_several_budgets_the_largest_counts_and_smaller_ones_stay_out():
    rows = [row("lamcts", "p", 0, regret_30=1), row("lamcts", "p", 0, budget=300, regret_30=2)]
    rows += [row("lamcts", "p", 0, budget=30, regret_30=9)]
    assert tables.runs_by_problem(rows)["p"]["lamcts"]["0"]["regret_30"] == "2"
    assert "9" not in tables.tables(rows, 100).split("### Own")[0].split("seeds |")[1]
    assert tables.tables([], 100) == ""


def test_committed_rows_are_of_seeds_that_their_problems_may_have_been_run_on():
    rows = sheet.read(RESULTS / "discrete.csv")
    assert {r["problem"] for r in rows} <= set(dp.ALL)
    assert all(int(r["seed"]) >= 100 for r in rows if r["problem"] in dp.JUDGE)
    assert len({tuple(r[name] for name in discrete.KEY) for r in rows}) == len(rows)
