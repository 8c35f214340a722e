from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import kendalltau

from benchmarks.harness.sheet import RESULTS, ROOT, Sheet, read
from benchmarks.nas import fewshot_compared, fewshot_truth, longer_truth, paired_tau
from benchmarks.nas.fewshot_compared import Trainings
from benchmarks.nas.longer_truth import SETTINGS, drawn, text

CELLS = 120  # scored in results/fewshot_truth.csv
ROW = {"valid_loss": "0.2", "test_loss": "0.4", "epochs": "60", "setting": "digits"}


def test_tau_of_all_networks_is_scipys_and_samples_are_drawn_with_ties():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 5, 30), rng.integers(0, 5, 30)
    orders, samples = (paired_tau.signs(one), paired_tau.signs(other)), paired_tau.weights(30, 3)
    got = paired_tau.tau(*orders, np.ones((30, 30)), samples)
    rows = [np.repeat(np.arange(30), sample.astype(int)) for sample in samples]
    assert (samples.sum(1) == 30).all() and len({tuple(row) for row in rows}) == 4
    assert got == pytest.approx([kendalltau(one[row], other[row]).statistic for row in rows])


def test_tau_within_leaves_compares_no_two_leaves():
    leaf, truth = np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 4.0])
    scores = np.array([3.0, 4.0, 1.0, 2.0])  # right in each leaf, wrong between
    mine, order, same, samples = *map(paired_tau.signs, (scores, truth)), paired_tau.within(leaf), np.ones((1, 4))
    assert paired_tau.tau(mine, order, same, samples) == 1 and paired_tau.tau(mine, order, ~same, samples) == -1


def test_differences_are_of_equal_pairs():
    rng, leaf = np.random.default_rng(1), np.repeat([0, 1], 10)
    truth, one = rng.random(20), rng.random(20)
    order, samples = paired_tau.signs(truth), paired_tau.weights(20, 5)
    assert all(not stat.any() for stat in fewshot_compared.of_one(one, leaf, one, order, samples)[1:])
    shifted = one + 5 * leaf  # moves leaves apart and changes no order in a leaf
    _, whole, within, between = fewshot_compared.of_one(shifted, leaf, one, order, samples)
    assert not within.any() and between[0] != 0 and whole[0] != 0
    assert fewshot_compared.of_one(one, None, None, order, samples)[1:] == (None, None, None)


def test_the_table_averages_edges_and_mixes_ranks():
    truth = np.arange(4.0)
    lines = {"one": [0, 1, 3, 2], "parameters": [0, 1, 2, 3], "fixed-0": [0, 1, 2, 3]}
    lines |= {f"edge-{i}": [0, 1, 2, 3] if i < 3 else [3, 2, 1, 0] for i in range(6)}
    rows = [{"arm": arm, "seed": "0", "scores": " ".join(map(str, s)), "leaves": "0 0 1 1"} for arm, s in lines.items()]
    found = fewshot_compared.table(rows, [0, 1, 2, 3], paired_tau.signs(truth), paired_tau.weights(4, 2))
    assert found["edges"][1][0] == 0 and found["one"][1][0] == pytest.approx(4 / 6) and "fixed" not in found
    assert found["parameters and one"][1][0] == pytest.approx(kendalltau([0, 2, 5, 5], truth).statistic)


def test_a_longer_draw_begins_with_the_shorter_and_has_no_network_twice():
    space = SETTINGS["digits"].space
    long = drawn(space, 40)
    assert drawn(space, 7) == long[:7] and len(set(long)) == 40
    assert all(space.numbers(space.canonical(space.point(cell))) == cell for cell in long)


def test_the_truth_has_the_cells_with_all_trainings(tmp_path):
    cells, sheet = drawn(SETTINGS["digits"].space, 3), Sheet(tmp_path / "t.csv", longer_truth.KEY, longer_truth.COLUMNS)
    for cell, seed, right in [(0, 0, 180), (0, 1, 90), (1, 0, 360), (2, 0, 360), (2, 1, 360)]:
        sheet.append(ROW | {"cell": text(cells[cell]), "seed": seed, "valid_right": right, "test_right": 0})
    found = fewshot_compared.truth_of("digits", cells, sheet.path)
    assert list(found) == [0, 2] and list(fewshot_compared.truth_of("digits", cells[:2], sheet.path)) == [0]
    assert found[0].accuracies == pytest.approx([25.0, 12.5], abs=0.1)
    assert found[0].losses == pytest.approx([-0.3, -0.3], abs=0.01)


def test_cells_with_rows_are_not_trained_again(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")
    short = replace(SETTINGS["digits"], epochs=1)
    sheet, given = Sheet(tmp_path / "t.csv", longer_truth.KEY, longer_truth.COLUMNS), {"minutes": 1.0, "at_once": 2}
    longer_truth.fill(sheet, "digits", short, SimpleNamespace(cells=1, **given))
    longer_truth.fill(sheet, "digits", short, SimpleNamespace(cells=2, **given))
    rows = read(sheet.path)
    assert [(row["cell"], row["seed"]) for row in rows] == [
        (text(cell), seed) for cell in drawn(short.space, 2) for seed in ("0", "1")
    ]
    assert all(0 < int(row["valid_right"]) <= 360 and float(row["valid_loss"]) > 0 for row in rows)


@pytest.mark.dear
def test_flat_and_fixed_arms_share_trainings(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")
    short = replace(SETTINGS["digits"], supernet=1, round=1)
    monkeypatch.setitem(fewshot_truth.SETTINGS, "digits", short)
    cells = drawn(short.space, 2)
    rows = {
        arm: fewshot_truth.measure(fewshot_truth.Case("digits", arm, 0, 2), cells, tmp_path)
        for arm in ("one", "edge-2", "fixed-2", "unsplit", "naswot")
    }
    files = [file.name for file in (tmp_path / "digits-0" / "edge-2").iterdir()]
    assert rows["fixed-2"]["rounds"] == "1 1 1 1" and int(rows["edge-2"]["steps"]) > int(rows["fixed-2"]["steps"])
    assert sum(name.endswith(".2.npz") for name in files) == 4 and "supernet.npz" in files
    assert rows["unsplit"]["supernets"] == 1 and int(rows["unsplit"]["rounds"]) >= 2
    assert all(len(row["scores"].split()) == 2 for row in rows.values())


def test_what_is_compared_with_has_the_short_table():
    pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")
    truth = {i: Trainings(np.ones(2), np.zeros(2)) for i in (0, 1, 4)}
    assert [values.shape for values in fewshot_compared.truths("digits", truth).values()] == [(3, 2), (3, 2), (3, 3)]
    assert len(fewshot_compared.truths("mnist", truth)) == 2


def test_the_notes_have_the_table_of_the_results():
    pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")
    cells = drawn(SETTINGS["digits"].space, CELLS)
    rows = fewshot_compared.known(Sheet(RESULTS / "fewshot_truth.csv", ("arm",), ()), "digits", cells)
    truth = fewshot_compared.truth_of("digits", cells)
    text = (ROOT / "benchmarks" / "notes" / "nas.md").read_text()
    for line in fewshot_compared.page_lines("digits", truth, rows):
        assert line in text
    assert f"{len(truth)} random cells" in text
