"""A saved, pickled or copied run goes on with the same points, with every sampler and for every kind of problem."""

import copy
import importlib.util
import pickle
import shutil
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import lamcts
from lamcts import samplers

REALS = {"x": lamcts.Float(0, 1), "y": lamcts.Float(0, 1)}
PROBLEMS: dict[str, dict[str, Any]] = {
    "plain": {"space": REALS},
    "constraints": {"space": REALS, "constraints": ["c <= 0.6"]},
    "two objectives": {"space": REALS, "objectives": ["a", "b"]},
    "fidelity": {"space": REALS | {"epochs": lamcts.Fidelity(1, 9)}},
}
EXTRAS = {"cma": "cma", "nevergrad:TwoPointsDE": "nevergrad"}
SAMPLERS = [*(name for name in samplers.classes() if name != "nevergrad"), "nevergrad:TwoPointsDE"]


def told(point: dict[str, float], problem: str) -> Any:
    loss = (point["x"] - 0.3) ** 2 + abs(point["y"] - 0.6) + 1 / point.get("epochs", 9)
    if problem == "constraints":
        return {"value": loss, "c": point["x"] + point["y"] / 2}
    return (loss, 1 - point["x"]) if problem == "two objectives" else loss


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_two_loads_of_a_file_ask_what_the_run_asks(name: str, problem: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(EXTRAS.get(name, "numpy")) is None:
        pytest.skip(f"needs the package {EXTRAS[name]}")
    opt = lamcts.Optimizer(seed=3, sampler=name, n_init=6, **PROBLEMS[problem])
    if not opt.sampler.resumable:
        pytest.skip("a sampler that is not saved")
    for _ in range(4):
        trials = opt.ask(3)
        opt.tell(trials, [told(trial.point, problem) for trial in trials])
    opt.save(tmp_path / "run.db")
    shutil.copy(tmp_path / "run.db", tmp_path / "copy.db")
    first, second = (lamcts.Optimizer.load(tmp_path / name) for name in ("run.db", "copy.db"))
    asked = [repr(trial.point) for trial in opt.ask(3)]
    assert [repr(trial.point) for trial in first.ask(3)] == asked == [repr(trial.point) for trial in second.ask(3)]


def below(point: Any) -> bool:
    return bool(point[0] < 0.8)


def first(point: dict[str, Any]) -> Any:
    return point["a"]


KINDS: dict[str, dict[str, Any]] = {
    "mixed": {
        "space": {
            "a": lamcts.Float(1e-3, 1, log=True),
            "b": lamcts.Int(0, 9),
            "c": lamcts.Choice(["u", len, [1]]),
            "d": lamcts.Float(0, 1, when={"c": "u"}),
        }
    },
    "orders": {
        "space": {"a": lamcts.Permutation(4), "b": lamcts.Simplex(3), "c": lamcts.Subset(5, 2), "d": lamcts.Angle(360)}
    },
    "table": {"space": lamcts.Finite(np.random.default_rng(0).random((60, 3)))},
    "rule": {"space": lamcts.Valid(lamcts.Box(0, 1, dim=2), below)},
    "key": {"space": lamcts.Canonical(lamcts.Space({"a": lamcts.Int(0, 99), "b": lamcts.Bool()}), first)},
    "noisy": {"space": REALS, "noisy": True},
    "related": {"space": [(0, 1)] * 2, "related": [[([i / 9, 0.3], float(i)) for i in range(9)]]},
}
COPIES = (
    lambda opt: pickle.loads(pickle.dumps(opt)),
    copy.deepcopy,
    lambda opt: cloudpickle.loads(cloudpickle.dumps(opt)),
)


def asked(name: Any, kind: str, copied: bool) -> list[str]:
    """Return the points of a run, which may be replaced by a copy at each moment."""
    opt = lamcts.Optimizer(seed=3, sampler=name, n_init=4, **(PROBLEMS | KINDS)[kind])
    points, moments = [], 0

    def moment() -> None:
        nonlocal opt, moments
        opt, moments = COPIES[moments % 3](opt) if copied else opt, moments + 1

    moment()
    for n in (2, 3, 3, 2):
        opt.ask(n)
        moment()
        pending = opt.pending
        points += [repr(trial.point) for trial in pending]
        for trial in pending[:2]:  # others wait
            value = float(sum(map(ord, repr(trial.point))) % 101)
            opt.tell(trial, told(trial.point, kind) if kind in PROBLEMS else value)
            moment()
    return points


@pytest.mark.parametrize("kind", PROBLEMS | KINDS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_pickled_or_copied_optimizer_goes_on_with_the_same_points_at_any_moment(name: str, kind: str) -> None:
    if importlib.util.find_spec(EXTRAS.get(name, "numpy")) is None:
        pytest.skip(f"needs the package {EXTRAS[name]}")
    assert asked(name, kind, copied=True) == asked(name, kind, copied=False)


def test_a_tree_over_cma_pickles_too() -> None:
    pytest.importorskip("cma")
    sampler = samplers.LaMcts(samplers.Cma())
    assert asked(sampler, "plain", copied=True) == asked(sampler, "plain", copied=False)


@pytest.mark.parametrize("copied", COPIES)
def test_an_optimizer_that_writes_a_journal_says_how_to_go_on_elsewhere(copied: Any, tmp_path: Path) -> None:
    opt = lamcts.Optimizer([(0, 1)] * 2, seed=0, journal=tmp_path / "run.db")
    with pytest.raises(
        TypeError, match=r"expected an optimizer without journal=.*Optimizer\(\.\.\., journal='.*run.db'\)"
    ):
        copied(opt)
    opt.tell(opt.ask(), [1.0])  # it still works
