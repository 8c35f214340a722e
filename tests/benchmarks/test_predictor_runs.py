"""The benchmark of predictors: folds and ratios of AutoGO's table 7, its splits, and a tiny run."""

import numpy as np
import pytest

pytest.importorskip("torch")

from benchmarks.evolve import predictors

# AutoGO, table 7: networks, samples (predecessor, segment, successor), folds; and the samples a network.
TABLE = {
    "NB-101": (5000, 404_900, 42, 81),
    "NB-201": (4096, 252_800, 34, 62),
    "HiAML": (4600, 65_100, 10, 14),
    "Inception": (580, 222_400, 129, 383),
    "Two-Path": (6900, 193_100, 10, 28),
}


@pytest.mark.parametrize("family", TABLE)
def test_the_ratios_of_table_7(family):
    networks, samples, _, ratio = TABLE[family]
    assert round(samples / networks) == ratio


@pytest.mark.parametrize("family", TABLE)
def test_folds_are_the_larger_of_ten_and_the_least_number_of_segments(family):
    """The text of A.2.2 says the smaller, which would make all folds of the table 10 or fewer."""
    _, _, printed, ratio = TABLE[family]
    least = printed if printed > predictors.FOLDS else predictors.FOLDS - 3  # what the table's folds allow
    assert predictors.folds([least, ratio, 2 * ratio]) == printed
    assert least <= ratio  # a least number is no larger than the mean


def test_each_fold_has_one_cut_of_each_network():
    truth = np.arange(12.0)
    same = [np.full(11, value) for value in truth]
    assert predictors.over_folds(same, truth, 0) == pytest.approx(1.0)
    half = [np.array([value, -value]) for value in truth]  # mixed in every fold: ten folds, cuts repeat
    assert abs(predictors.over_folds(half, truth, 0)) < 0.9


def test_the_test_part_is_the_same_for_all_sizes_of_the_fit():
    (small, test), (whole, again) = (predictors.split(100, train, 3) for train in (20, 0))
    assert test == again and whole[:20] == small and len(whole) == 80 and len(test) == 10
    assert not set(whole) & set(test)
    assert predictors.split(100, 0, 4)[1] != test


def test_a_run_has_a_row_for_each_task(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["predictors", "--smoke"])
    monkeypatch.setattr("benchmarks.harness.script.tempfile.mkdtemp", lambda: str(tmp_path))
    monkeypatch.setattr(predictors, "NEURAL", ("psc_one",))
    monkeypatch.setattr(predictors.torch, "set_num_threads", lambda count: None)
    predictors.main()
    rows = predictors.Sheet(tmp_path / "smoke.csv", predictors.Task._fields, predictors.COLUMNS).rows()
    assert [row["method"] for row in rows] == ["psc_one", "forest", "flops"]
    assert float(rows[-1]["srcc"]) > 0.7 and float(rows[0]["cuts"]) > 1
    assert "psc_one" in capsys.readouterr().out
