"""The script on stopping: rows have the truth next to the estimate, and the tables count both."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness.sheet import read
from benchmarks.optimizer import stopping
from benchmarks.optimizer.stopping import KEY, MARKS, Run, estimates, measured, rules


def test_a_run_is_compared_with_its_own_end() -> None:
    pytest.importorskip("ioh")
    row = measured(Run("bbob-f1-3", 0.0, "lamcts", 0, 26))
    assert float(row["regret_25"]) >= float(row["later_25"]) >= 0 and float(row["upper_25"]) >= float(row["mean_25"])
    assert row["stop_noise"] == 26 or row["stop_noise"] in (20, 22, 24, 26)
    again = measured(Run("bbob-f1-3", 0.0, "lamcts", 0, 26))
    assert again == row


def test_tuning_problems_have_their_optimum_within() -> None:
    rng = np.random.default_rng(1)
    losses = [stopping.ridge(rng.random(2)) for _ in range(5)]
    assert min(losses) > 0.3 and np.ptp(losses) > 0


def test_the_tables_count_bounds_and_losses() -> None:
    def row(seed: int, upper: float, stop: int) -> dict[str, str]:
        found = dict(zip(KEY, ("svr", "0.1", "lamcts", str(seed), "100"), strict=True))
        found |= {f"{what}_{n}": "0.2" for n in MARKS for what in ("mean", "regret", "later")}
        found |= {f"upper_{n}": str(upper) for n in MARKS}
        for rule in stopping.RULES:
            found |= {f"stop_{rule}": str(stop), f"lost_{rule}": "0.5"}
        return found

    rows = [row(0, 0.1, 100), row(1, 0.3, 40)]
    assert estimates(rows).splitlines()[-1].endswith("| 0.2 | 0.2 | 0.2 | 0.2 | 50% | 50% |")
    assert rules(rows).splitlines()[-1] == "| lamcts | tuning | 0.1 | noise | 1 of 2 | 30 | 0.5 | 0.5 |"


def test_the_page_has_the_tables_of_the_rows() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for table in stopping.tables(read(root / "benchmarks" / "results" / "stopping.csv")).split("\n\n"):
        assert table.strip() in page
