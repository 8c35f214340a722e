"""The sweeper in the real Hydra, in processes of its own: Hydra keeps its state in globals."""

import subprocess
import sys

import pytest

import lamcts

pytest.importorskip("hydra", reason="Hydra is not installed: pip install '.[hydra]'")

TASK = """
import hydra, math

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    if cfg.model.width == 7:
        raise ValueError("no sevens")
    loss = (math.log10(cfg.lr) + 3) ** 2 + (cfg.act != "gelu") + abs(cfg.model.width - 5)
    return {"loss": loss, "size": cfg.model.width**2, "seed": cfg.seed}

main()
"""
SWEPT = ["lr=tag(log,interval(1e-5,1e-1))", "act=choice(relu,gelu,'a b')", "model.width=range(1,9)"]


@pytest.fixture
def task(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "train.py").write_text(TASK)
    (tmp_path / "conf" / "config.yaml").write_text("lr: 0.1\nact: relu\nseed: 1\nmodel: {width: 3}\n")
    return tmp_path


def sweep(folder, *arguments, code=0, objectives="[loss]"):
    words = [f"hydra.sweeper.{word}" for word in ("seed=0", "batch=3", f"objectives={objectives}")]
    words += ["hydra.sweep.dir=out", "hydra/sweeper=lamcts"]
    command = [sys.executable, "train.py", "-m", *words, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_intervals_ranges_and_choices_are_searched_with_constraints_and_failures(task):
    sweep(task, "hydra.sweeper.budget=12", "hydra.sweeper.constraints=['size <= 40']", "seed=3", *SWEPT)
    rows = lamcts.load(task / "out" / "journal.db").rows()
    assert [row["trial"] for row in rows] == list(range(12))
    assert {row["act"] for row in rows} <= {"relu", "gelu", r"a\ b"}  # as Hydra writes them
    assert all(isinstance(row["model.width"], int) and 1e-5 <= row["lr"] <= 0.1 for row in rows)
    assert all(row["message"] == "EvaluationFailed: ValueError: no sevens" for row in rows if row["model.width"] == 7)
    found = (task / "out" / "optimization_results.yaml").read_text()
    assert "best_evaluated_params" in found and "feasible: true" in found
    assert "seed=3" in (task / "out" / "5" / ".hydra" / "overrides.yaml").read_text()


def test_the_same_command_with_a_journal_goes_on_with_what_is_missing(task):
    more = ["hydra.sweeper.journal=sweep.db", *SWEPT]
    sweep(task, "hydra.sweeper.budget=4", *more)
    said = sweep(task, "hydra.sweeper.budget=6", *more)
    assert "#4" in said and "#3 " not in said
    assert lamcts.load(task / "sweep.db").nfev == 6


def test_parameters_of_the_configuration_and_a_front(task):
    config = task / "conf" / "config.yaml"
    params = "hydra:\n  sweeper:\n    params:\n      model.width: range(1,9)\n      lr: 0.001\n"
    config.write_text(f"defaults:\n  - override hydra/sweeper: lamcts\n{config.read_text()}{params}")
    sweep(task, "hydra.sweeper.budget=6", objectives="{loss: min, size: min}")
    assert "solutions" in (task / "out" / "optimization_results.yaml").read_text()


def test_a_sweep_ends_where_no_point_is_left(task):
    sweep(task, "hydra.sweeper.budget=9", "act=choice(relu,gelu)")
    assert lamcts.load(task / "out" / "journal.db").nfev == 2
    assert "best_value" in (task / "out" / "optimization_results.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lr=0.1"], "expected parameters such as lr=interval"),
        (["lr=glob(*)"], "expected a choice, a range or an interval"),
    ],
)
def test_what_cannot_be_swept_is_an_error(task, arguments, words):
    assert words in sweep(task, *arguments, code=1)
