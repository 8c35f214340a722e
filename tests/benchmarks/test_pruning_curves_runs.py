"""The benchmark on recorded learning curves: lookups, epochs that are counted, and its table."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness.sheet import RESULTS, read
from benchmarks.neural import learning_curves, pruning_curves
from benchmarks.neural.learning_curves import Recorded


@pytest.fixture
def recorded(tmp_path):
    rng = np.random.default_rng(0)
    x = learning_curves.MLP_SPACE.snap(learning_curves.MLP_SPACE.sample(20, rng))
    losses = (1 + x[:, [0]]) / np.arange(1, 10)
    losses[3, 4:] = np.nan  # a recording that was stopped
    np.savez(tmp_path / "curves-mlp.npz", x=x, losses=losses)
    return tmp_path


def test_a_recorded_configuration_has_its_own_curve_and_others_lie_between(recorded):
    own = Recorded("mlp", recorded)
    assert len(own.x) == 19 and len(own.steps) == 9
    np.testing.assert_allclose(own(own.space.decode(own.x[5])), own.losses[5], rtol=1e-3)
    middle = own(own.space.decode(np.full(own.space.dim, 0.5)))
    assert (middle >= own.losses.min(0)).all() and (middle <= own.losses.max(0)).all()


def test_a_recording_is_repeatable_and_weights_that_are_no_numbers_are_the_worst_loss():
    point = {"layers": 3, "units": 8, "batch": 256, "solver": "sgd", "alpha": 1e-6, "rate": 1.0, "momentum": 0.9}
    train = learning_curves.PROBLEMS["mlp"].train
    first, second, broken = (list(train(each, 3)) for each in (point, point, {**point, "rate": 1e200}))
    assert first == second and max(first) <= learning_curves.WORST and broken == [learning_curves.WORST] * 3


def test_an_arm_trains_its_share_of_epochs_and_keeps_the_best_of_trials_that_finished(recorded, monkeypatch):
    monkeypatch.setattr(pruning_curves, "Recorded", lambda name: Recorded(name, recorded))
    found, _ = pruning_curves.measure(problem="mlp", arm="lamcts, median, blind", seed=0, trials=6)
    assert found["epochs"] == 22 and found["finished"] == 2 and found["started"] == 3  # 0.4 * 6 * 9 epochs
    assert float(found["gains"].split()[-1].split(":")[1]) == float(found["best"]) < 1
    whole, _ = pruning_curves.measure(problem="mlp", arm="Optuna TPE, 50 trials", seed=0, trials=2)
    assert whole["epochs"] == 18 and whole["finished"] == whole["started"] == 2


def test_an_arm_is_paired_with_whole_trials_of_the_same_library_and_the_target_is_that_of_tpe():
    def row(arm, seed, best, epochs, gains):
        own = {"problem": "mlp", "arm": arm, "seed": str(seed), "best": str(best), "epochs": str(epochs)}
        return own | {"gains": gains, "trials": "50", "started": "9", "finished": "4"}

    rows = [row("lamcts, 50 trials", seed, 0.2, 100, "10:0.5 90:0.2") for seed in (0, 1)]
    rows += [row("lamcts, model", seed, 0.1, 40, "10:0.5 30:0.1") for seed in (0, 1)]
    rows += [row("Optuna TPE, 50 trials", 0, 0.2, 100, "10:0.3 60:0.2")]
    lines = pruning_curves.table(rows).splitlines()[2:]
    assert "| 9 (4) | 0.1 | -50.0 % (-50.0 to -50.0) | 2 | 0 |" in lines[1]
    assert [line.split("|")[-2].strip() for line in lines] == ["90", "30", "10"]  # until 0.3, TPE's after 40 epochs
    assert pruning_curves._until(rows[0], 0.1) == math.inf


def test_the_table_in_the_guide_is_made_of_the_results():
    guide = (Path(__file__).parents[2] / "docs" / "pruning.md").read_text()
    quoted = [line for line in guide.splitlines() if line.startswith(("| mlp |", "| convnet |"))]
    assert len(quoted) >= 8
    assert set(quoted) <= set(pruning_curves.table(read(RESULTS / "pruning_curves.csv")).splitlines())
