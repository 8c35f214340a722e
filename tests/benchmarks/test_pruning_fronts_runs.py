"""The benchmark of fronts on recorded learning curves: sizes, epochs that are counted, and its table."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness.sheet import RESULTS, read
from benchmarks.neural import pruning_fronts
from benchmarks.neural.learning_curves import MLP_SPACE, Recorded


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    x = MLP_SPACE.snap(MLP_SPACE.sample(20, rng))
    np.savez(tmp_path / "curves-mlp.npz", x=x, losses=(1 + x[:, [0]]) / np.arange(1, 10))
    monkeypatch.setattr(pruning_fronts, "Recorded", lambda name: Recorded(name, tmp_path))


@pytest.mark.parametrize("arm", ["lamcts model, blind", "Optuna TPE"])
def test_a_run_counts_its_epochs_and_keeps_the_hypervolume_of_trials_that_finished(recorded, arm):
    if arm.startswith("Optuna"):
        pytest.importorskip("optuna", reason="optuna is not installed: pip install 'lamcts[optuna]'")
    found, _ = pruning_fronts.measure(problem="mlp", arm=arm, seed=0, trials=3)
    assert found["epochs"] == 27 and found["pruned"] == 0
    assert found["gains"].split()[-1].split(":")[1] == found["hypervolume"] > "0"


def test_the_sizes_are_those_of_the_networks():
    classifier = pytest.importorskip("sklearn.neural_network", reason="scikit-learn is not installed").MLPClassifier
    network = classifier((9,) * 2, batch_size=10, random_state=0)
    network.partial_fit(np.zeros((10, 64)), np.arange(10), classes=np.arange(10))
    weights = sum(part.size for part in (*network.coefs_, *network.intercepts_))
    assert pruning_fronts.SIZES["mlp"]({"units": 9, "layers": 2}) == weights
    convolutions, dense = 4 * (9 + 1) + 8 * (4 * 9 + 1), (8 * 16 + 1) * 10
    assert pruning_fronts.SIZES["convnet"]({"channels": 4, "kernel": 3}) == convolutions + dense


def test_an_arm_is_compared_with_no_pruning_after_all_trials_and_at_equal_epochs():
    def row(arm, volume, epochs, gains):
        own = {"problem": "mlp", "arm": arm, "seed": "0", "hypervolume": str(volume), "epochs": str(epochs)}
        return own | {"gains": gains}

    rows = [row("lamcts", 0.4, 100, "10:0.1 90:0.4"), row("lamcts model", 0.3, 40, "10:0.1 30:0.3")]
    lines = pruning_fronts.table(rows).splitlines()[2:]
    assert "| 0.40 | -25.0 % (0 better, 1 worse) | 1 | +200.0 % (1 better, 0 worse) |" in lines[1]
    assert lines[0].endswith("| 0.1 |") and lines[1].endswith("| 0.3 |")


def test_the_table_in_the_guide_is_made_of_the_results():
    guide = (Path(__file__).parents[2] / "docs" / "pruning.md").read_text()
    quoted = [line for line in guide.splitlines() if line.startswith(("| mlp, ", "| convnet, "))]
    assert len(quoted) >= 8
    assert set(quoted) <= set(pruning_fronts.table(read(RESULTS / "pruning_fronts.csv")).splitlines())
