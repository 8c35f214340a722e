"""The script on mixtures and subsets: problems have their minimum 0, transforms are uniform, the table counts seeds."""

import numpy as np
import pytest

from benchmarks.discrete import mixtures
from benchmarks.discrete.mixtures import KEY, PROBLEMS, SIZES, Run, by_log, by_sticks, measure, table
from benchmarks.harness.sheet import RESULTS, Sheet


@pytest.mark.parametrize("problem", [*SIZES])
def test_losses_of_mixtures_are_positive_and_reach_zero(problem: str) -> None:
    import lamcts

    loss, space = PROBLEMS[problem](np.random.default_rng(3)), lamcts.Simplex(SIZES[problem])
    assert min(loss(np.array(p)) for p in space.decode_many(space.sample(200, np.random.default_rng(0)))) > 0
    assert abs(lamcts.minimize(lambda p: loss(np.array(p)), space, budget=150, seed=0).fun) < 1e-3


def test_the_best_subset_has_no_gap_and_a_large_one_is_penalised() -> None:
    loss = PROBLEMS["features"](np.random.default_rng(0))
    assert loss(range(7)) == 1.2 and 0 < loss([0, 0, 1]) < 1
    assert min(loss(chosen) for chosen in mixtures.combinations(range(20), 5)) == 0


@pytest.mark.parametrize("transform", [by_log, by_sticks])
def test_transforms_of_uniform_draws_are_flat(transform: object) -> None:
    u = np.random.default_rng(0).random((3000, 4 if transform is by_log else 3))
    p = np.array([transform(row) for row in u])  # type: ignore[operator]
    assert np.allclose(p.sum(1), 1) and np.allclose(p.mean(0), 0.25, atol=0.02)
    assert np.allclose(p.var(0), 3 / 80, atol=0.004)


@pytest.mark.parametrize(("problem", "method"), [("sparse", "lamcts"), ("features", "lamcts"), ("features", "random")])
def test_a_run_has_its_gaps(problem: str, method: str) -> None:
    row = measure(Run(problem, method, 0), 24)
    assert 0 <= float(row["at_100"]) == float(row["at_50"]) < 1


def test_the_docs_have_the_table_of_the_rows_that_are_kept() -> None:
    rows = Sheet(RESULTS / "mixtures.csv", KEY, mixtures.COLUMNS).rows()
    assert len(rows) == 190 and table(rows) in (RESULTS.parents[1] / "docs" / "benchmarks.md").read_text()


def test_the_table_has_medians_and_counts_seeds() -> None:
    rows = [
        dict(zip(KEY, ("blend", method, str(seed)), strict=True)) | {"at_50": "0.5", "at_100": str(gap + seed)}
        for method, gap in (("lamcts", 0.0), ("optuna", 0.5))
        for seed in range(5)
    ]
    assert table(rows).splitlines()[-1] == "| blend | optuna | 0.5 | 2.5 | 5 of 5 | 0.062 |"
