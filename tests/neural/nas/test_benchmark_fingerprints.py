"""The identity of runs on benchmarks with files of their own: settings and contents, not the path of a folder."""

import shutil

import pytest

from lamcts import objectives

FOLDERS = {"nasbench301": ("models", "runtime"), "jahs-bench-201": ("data",)}


@pytest.fixture
def files(tables, tmp_path):
    """Return the paths that each benchmark needs."""
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "model.bin").write_text("weights")
    return lambda name: dict.fromkeys(FOLDERS.get(name, ()), tmp_path / "one") or {"table": tables}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("nats-size", {"dataset": "cifar100"}),
        ("nats-size", {"guide": "val"}),
        ("nats-size-cost", {"dataset": "cifar100"}),
        ("nats-size-cost", {"against": "mflops"}),
        ("nasbench301", {"runtime": None}),
        ("jahs-bench-201", {"task": "fashion_mnist"}),
        ("jahs-bench-201", {"fidelities": True}),
        ("jahs-bench-201", {"epochs": 3}),
    ],
)
def test_a_setting_that_changes_values_changes_the_fingerprint(name, settings, files):
    given = files(name)
    assert objectives.make(name, **given).fingerprint() == objectives.make(name, **given).fingerprint()
    assert objectives.make(name, **(given | settings)).fingerprint() != objectives.make(name, **given).fingerprint()


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_models_may_move_and_another_one_is_another_objective(name, files, tmp_path):
    given = files(name)
    own = objectives.make(name, **given).fingerprint()
    shutil.move(tmp_path / "one", tmp_path / "two")
    moved = dict.fromkeys(given, tmp_path / "two")
    assert objectives.make(name, **moved).fingerprint() == own
    assert objectives.make(name, **moved, python="/elsewhere/python").fingerprint() == own
    (tmp_path / "two" / "model.bin").write_text("more weights")
    assert objectives.make(name, **moved).fingerprint() != own
