"""The public suites: names of problems, the area under a convergence curve, and tables of rows."""

import importlib.util

import numpy as np
import pytest

from benchmarks import problems
from benchmarks.optimizer import public, public_problems


def test_the_area_is_one_where_every_target_is_reached_at_once_and_zero_where_none_is():
    assert public.area(np.full(10, 1e-9)) == 1.0
    assert public.area(np.full(10, 1e3)) == 0.0
    assert public.area(np.array([1e2, 1e-8])) == pytest.approx(0.5)


def test_a_curve_holds_the_best_gap_after_each_evaluation():
    assert public.filled([1, 3], [5.0, 2.0], 4).tolist() == [5.0, 5.0, 2.0, 2.0]


def test_numbers_are_single_or_ranges():
    assert public.numbers(["76", "101-103"]) == [76, 101, 102, 103]


def test_names_of_public_problems_are_found_and_others_are_not():
    assert problems.find("bbob-f15-i76-20").dim == 20
    assert problems.find("corner-101-5").dim == 5
    assert public_problems.find("ackley-20") is None
    with pytest.raises(ValueError, match="expected a name such as bbob"):
        public_problems.PublicObjective("bbob-f15")


@pytest.mark.skipif(importlib.util.find_spec("ioh") is None, reason="ioh is not installed")
def test_the_gap_at_the_optimum_is_zero_and_in_a_corner_for_corners():
    objective = public_problems.PublicObjective("corner-101-3")
    optimum = np.array(objective._f.optimum.x) - objective._moved
    assert objective(optimum) < 1e-8
    assert (np.abs(optimum) >= public_problems.CORNER).all() and (np.abs(optimum) <= public_problems.HALF_WIDTH).all()
    assert public_problems.PublicObjective("bbob-f1-i76-3")(np.zeros(3)) > 0


def test_tables_rank_methods_on_the_runs_that_all_share():
    rows = [_row("lamcts", "bbob-f1-i76-5", 1e-3, 0.6), _row("cobyqa", "bbob-f1-i76-5", 1.0, 0.3)]
    rows += [_row("lamcts", "bbob-f2-i76-5", 1e-3, 0.6), _row("lamcts", "bbob-f15-i76-5", 1.0, 0.2)]
    rows += [_row("cobyqa", "bbob-f15-i76-5", 2.0, 0.1)]
    words = ["--suites", "bbob", "--dims", "5", "--budget", "20", "--each"]
    text = public.tables(public.options().parse_args([*words, "--seeds", "0"]), rows)
    assert "2 runs, mean rank of 2" in text
    assert "| lamcts | 1.00 | 1.00 | 1.00 | 0.4000 | 0:0 |" in text
    assert "| cobyqa | 2.00 | 2.00 | 2.00 | 0.2000 | 2:0 |" in text
    assert "| lamcts | 0.600 |  |  | 0.200 |  |" in text
    assert "| bbob-f1-i76-5 | 0.001 | 1 |" in text


def _row(method: str, problem: str, gap: float, aocc: float) -> dict[str, str]:
    fields = {"method": method, "problem": problem, "batch": "1", "seed": "0", "budget": "20", "own_ms": "1"}
    return fields | {"gap_10": str(gap), "gap_20": str(gap), "aocc": str(aocc)}
