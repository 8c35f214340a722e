"""The pruning benchmark: the same network for everybody, epochs counted, and pairs by seed."""

import pytest

from benchmarks.neural import pruning


def row(arm, seed, best, epochs):
    return {"arm": arm, "seed": str(seed), "trials": "50", "best": str(best), "epochs": str(epochs), "pruned": "3"}


def test_a_row_counts_the_epochs_that_were_reported(monkeypatch):
    monkeypatch.setattr(pruning, "EPOCHS", 2)
    found, _ = pruning.measure(arm="lamcts median", seed=0, trials=3)
    assert (found["epochs"], found["pruned"]) == (6, 0) and 0 < float(found["best"]) < pruning.WORST


def test_weights_that_are_no_numbers_are_the_worst_loss_and_the_same_point_has_the_same_curve(monkeypatch):
    monkeypatch.setattr(pruning, "EPOCHS", 3)
    point = {"layers": 3, "units": 8, "batch": 256, "solver": "sgd", "alpha": 1e-6, "rate": 1.0, "momentum": 0.9}
    curves = [[], []]
    for curve in curves:
        pruning.Network(0)(point, lambda epoch, loss, curve=curve: curve.append(loss))
    assert curves[0] == curves[1] and max(curves[0]) <= pruning.WORST
    assert pruning.Network(0)({**point, "rate": 1e200}, lambda epoch, loss: None) == pruning.WORST


def test_an_arm_is_paired_with_the_same_search_without_pruning():
    rows = [row("lamcts", seed, 0.2, 2000) for seed in (0, 1)]
    rows += [row("lamcts median", 0, 0.1, 500), row("lamcts median", 1, 0.2, 1500), row("Optuna TPE", 0, 0.01, 2000)]
    lines = {line.split(" | ")[0].strip("| "): line for line in pruning.table(rows).splitlines()[2:]}
    assert "| 0.50 | -0.347 | 1 | 0 |" in lines["lamcts median"] and set(lines) == {
        "lamcts",
        "lamcts median",
        "Optuna TPE",
    }


def test_a_point_in_the_words_of_optuna_is_one_of_the_space():
    optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install 'lamcts[optuna]'")
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    points = [pruning._suggested(study.ask()) for _ in range(9)]
    assert all(pruning.SPACE.decode(pruning.SPACE.encode(point)).keys() == point.keys() for point in points)
