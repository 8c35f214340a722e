"""A saved run loads as often as wanted and asks the same, with every sampler and for every kind of problem."""

import importlib.util
from pathlib import Path
from typing import Any

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
    opt.save(tmp_path / "run.npz")
    first, second = (lamcts.Optimizer.load(tmp_path / "run.npz") for _ in range(2))
    asked = [repr(trial.point) for trial in opt.ask(3)]
    assert [repr(trial.point) for trial in first.ask(3)] == asked == [repr(trial.point) for trial in second.ask(3)]
