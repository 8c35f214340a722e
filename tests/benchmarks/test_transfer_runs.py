"""The script on related tasks: tables are read between their levels, arms differ, and pairs are counted."""

import numpy as np
import pytest

import lamcts
from benchmarks.harness.sheet import RESULTS, ROOT, read
from benchmarks.optimizer import transfer
from benchmarks.optimizer.transfer import Run, improvements, losses
from benchmarks.optimizer.transfer_tables import COSTS, DEPTHS, RATES, SHARES, TREES, WIDTHS, rows
from benchmarks.tables.transfer import KEY, curve_of, tables


def test_a_table_is_linear_between_its_levels() -> None:
    table = np.arange(len(COSTS) * len(WIDTHS), dtype=float).reshape(len(COSTS), -1)
    space = transfer.SPACES["svm"]
    for i, j in ((0, 0), (3, 5), (len(COSTS) - 1, len(WIDTHS) - 1)):
        assert transfer._svm(table, {"C": COSTS[i], "gamma": WIDTHS[j]}) == pytest.approx(table[i, j])
    middle = {"C": np.sqrt(COSTS[1] * COSTS[2]), "gamma": WIDTHS[0]}
    assert transfer._svm(table, middle) == pytest.approx((table[1, 0] + table[2, 0]) / 2)
    assert np.isfinite(transfer._svm(table, space.decode(space.sample(1, np.random.default_rng(0))[0])))


def test_boosting_is_read_by_depth_share_and_trees() -> None:
    table = np.random.default_rng(0).random((len(RATES), len(DEPTHS), len(SHARES), TREES))
    point = {"learning_rate": RATES[2], "max_depth": 3, "subsample": 1.0, "n_estimators": 17}
    assert transfer._boost(table, point) == pytest.approx(table[2, 2, 1, 16])


def test_halves_of_a_data_set_share_no_row() -> None:
    pytest.importorskip("sklearn")
    a, b = (rows(f"cancer-{half}")[0] for half in "ab")
    assert len(a) + len(b) == 569 and not {row.tobytes() for row in a} & {row.tobytes() for row in b}


def test_arms_differ_in_what_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    space = lamcts.Space({"a": lamcts.Float(0, 1), "n": lamcts.Int(1, 9), "c": lamcts.Choice(["x", "y"])})

    def loss(point: dict[str, float]) -> float:
        return (point["a"] - 0.3) ** 2 + point["n"]

    monkeypatch.setattr(transfer, "task", lambda name: transfer.Task(space, loss))
    transfer.known.cache_clear()
    found = {arm: losses(Run("family", "s", "t", "auto", arm, 0, 24)) for arm in transfer.ARMS}
    assert all(found[arm][:6] == found["none"][:6] for arm in transfer.ARMS)
    assert len({tuple(each) for each in found.values()}) == 4
    assert improvements([3.0, 4.0, 1.5]) == "1:3 3:1.5"


def test_the_tables_count_evaluations_to_the_worse_final_loss() -> None:
    def row(arm: str, seed: int, text: str) -> dict[str, str]:
        key = dict(zip(KEY, ("family", "s", "svm digits-b", "auto", arm, str(seed), "9"), strict=True))
        return key | {"improvements": text}

    given = [row("none", seed, f"1:5 {4 + seed % 2}:2 9:0.02") for seed in range(6)]
    given += [row("both", seed, f"1:4 2:0.02 3:{0.01 - 0.001 * seed:g}") for seed in range(6)]
    assert curve_of(given[0]).tolist() == [5.0] * 3 + [2.0] * 5 + [0.02]
    lines = tables(given).splitlines()
    assert lines[2] == "| family | s -> svm digits-b | 9 | 2 | 0.016 | 9 | 2 | 0.016 | 0.02 | 0.0075 | 0.016 | 1 |"
    assert lines[-1] == "| family | both | 1 | 0.22 | 1 | 0 |"


def test_the_page_shows_the_tables_of_the_rows() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    assert tables(read(RESULTS / "transfer.csv")) in page
