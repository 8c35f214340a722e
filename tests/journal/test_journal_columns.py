"""Journals of runs with constraints and several objectives, read without their space."""

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.journal import Journal
from lamcts.outcomes.constrained_rank import CHECKED, FAILED

SPACE = lamcts.Space({"a": lamcts.Float(0, 1), "b": lamcts.Choice(["x", "y"])})
GOALS: dict[str, dict[str, Any]] = {
    "bound": {"objectives": ["cost"], "constraints": ["stress <= 0.1", "sag == 0 +- 0.05"], "maximize": True},
    "front": {"objectives": {"cost": "min", "range": "max"}, "constraints": ["stress <= 0.1", "sag == 0 +- 0.05"]},
    "free": {"objectives": {"cost": "max", "range": "max", "size": "min"}},
}


def told(opt: lamcts.Optimizer, draw: random.Random) -> tuple[Any, Any]:
    """Return a value and constraints of any kind, every number of which may be missing where that is allowed."""
    values = {name: draw.choice([draw.random(), 0.5]) for name in opt.goals.names}
    held = {name: draw.choice([draw.random() / 4, math.nan, None]) for name in opt.goals.quantities}
    if draw.random() < 0.2:
        return ValueError("no"), held or None
    if held and draw.random() < 0.3:
        return None, held
    if draw.random() < 0.1:
        values[opt.goals.names[0]] = math.nan
    return values, held or None


@pytest.mark.parametrize("kind", GOALS)
@pytest.mark.parametrize("seed", range(4))
def test_at_every_moment_the_file_has_the_points_of_what_matters(kind: str, seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    opt = lamcts.Optimizer(SPACE, sampler="uniform", seed=seed, **GOALS[kind])
    journal = Journal.open(tmp_path / "run.db", opt.fingerprint())
    for _ in range(40):
        trials = opt.ask(draw.choice([1, 3]))
        for trial in trials:
            value, held = told(opt, draw)
            opt.tell([trial], [value], constraints=None if held is None else [held])
        journal.write(opt.delta(journal.mark))
        record = journal.recorded()
        assert np.array_equal(record.y, opt.seen.y, equal_nan=True)
        assert np.array_equal(record.feasible, opt.seen.feasible)
        assert [(p.point, p.values, p.trial) for p in record.front] == [(p.point, p.values, p.trial) for p in opt.front]
        row = opt.seen.best
        assert (record.best is None) == (row is None)
        if row is not None and record.best is not None and len(opt.goals.objectives) == 1:
            assert record.best[0] == opt.best.point and record.best[2] == row
        if draw.random() < 0.2:  # a new process
            journal.close()
            journal = Journal.open(tmp_path / "run.db", opt.fingerprint())
    journal.close()
    assert np.any(opt.seen.kind == FAILED) and (kind == "free" or np.any(opt.seen.kind == CHECKED))


def test_values_constraints_and_violation_are_in_the_users_units(tmp_path: Path) -> None:
    opt = lamcts.Optimizer(SPACE, sampler="uniform", seed=0, **GOALS["front"])
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        opt.tell(opt.ask(), [{"cost": 1.0, "range": 2.0, "stress": 0.35, "sag": 0.25}])
        opt.tell(opt.ask(), [{"cost": 3.0, "range": 4.0, "stress": 0.1, "sag": math.nan}])
        opt.tell(opt.ask(), [ValueError("no")])
        journal.write(opt.delta(journal.mark))
    record = Journal.read(tmp_path / "run.db")
    assert record.goals == opt.goals and record.fingerprint["maximize"] is False
    assert np.array_equal(record.values, [[1, 2], [3, 4], [math.nan] * 2], equal_nan=True)
    np.testing.assert_allclose(record.constraints, [[0.25, 0.2], [0, math.nan], [math.nan] * 2])
    np.testing.assert_allclose(record.violation, [0.45, 0, math.nan])
    assert record.feasible.tolist() == [False] * 3 and len(record.front) == 0
    assert record.failures == {2: "ValueError: no"}


def test_one_objective_with_a_name_keeps_its_sense_and_its_name(tmp_path: Path) -> None:
    opt = lamcts.Optimizer(SPACE, sampler="uniform", seed=0, objectives={"gain": "max"})
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        opt.tell(opt.ask(3), [{"gain": 1.0}, {"gain": 5.0}, {"gain": 2.0}])
        journal.write(opt.delta(journal.mark))
    record = Journal.read(tmp_path / "run.db")
    assert record.values.tolist() == [1, 5, 2] and record.best is not None and record.best[1] == 5
    opt.save(tmp_path / "saved.db")
    later = lamcts.Optimizer.load(tmp_path / "saved.db")
    later.tell(later.ask(), [{"gain": 3.0}])
    assert later.best.value == opt.best.value == 5 and later.maximize and later.goals == opt.goals
