"""The plan of restarts and tables: which runs are asked for, who is better, and where runs ended."""

import pytest

from benchmarks import peers, problems
from benchmarks.harness.sheet import ROOT
from benchmarks.optimizer import restarts
from benchmarks.plan import restarts as plan
from benchmarks.plan.restarts import PARTS, Part
from benchmarks.tables import restarts as tables

NAMES = {"old": plan.OLD, "new": plan.NEW, "tree": plan.TREE}


def row(method, problem, seed, best, *, batch=10, budget=1000, funnel=""):
    marks = {f"best_{m}": str(best) if m <= budget else "" for m in restarts.MARKS}
    return {"method": method, "problem": problem, "batch": str(batch), "seed": str(seed), "budget": str(budget)} | {
        **marks,
        "funnel": funnel,
    }


def rows(method, problem, values, **more):
    return [row(method, problem, seed, value, **more) for seed, value in enumerate(values)]


def test_every_part_names_problems_and_methods_that_there_are():
    for part in PARTS.values():
        for name in part.problems:
            assert not problems.find(name).held_out
        for method, _ in part.methods:
            peers.find(plan.OURS.get(method, method))
        assert 0 < part.count <= plan.MOST


def test_runs_are_asked_for_seed_by_seed_and_candidates_have_their_own_names():
    part = Part(("ackley-20", "levy-20"), [(plan.NEW, 10), (plan.TREE, 10), ("cma", 1)], 2, 500)
    cases = restarts.asked(part, judge=True, label="trend")
    assert [case.seed for case in cases] == [100] * 6 + [101] * 6
    assert [case.method for case in cases[:3]] == ["trend", "trend, tree", "cma"]
    assert [case.runs for case in cases[:3]] == ["lamcts", "lamcts auto, tree", "cma"]
    assert cases[0].key == ("trend", "ackley-20", "10", "100", "500")
    assert {case.seed for case in restarts.asked(part, judge=False)} == {0, 1}


def test_a_candidate_may_be_any_method_on_some_of_the_seeds_and_problems():
    given = ["--parts", "far", "--as", "mine", "--runs", "lamcts portfolio, tree", "--seeds", "1", "--problems"]
    arguments = restarts.options().parse_args([*given, "levy-20-rotated"])
    cases = restarts.chosen(arguments, "far")
    assert [(case.method, case.runs) for case in cases] == [
        ("mine", "lamcts portfolio, tree"), ("cma bipop", "cma bipop"), ("cma lq", "cma lq")
    ]  # fmt: skip
    assert {(case.seed, case.problem) for case in cases} == {(1, "levy-20-rotated")}
    peers.find(cases[0].runs)


def test_a_run_that_has_a_row_is_not_asked_for_again(tmp_path):
    sheet = restarts.Sheet(tmp_path / "restarts.csv", restarts.KEY, restarts.COLUMNS)
    cases = restarts.asked(PARTS["smoke"], judge=False)
    assert restarts.missing(cases * 2, sheet) == cases
    sheet.append({"method": cases[0].method, **dict(zip(restarts.KEY[1:], cases[0][1:-1], strict=True))})
    assert restarts.missing(cases, sheet) == cases[1:]


def test_a_row_says_what_was_reached_at_the_marks_and_in_which_funnel_it_ended():
    case = restarts.Case("mine", "funnels2-2", 1, 3, 600, "random")
    found, _ = restarts.measure(**case._asdict())
    assert found["method"] == "mine" and found["funnel"] in (0, 1) and set(found) <= set(restarts.COLUMNS)
    assert float(found["best_500"]) >= float(found["best"]) and "best_1000" not in found


def test_better_needs_both_the_test_and_a_share_of_the_gap():
    verdict = lambda ours, theirs: tables.verdict("levy-20", dict(enumerate(ours)), dict(enumerate(theirs))).word  # noqa: E731
    theirs = [1.0 + k / 100 for k in range(8)]
    assert verdict([v / 2 for v in theirs], theirs) == "better"
    assert verdict([v * 2 for v in theirs], theirs) == "worse"
    assert verdict([v * 0.98 for v in theirs], theirs) == "level"  # certain, and next to nothing
    assert verdict([0.1, 3, 0.1, 3, 0.1, 3, 0.1, 0.1], theirs) == "level"  # much, and uncertain
    assert verdict(theirs, theirs) == "level" and verdict([1e-14] * 8, [1e-12] * 8) == "level"
    assert tables.verdict("levy-20", {"0": 1.0}, {"0": 2.0}) is None


def test_rewards_are_better_the_higher_they_are():
    ours, theirs = ({str(k): value + k / 100 for k in range(8)} for value in (4.0, 3.0))
    assert tables.verdict("rover", ours, theirs).word == "better"


def test_medians_stand_beside_each_other_and_are_counted():
    theirs = [4.0 + k for k in range(8)]
    found = rows(plan.OLD, "levy-20", theirs) + rows(plan.NEW, "levy-20", [1.0] * 8) + rows("cma", "levy-20", [0.0] * 8)
    found += rows(plan.TREE, "levy-20", [2.0] * 8) + rows(plan.OLD, "levy-20", [0.0] * 8, batch=1)
    text = tables.medians(found, 500, NAMES, 10)
    assert "| levy-20 | 7.5 | 1 | 2 | better, 0.0078 | worse, 0.0078 | 8 |" in text
    assert "Of 1: 1 better, 0 worse, 0 level." in text
    assert tables.medians(found, 2000, NAMES, 10) == ""


