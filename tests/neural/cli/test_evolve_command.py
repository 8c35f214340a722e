"""`lamcts evolve`: networks and data of the user, files that are written, and runs that resume."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import said

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
pytest.importorskip("networkx", reason="networkx is not installed: pip install '.[evolve]'")

CODE = """
import torch
from torch import nn
from torch.utils.data import TensorDataset
from lamcts.neural.train import Task


def model():
    layers = [nn.Conv2d(1, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, 1, 1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))


def data():
    generator, y = torch.Generator().manual_seed(0), torch.arange(60) % 2
    x = torch.rand(60, 1, 6, 6, generator=generator) + y[:, None, None, None]
    part = TensorDataset(x, y)
    return part, part, part


def denoiser():
    return nn.Sequential(nn.Conv2d(1, 6, 3, 1, 1), nn.ReLU(), nn.Conv2d(6, 6, 3, 1, 1), nn.ReLU(), nn.Conv2d(6, 1, 1))


def noisy():
    clean = torch.rand(60, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    part = TensorDataset(clean + 0.1 * clean.flip(0), clean)
    return part, part, part


def squared(outputs, targets):
    return (outputs - targets).square().mean()


task = Task(squared, lambda outputs, targets: -squared(outputs, targets), name="minus_squared")


def two():
    return data()[:2]


def broken():
    return 1 / 0


def layer():
    return nn.ReLU
"""
GIVEN = ["own_evolved.py:model", "--data", "own_evolved.py:data"]
QUICK = ["--epochs", "1", "--budget", "8", "--seeds", "2", "--finalists", "2", "--quiet"]
CAP = ["--at-most", "flops=0.8", "--against", "flops"]
FOLDER = "own_evolved-model-own_evolved-data-seed0"
USED = "import torch, small; torch.set_num_threads(1); print(tuple(small.load().eval()(torch.zeros(2, 1, 6, 6)).shape))"


@pytest.fixture(autouse=True)
def _next_to_a_program(_in_an_empty_folder: None, tmp_path: Path) -> None:
    (tmp_path / "own_evolved.py").write_text(CODE)


def evolve(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    found: tuple[int, str, str] = said(capsys, "evolve", *GIVEN, *QUICK, *more)
    return found


def outcome(folder: Path | str) -> str:
    """Return what a run has found without measured times and with the objectives alone."""
    found = json.loads((Path(folder) / "result.json").read_text())
    rows = [(row["scores"], row["test_scores"], row["costs"]["flops"], row["edits"]) for row in found["finalists"]]
    return json.dumps([rows, found["front"], found["evaluations"]])


@pytest.mark.dear
def test_a_task_of_ones_own_goes_to_workers_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["own_evolved.py:denoiser", "--data", "own_evolved.py:noisy", "--task", "own_evolved.py:task"]
    code, out, _ = said(capsys, "evolve", *given, *QUICK, "--workers", "2", "--folder", "one", "--no-plot")
    assert code == 0 and "minus_squared  spread" in out
    found = json.loads((Path("one") / "result.json").read_text())
    assert found["settings"]["task"] == "own_evolved.py:task" and all(s < 0 for s in found["parent"]["scores"])


def test_a_task_of_another_type_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = evolve(capsys, "--task", "own_evolved.py:squared")
    assert code == 2 and "--task" in err
    code, _, err = evolve(capsys, "--task", "own_evolved.py:two")
    assert code == 2 and "--task: expected a lamcts.neural.train.Task, got tuple from own_evolved.py:two" in err


@pytest.mark.dear
def test_the_best_child_is_written_as_source_with_results_and_figures(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = evolve(capsys, *CAP, "--out", "small.py")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("own_evolved.py:model evolved on own_evolved-data: 8 trainings, seed 0, into")
    assert lines[1] == "2 networks trained once, 0 of them pruned; the parent and 2 finalists with 2 seeds"
    assert lines[2].split() == ["accuracy", "spread", "test", "flops", "params", "peak_mb", "latency_ms"]
    assert lines[3].split()[0] == "parent" and lines[4].split()[:2] == ["child", "1"]
    ratio = float(lines[4].partition(" x ")[2].split()[0])
    found = json.loads((tmp_path / FOLDER / "result.json").read_text())
    best = found["finalists"][found["front"][0]]
    assert 0 < ratio <= 0.8 and ratio == pytest.approx(best["ratios"]["flops"], abs=1e-3)
    assert found["settings"]["at_most"] == ["flops=0.8"] and found["evaluations"] == 2
    names = {file.name for file in (tmp_path / FOLDER).iterdir()}
    assert names >= {"result.json", "journal.db", "child1.py", "child1.safetensors", "front.png", "graphs.png"}
    done = subprocess.run([sys.executable, "-c", USED], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(2, 2)"


@pytest.mark.dear
def test_the_same_command_resumes_in_other_processes_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert evolve(capsys, "--no-plot")[0] == 0
    code, out, _ = evolve(capsys, "--no-plot", "--workers", "2", "--budget", "9", "--folder", FOLDER)
    assert code == 0 and "3 networks trained once" in out
    assert (tmp_path / FOLDER / "best.py").is_file() and not (tmp_path / FOLDER / "front.png").exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--at-most", "flops"], "--at-most: expected COST=CAP, such as flops=0.8, got 'flops'"),
        (["--at-most", "flops=0.8", "watts=3"], "--at-most: expected costs among flops, params, peak_mb"),
        (
            ["--at-most", "flops=little"],
            "--at-most: flops: expected a number above 0, such as 0.8 or 50M, got 'little'",
        ),
        (["--at-most", "flops=1e-6"], "--at-most: no child with flops of at most"),
        (["--budget", "6"], "--budget: expected more than the 6 trainings of the parent and 2 finalists"),
        (["--widths", "2"], "widths: expected a share from 0 to 1, got 2"),
        (["--out", "small.txt"], "--out: expected a file that ends in .py, got 'small.txt'; --folder names the folder"),
        (["--out", "none/small.py"], "--out: expected a file in a folder that exists"),
        (["--data", "own_evolved.py:two"], "--data: expected data sets (train, validation, test), got tuple"),
        (
            ["--data", "digits"],
            "model: expected scores (n, 10) of examples (8, 1, 8, 8) of digits, got scores of shape",
        ),
        (["--recipe", "epoch=3"], "--recipe: expected one of epochs"),
        (
            ["--recipe", "rate=1e30", "--recipe", "momentum=0"],
            "--recipe: expected one that trains the network or a child",
        ),
        (["--device", "tpu9"], "--device: expected a device of torch"),
        (["--side", "4"], "--side: expected none with data of your own"),
        (["--against", "watts"], "--against: expected costs among flops"),
        (["--database", "own_evolved.py"], "own_evolved.py: expected a database of segments, got another file; write"),
    ],
)
def test_mistakes_are_reported_with_their_cure(capsys: pytest.CaptureFixture[str], more: list[str], told: str) -> None:
    code, _, err = evolve(capsys, *more)
    assert code == 2 and told in err


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("own_evolved.py", "model: expected FILE.py:NAME or package.module:NAME, got 'own_evolved.py'"),
        ("own_evolved.py:broken", "model: own_evolved.py:broken raised ZeroDivisionError"),
        ("own_evolved.py:layer", "model: expected a torch.nn.Module or a function that returns one, got type"),
        ("own_evolved.py:nothing", "got 'nothing': there are"),
    ],
)
def test_models_that_are_none(capsys: pytest.CaptureFixture[str], model: str, told: str) -> None:
    code, _, err = said(capsys, "evolve", model, "--data", "own_evolved.py:data")
    assert code == 2 and told in err


@pytest.mark.dear
def test_a_run_that_is_killed_twice_ends_at_the_front_of_one_that_is_not(tmp_path: Path) -> None:
    settings = ["--epochs", "30", "--budget", "16", "--seeds", "2", "--finalists", "2", "--quiet", "--no-plot"]
    command = [sys.executable, "-m", "lamcts", "evolve", *GIVEN, *settings, *CAP]
    for count in (4, 12):  # in the search, and while finalists are trained
        with subprocess.Popen([*command, "--folder", "killed"], cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and len([*(tmp_path / "killed").rglob("*.npz")]) < count:
                time.sleep(0.005)
            assert process.poll() is None, "it was through before it could be killed: take more epochs"
            os.kill(process.pid, signal.SIGKILL)
    for folder in ("killed", "whole"):
        subprocess.run([*command, "--folder", folder], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")
