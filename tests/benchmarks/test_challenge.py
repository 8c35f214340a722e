"""The setting of the 2020 challenge: problems, the score counted by hand, and runs of 16 rounds of 8."""

import argparse
import math
import sys

import numpy as np
import pytest

from benchmarks.challenge import models, runs, score

pytest.importorskip("sklearn")


def row(method, problem, seed, best, median=""):
    marks = {f"best_{m}": str(best) for m in score.MARKS}
    return {"method": method, "problem": problem, "seed": str(seed), "median": str(median), "own_seconds": "1"} | marks


ROWS = [
    row("random", "p", 0, 6, 10),
    row("random", "p", 1, 8, 10),
    row("lamcts", "p", 0, 2),
    row("lamcts", "p", 1, 4),
    row("late", "p", 0, 20),
]


def test_scaled_losses_are_shares_of_the_way_from_the_best_to_the_median_random_loss():
    assert score.scaled(np.array([2.0, 6.0, 30.0, -30.0]), 2, 10).tolist() == [0, 0.5, 1, -1]
    with pytest.raises(ValueError, match="expected a median random loss above"):
        score.scaled(np.array([2.0]), 2, 2)


def test_scores_ranks_and_pairs_are_those_counted_by_hand():
    text = score.tables([r for r in ROWS if r["method"] != "late"], score.MARKS)
    assert "Problems: 1. Runs of each method: 2." in text
    lines = {
        cells[1].strip(): [c.strip() for c in cells[2:]] for line in text.splitlines() if (cells := line.split("|"))[1:]
    }
    assert lines["lamcts"][4:6] == ["87.5", "1.00"]  # losses 0 and 2 of 8
    assert lines["random"][4:6] == ["37.5", "2.00"] and lines["random"][6].startswith("2:0")


def test_only_seeds_of_all_methods_count():
    text = score.tables(ROWS, score.MARKS)
    assert "Problems: 1. Runs of each method: 1." in text
    assert "| late | 0.0 |" in text  # clipped at the median random loss


@pytest.mark.parametrize("name", models.PROBLEMS)
def test_the_same_point_has_the_same_loss_and_others_have_others(name):
    problem = models.find(name)
    rng = np.random.default_rng(0)
    points = [problem.space.decode(x) for x in rng.random((6, problem.space.dim))]
    losses = [problem(point) for point in points]
    assert problem(dict(points[0])) == losses[0] == problem.function.__wrapped__(points[0])
    assert all(math.isfinite(loss) for loss in losses) and len(set(losses)) > 1


def test_parameters_on_a_logit_scale_reach_the_model_as_shares():
    model = models.CLASSIFIERS["tree"]
    low, high = (model.parameters["min_samples_leaf"].low, model.parameters["min_samples_leaf"].high)
    assert models._value(model, "min_samples_leaf", low) == pytest.approx(0.01)
    assert models._value(model, "min_samples_leaf", high) == pytest.approx(0.49)
    assert models._value(model, "max_depth", 3) == 3


@pytest.mark.parametrize("name", ["tree", "tree-moon-acc", "ada-diabetes-mse", "svm-iris-rank"])
def test_problems_that_are_none_are_refused(name):
    with pytest.raises(ValueError, match="expected a"):
        models.find(name)


def test_a_run_has_a_row_with_the_best_after_each_mark():
    case = runs.Case("random", "tree-diabetes-mse", 8, 0, 16, "random")
    found, _ = runs.measure(**case._asdict())
    assert float(found["best_8"]) >= float(found["best_16"]) and "best_32" not in found
    assert float(found["median"]) >= float(found["best_16"])


def test_methods_without_their_package_are_skipped(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["runs", "--methods", "random", "hebo", "--seeds", "0"])
    monkeypatch.setattr(runs.native, "missing", lambda name: "HEBO" if name == "hebo" else "")
    arguments: argparse.Namespace = runs.script.parsed(runs.options())
    made = runs.cases(arguments)
    assert {case.runs for case in made} == {"random"} and {case.batch for case in made} == {8}
    assert "skipped hebo: HEBO is not installed" in capsys.readouterr().out
