"""The script on noise: paired draws, noises of the size that the text gives, and a table of ranks and pairs."""

import numpy as np
import pytest

from benchmarks.harness.sheet import RESULTS, ROOT, Sheet
from benchmarks.optimizer import noise
from benchmarks.optimizer.noise import COLUMNS, KEY, NOISES, NoisyProblem, Run, gap, table


def test_a_run_ends_at_a_point_whose_true_value_is_reported() -> None:
    pytest.importorskip("ioh")
    assert 0 < gap(Run("lamcts", 1, "normal", 3, 14)) < 3


def test_all_methods_draw_the_same_noise_and_true_values_have_none() -> None:
    pytest.importorskip("ioh")
    one, other = (NoisyProblem(Run(method, 8, "growing", 2, 100)) for method in ("lamcts", "pycma"))
    u = np.full(5, 0.3)
    assert one.true(u) == other.true(u) and [one(u) for _ in range(3)] == [other(u) for _ in range(3)]
    assert len({one(u) for _ in range(3)}) == 3


def test_noises_are_as_large_as_the_text_says() -> None:
    rng = np.random.default_rng(0)
    drawn = {name: np.array([f(2.0, rng) for _ in range(4000)]) for name, f in NOISES.items()}
    assert abs(drawn["normal"].std() - 0.1) < 0.005 and abs(drawn["growing"].std() - 0.61) < 0.03
    hit = drawn["tails"][drawn["tails"] != 0]
    assert abs(len(hit) / 4000 - 0.2) < 0.03 and abs(np.median(np.abs(hit)) - 0.1) < 0.02


def test_the_table_has_ranks_of_shared_runs_and_pairs() -> None:
    def row(method: str, noise: str, seed: int, value: float) -> dict[str, str]:
        return dict(zip(KEY, (method, "1", noise, str(seed), "100"), strict=True)) | {"gap": str(value)}

    rows = [row("lamcts", noise, seed, 1.0) for noise in NOISES for seed in range(3)]
    rows += [row("pycma", noise, seed, 2.0 if noise != "tails" else 0.5) for noise in NOISES for seed in range(2)]
    assert table(rows).splitlines()[2:] == [
        "| 100 | lamcts | 6 | 1.00 | 1.00 | 2.00 | 1.33 | 1 | 0:0 | 1 |",
        "| 100 | pycma | 6 | 2.00 | 2.00 | 1.00 | 1.67 | 1.3 | 4:2 | 0.69 |",
    ]


def test_each_noise_has_methods_of_peers() -> None:
    assert {"optuna gp", "pycma", "nevergrad NGOpt"} < {*noise.METHODS}


@pytest.mark.parametrize(
    "others", [("pycma", "nevergrad NGOpt", "nevergrad TBPSA"), ("lamcts, not noisy",), ("optuna gp",)]
)
def test_the_tables_of_the_docs_are_those_of_the_rows(others: tuple[str, ...]) -> None:
    rows = Sheet(RESULTS / "noise.csv", KEY, COLUMNS).rows()
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert table([row for row in rows if row["method"] in ("lamcts", *others)]).rstrip() in page
