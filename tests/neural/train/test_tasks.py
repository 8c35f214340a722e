"""Losses and scores of the user, and data that stay on disk."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

import lamcts  # noqa: E402
from lamcts.neural import memory  # noqa: E402
from lamcts.neural.build import NetworkFactory  # noqa: E402
from lamcts.neural.train import (  # noqa: E402
    Data,
    Part,
    Recipe,
    Task,
    TrainObjective,
    digits,
    from_datasets,
    stored,
    train,
)


def squared(outputs, targets):
    return (outputs - targets).square().mean()


def signal_to_noise(outputs, targets):
    return -10 * torch.log10(squared(outputs, targets))


NOISE = Task(squared, signal_to_noise, name="psnr_db")
RECIPE = Recipe(epochs=3, batch=32, optimiser="adamw", rate=0.01)


def noisy(n=160):
    """Return images of one wave each, with noise; targets are the waves."""
    rng = np.random.default_rng(0)
    phase = rng.uniform(0, 6, (n, 1, 1, 1))
    clean = (0.5 + 0.4 * np.sin(phase + np.arange(8) / 2)).repeat(8, axis=2).astype(np.float32)
    x = clean + 0.2 * rng.normal(size=clean.shape).astype(np.float32)
    cut = (slice(0, n // 2), slice(n // 2, 3 * n // 4), slice(3 * n // 4, n))
    return Data("waves", *(Part(x[rows], clean[rows]) for rows in cut), classes=0)


def build(point):
    width = point["width"]
    return nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.GELU(), nn.Conv2d(width, 1, 3, padding=1))


def seeded(width=4):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build({"width": width})


def test_a_network_learns_by_a_loss_of_ones_own_and_is_scored_by_ones_own_score():
    trained = train(seeded(), noisy(), RECIPE, task=NOISE)
    losses = [epoch.valid_loss for epoch in trained.epochs]
    assert losses[-1] < losses[0] and trained.summary["valid_psnr_db"] == trained.epochs[-1].valid_accuracy
    assert trained.summary["test_psnr_db"] == pytest.approx(-10 * np.log10(trained.test_loss), abs=0.5)
    assert "valid_accuracy_percent" not in trained.summary


def test_a_search_maximises_the_score_and_its_journal_says_which_task_it_was(tmp_path):
    space = lamcts.Space({"width": lamcts.Int(1, 6)})
    f = TrainObjective(NetworkFactory(space, build), noisy(), RECIPE, task=NOISE, folder=tmp_path)
    result = lamcts.maximize(f, f.space, budget=3, seed=0, progress=False)
    assert f.maximize and result.fun == max(result.history.values)
    assert f.report(result.x).keys() == {"valid_psnr_db", "test_psnr_db", "valid_loss", "test_loss"}
    assert f.report(result.x)["valid_psnr_db"] == pytest.approx(result.fun)
    other = TrainObjective(NetworkFactory(space, build), noisy(), RECIPE, task=Task(squared))
    assert not other.maximize and other.fingerprint() != f.fingerprint()
    assert f.cost(result.x)["peak_mb"] > 0


def test_a_training_of_a_task_resumes_and_keeps_a_memory_budget(tmp_path):
    whole = train(seeded(8), noisy(), RECIPE, task=NOISE)
    file = tmp_path / "training.npz"

    def stop(epoch):
        if epoch.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(seeded(8), noisy(), RECIPE, task=NOISE, checkpoint=file, report=stop)
    resumed = train(seeded(8), noisy(), RECIPE, task=NOISE, checkpoint=file)
    assert resumed.test_accuracy == whole.test_accuracy
    roomy = train(seeded(8), noisy(), RECIPE, task=NOISE, memory_budget=memory.Budget("64MiB"))
    budget = memory.Budget(int(0.95 * roomy.planned_peak_bytes))
    tight = train(seeded(8), noisy(), RECIPE, task=NOISE, memory_budget=budget)
    assert tight.planned_peak_bytes <= budget.budget_bytes and tight.test_loss == pytest.approx(whole.test_loss)


def test_data_on_disk_train_the_same_weights_as_in_memory(tmp_path):
    data = digits()
    for name, part in data.parts.items():
        for what, array in zip("xy", part, strict=True):
            np.save(tmp_path / f"{name}_{what}.npy", array)
    there = stored(tmp_path, classes=10)
    assert isinstance(there.train.x, np.memmap) and there.fingerprint == data.fingerprint
    nets = []
    for one in (data, there):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            net = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        nets.append(train(net, one, Recipe(epochs=1)))
    assert nets[0].test_accuracy == nets[1].test_accuracy
    assert all(map(torch.equal, nets[0].net.parameters(), nets[1].net.parameters()))
    with pytest.raises(ValueError, match=r"expected six files of numpy.save, got none at .*train_x.npy"):
        stored(tmp_path / "missing")


def test_targets_of_data_sets_of_torch_may_be_numbers():
    x = torch.linspace(0, 1, 40).view(20, 2)
    parts = [torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)) for _ in range(3)]
    data = from_datasets(*parts)
    assert data.classes == 0 and data.train.y.shape == (20, 1)
    with torch.random.fork_rng():
        net = nn.Linear(2, 1)
    assert train(net, data, Recipe(epochs=2, rate=0.1), task=Task(squared)).valid_loss < 1
    with pytest.raises(ValueError, match="own: expected classes as targets, got float32: pass a Task with its loss"):
        train(net, data, Recipe(epochs=1))


def test_settings_for_classes_and_what_is_no_function_are_refused():
    with pytest.raises(ValueError, match="expected none of the settings for classes with a Task, got flip, smoothing"):
        train(seeded(), noisy(), Recipe(epochs=1, flip=True, smoothing=0.1), task=NOISE)
    with pytest.raises(ValueError, match="Task: loss: expected a function of outputs and targets, got 'mse'"):
        Task("mse")
