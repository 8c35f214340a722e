"""One setting at a time: what is tried, on which seeds, and what the pairs say."""

import math
import sys
from dataclasses import fields

import pytest

from benchmarks import problems
from benchmarks.harness import sheet
from benchmarks.harness.measure import measure
from benchmarks.harness.sheet import RESULTS
from benchmarks.optimizer import tuning
from benchmarks.optimizer.tuning import DEFAULT, Case
from lamcts import Box
from lamcts.samplers import make

WORDS = ("--dim", "3", "--budget", "30", "--problems", "ackley", "--seeds", "2", "--choices", DEFAULT)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tuning", *words])
    tuning.main()


def row(choice, problem, seed, score):
    return {"choice": choice, "problem": problem, "seed": str(seed), "score": str(score)}


def changes(one, other):
    """Return which settings of two samplers differ."""
    return [f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name)]


def test_a_choice_differs_from_the_default_in_one_setting_or_lacks_one_arm():
    default = make("portfolio", Box(0, 1, dim=20))
    assert tuning.samplers()[DEFAULT] == default
    for name, sampler in tuning.samplers().items():
        if len(sampler.arms) < len(default.arms):
            missing = [arm for arm in default.arms if arm not in sampler.arms]
            assert name == f"without {type(missing[0]).__name__.lower()}" and changes(sampler, default) == ["arms"]
            continue
        parts = {"auto": (sampler, default)} if sampler.arms == default.arms else {}
        parts |= {type(a).__name__.lower(): (a, b) for a, b in zip(sampler.arms, default.arms, strict=True)}
        changed = [(part, a, setting) for part, (a, b) in parts.items() for setting in changes(a, b)]
        found = [f"{part} {setting}={getattr(a, setting):g}" for part, a, setting in changed]
        assert found == ([] if name == DEFAULT else [name])


def test_the_row_of_the_default_is_that_of_the_default_and_an_arm_left_out_is_missed():
    case = Case(DEFAULT, "ackley-3", 10, 2, 60)
    told, _ = tuning.measure(**case._asdict())
    usual, _ = measure(method="lamcts portfolio, tree", problem="ackley-3", batch=10, seed=2, budget=60)
    assert told["best"] == usual["best"] and float(told["score"]) == round(math.log10(float(usual["best"])), 4)
    other, _ = tuning.measure(**case._replace(choice="without quadratic")._asdict())
    assert other["best"] != told["best"]


@pytest.mark.dear
def test_a_row_that_is_there_is_not_made_again_and_another_seed_is_another_row(monkeypatch, tmp_path, capsys):
    out = tmp_path / "tuning.csv"
    run(monkeypatch, *WORDS, "--out", str(out))
    before = out.read_text()
    assert capsys.readouterr().out.count("'best'") == 2
    run(monkeypatch, *WORDS, "--seeds", "2", "3", "--out", str(out))
    assert capsys.readouterr().out.count("'best'") == 2 and out.read_text().startswith(before)
    assert [r["seed"] for r in sheet.read(out)] == ["2", "2", "3", "3"]


@pytest.mark.parametrize("seeds", ["10", "9-10", "100"])
def test_seeds_of_the_tables_are_refused(monkeypatch, tmp_path, capsys, seeds):
    with pytest.raises(SystemExit):
        run(monkeypatch, *WORDS, "--seeds", seeds, "--out", str(tmp_path / "tuning.csv"))
    assert "expected tuning seeds, 0 to 9" in capsys.readouterr().err


def test_committed_rows_are_of_tuning_seeds_and_of_choices_that_are_tried_today():
    rows = sheet.read(RESULTS / "tuning.csv")
    assert rows and {int(r["seed"]) for r in rows} <= set(problems.TUNING)
    assert {r["choice"] for r in rows} <= set(tuning.samplers())


def test_a_choice_is_compared_with_the_default_on_the_same_problem_and_seed():
    low, high = "auto least=0.02", "auto least=0.15"
    rows = [row(DEFAULT, "a", 0, -1), row(DEFAULT, "a", 1, 2), row(DEFAULT, "b", 0, 0.5), row(DEFAULT, "b", 1, 0)]
    rows += [row(low, "a", 0, -2), row(low, "a", 1, 2), row(low, "b", 0, 0.25), row(low, "a", 7, -9)]  # 7: no pair
    rows += [row(high, "b", 1, 3)]
    header, _, *lines = tuning.table(rows).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in (header, *lines)]
    assert cells == [
        ["choice", "pairs", "median", "wins", "losses", "sign test", "a", "b"],
        [low, "3", "-0.25", "2", "0", "0.5", "-0.50", "-0.25"],
        [high, "1", "+3.00", "0", "1", "1", "", "+3.00"],
    ]


def test_rows_of_other_budgets_and_seeds_stay_out_of_the_table(tmp_path):
    rows, case = tuning.Sheet(tmp_path / "tuning.csv", Case._fields, tuning.COLUMNS), Case(DEFAULT, "a", 10, 0, 500)
    for other in (case, case._replace(budget=30), case._replace(seed=1)):
        rows.append(other._asdict() | {"score": other.seed + other.budget})
    assert [row["score"] for row in tuning.asked(rows, [case, case._replace(seed=2)])] == ["500"]


def test_the_sign_test_is_two_sided_and_equal_pairs_say_nothing():
    assert tuning.sign_test(5, 0) == tuning.sign_test(0, 5) == pytest.approx(2 / 2**5)
    assert tuning.sign_test(0, 0) == tuning.sign_test(3, 3) == 1.0