def test_the_old_default_counts_on_the_seeds_that_the_new_one_has():
    found = rows(plan.OLD, "levy-20", [1.0] * 8 + [9.0] * 12) + rows(plan.NEW, "levy-20", [2.0] * 8)
    assert "| levy-20 | 1 | 2 |  | worse, 0.0078 |  | 8 |" in tables.medians(found, 500, NAMES, 10)


def test_peers_stand_beside_each_other_on_the_seeds_that_all_have():
    found = rows(plan.NEW, "levy-20", [1.0, 2.0, 30.0]) + rows("cma", "levy-20", [4.0, 5.0], batch=1)
    found += rows(plan.OLD, "levy-20", [0.0] * 3) + rows(plan.NEW, "ackley-20", [1.0])
    text = tables.tables(found, (500,), NAMES, 10)
    assert "| problem | cma@1 | new default@10 | seeds |" in text and "| levy-20 | 4.5 | 1.5 | 2 |" in text
    assert "| cma@1 | 2.00 |" in text and "old default@10" not in text


def test_one_by_one_stands_beside_tens_and_what_a_tree_changed_is_counted():
    found = rows(plan.NEW, "levy-20", [1.0 + k for k in range(8)])
    found += rows(plan.NEW, "levy-20", [0.1 + k / 99 for k in range(7)], batch=1)
    assert "| levy-20 | 500 | 4 | 0.13 | better, 0.016 | 7 |" in tables.one_by_one(found, (500, 2000), plan.NEW)
    assert tables.with_tree(found, (500, 1000), NAMES, 10) == ""
    found += rows(plan.TREE, "levy-20", [1.0, 2.0, 7.0, 3.0, 6.0])
    said = "A tree left 2 of 5 runs as they were at all marks; 1 ended lower with it and 2 higher."
    assert tables.with_tree(found, (500, 1000), NAMES, 10) == said


def test_the_worst_quarter_of_rewards_and_the_runs_that_end_lower_one_by_one_are_told():
    found = rows(plan.NEW, "rover", [1.0, 2.0, 3.0, 4.0, 5.0]) + rows(plan.OLD, "rover", [0.0] * 4)
    assert "| rover | 500 | 0 | 2 |  | 5 |" in tables.quarters(found, (500, 2000), NAMES, 10)
    assert tables.quarters(rows(plan.NEW, "levy-20", [1.0]), (500,), NAMES, 10) == ""
    found += rows(plan.NEW, "rover", [9.0, 1.0, 3.0], batch=1)  # a reward: more is a lower score
    assert tables.one_by_one(found, (500,), plan.NEW).endswith("Runs one by one: 1 lower and 1 higher at 500.")


def test_a_longer_run_counts_where_there_is_no_shorter_one():
    found = rows("cma", "levy-20", [7.0], budget=5000) + rows("cma", "levy-20", [5.0], budget=1000)
    assert tables.values(found, "levy-20", "cma@10", 1000) == {"0": 5.0}
    assert tables.values(found, "levy-20", "cma@10", 2000) == {"0": 7.0}


def test_the_share_that_ended_in_the_deepest_is_counted():
    found = [row("cma", "funnels2-20", seed, 1.0, funnel=funnel) for seed, funnel in enumerate("0100")]
    assert "| funnels2-20 | 0.75 of 4 |" in tables.deepest(found)


def test_ranks_are_of_the_problems_with_the_most_methods():
    found = rows("a", "levy-20", [1.0, 2.0]) + rows("b", "levy-20", [2.0, 1.5]) + rows("c", "levy-20", [3.0, 3.0])
    found += rows("a", "ackley-20", [9.0]) + rows("b", "ackley-20", [1.0])
    assert tables.ranks(found, 500) == {"a@10": 1.5, "b@10": 1.5, "c@10": 3.0}
    assert tables.ranks(found, 5000) == {}
    assert "| c@10 | 3.00 |" in tables.ranked(found, [500, 5000])


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git checkout")
def test_rows_of_the_old_default_need_its_code(monkeypatch):
    monkeypatch.setattr(restarts, "FROZEN", "0" * 7)
    assert "git does not know that commit" in restarts.changed()
    monkeypatch.setattr(restarts, "FROZEN", "HEAD")
    monkeypatch.setattr(restarts, "PROPOSES", ["no-such-folder"])
    assert restarts.changed() == ""


def test_hours_come_from_rows_where_there_are_some():
    case = restarts.Case(plan.NEW, "ackley-20", 10, 0, 3600, "lamcts")
    stated = plan.hours([case], [])
    assert stated == pytest.approx((3 + 3600 * 6.5e-3) / 3600)
    seen = {"method": plan.NEW, "batch": "10", "dim": "20", "budget": "1000", "own_ms": "999", "objective_s": "1"}
    assert plan.hours([case], [seen]) == pytest.approx((3 + 3600) / 3600)
