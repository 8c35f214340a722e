"""Metrics next to the value: other names of a returned dict, and `trial.note`."""

import io
import json
import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import noting

import lamcts
from lamcts.optimizer.export import names_of, write_csv
from lamcts.outcomes.metrics import metrics_of
from lamcts.study.reporting import Reporter

SPACE = lamcts.Space({"lr": lamcts.Float(0, 1), "act": lamcts.Choice(["a", "b"])})
HOW: dict[str, Any] = {"budget": 14, "seed": 0, "sampler": "uniform"}
PROGRAM = Path(__file__).with_name("noting_run.py")


def plain(point: dict[str, Any]) -> float:
    if point["lr"] > 0.9:
        raise RuntimeError("too high")
    return float(point["lr"])


def expected(row: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics that `noting` stores at a row."""
    noted = {"device": "cpu", "early": row["lr"] < 0.5}
    return noted if row["message"] == "RuntimeError: too high" else noted | {"epochs": 3, "loss": row["lr"] / 2}


@pytest.mark.parametrize("how", ["serial", "threads", "processes", "executor", "timeout"])
def test_metrics_come_home_from_every_kind_of_worker_and_change_no_proposal(how: str) -> None:
    options: dict[str, Any] = {
        "serial": {},
        "threads": {"workers": "threads"},
        "processes": {"workers": 2},
        "executor": {"executor": ThreadPoolExecutor(2)},
        "timeout": {"timeout": 60.0},
    }[how]
    result = lamcts.minimize(noting, SPACE, **HOW, **options)
    rows = sorted(result.rows(), key=lambda row: row["trial"])
    bare = sorted(lamcts.minimize(plain, SPACE, **HOW).rows(), key=lambda row: row["trial"])
    assert [row["lr"] for row in rows] == [row["lr"] for row in bare]
    for row in rows:
        assert {name: row[name] for name in expected(row)} == expected(row)
    assert any(row["message"] for row in rows) and len(result.history.metrics) == len(rows)


def test_metrics_stay_through_kill_9_and_resume(tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    process = subprocess.Popen([sys.executable, PROGRAM, journal])
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and not (journal.exists() and len(lamcts.load(journal).history) >= 4):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    held = len(lamcts.load(journal).history)
    assert 4 <= held < 40
    result = lamcts.minimize(noting, SPACE, journal=journal, **{**HOW, "budget": held + 4})
    again = lamcts.load(journal)
    for rows in (result.rows(), again.rows()):
        assert len(rows) == held + 4
        assert all({name: row[name] for name in expected(row)} == expected(row) for row in rows)


def test_a_pruned_trial_keeps_its_metrics_and_a_later_note_of_a_name_counts() -> None:
    def f(point: Any, trial: Reporter) -> float:
        for step in range(3):
            trial.note(step=step)
            trial.report(step, point[0] if step < 2 else 0)
        trial.note(step="done")
        return float(point[0])

    result = lamcts.minimize(f, [(0, 1)], budget=40, seed=0, sampler="uniform", pruner="median")
    steps = [row["step"] for row in result.rows()]
    pruned = result.history.pruned
    assert pruned.any() and {step for step, stop in zip(steps, pruned, strict=True) if stop} <= {0, 1, 2}
    assert {step for step, stop in zip(steps, pruned, strict=True) if not stop} == {"done"}


def test_metrics_are_columns_of_rows_tables_and_csv_next_to_columns_of_the_same_name() -> None:
    def f(point: Any) -> dict[str, Any]:
        return {"cost": point[0], "seconds": 2.5, "trial": "mine", "n": np.int64(3), "x": np.float32(0.5), "ok": True}

    result = lamcts.minimize(f, [(0, 1)], budget=3, seed=0, objectives=["cost"])
    (first, *_), found = result.rows(), io.StringIO()
    assert first["metric.seconds"] == 2.5 and first["metric.trial"] == "mine" and first["trial"] == 0
    assert (first["n"], first["x"], first["ok"]) == (3, 0.5, True) and type(first["n"]) is int
    assert list(first)[-2:] == ["seconds", "message"]
    write_csv(result.rows(), names_of(result.rows()), found)
    head, line, *_ = found.getvalue().splitlines()
    assert dict(zip(head.split(","), line.split(","), strict=True))["metric.seconds"] == "2.5"
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install '.[pandas]'")
    assert isinstance(result.to_dataframe()["n"], pandas.Series) and result.to_dataframe()["n"].sum() == 9
    assert result.to_dict()["history"][0]["metric.trial"] == "mine"


def test_an_evaluation_shows_its_metrics_as_it_ends() -> None:
    found = [e.metrics for e in lamcts.run(lambda x: {"value": x[0], "half": x[0] / 2}, [(0, 1)], budget=3, seed=0)]
    assert len(found) == 3 and all({*each} == {"half"} for each in found)


def test_a_re_evaluation_shows_its_metrics_too_but_no_parameter() -> None:
    def noisy(x: Any, trial: Any, seed: int) -> dict[str, float]:
        trial.note(worker=7)
        return {"value": x[0] ** 2 + np.random.default_rng(seed).normal(), "half": x[0] / 2, "x1": x[0]}

    found = [e for e in lamcts.run(noisy, [(0, 1)], budget=20, seed=0, noisy=True) if e.repeat]
    assert found and all(e.metrics == {"half": e.point[0] / 2, "worker": 7} for e in found)


def test_many_points_in_one_call_have_metrics_by_list() -> None:
    def f(points: Any) -> dict[str, Any]:
        return {"value": [x[0] for x in points], "index": list(range(len(points)))}

    rows = lamcts.minimize(f, [(0, 1)], budget=4, seed=0, batch=2, vectorized=True).rows()
    assert [row["index"] for row in rows] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ({"lr": 2}, "got 'lr', which is a parameter of the space; rename it"),
        ({"losses": np.zeros(10**6)}, "True, False or None for 'losses', got list; store"),
        ({"losses": [0.0] * 10**6}, "True, False or None for 'losses', got list; store"),
        ({"net": {"a": 1}}, "for 'net', got dict"),
        ({"sem": 0.1}, "got 'sem', which is the standard error of a value, told as"),
        ({"when": 1j}, "for 'when', got complex"),
        ({5: 1}, "expected names that are texts, got 5"),
        ({" ": 1}, "expected names that are texts, got ' '"),
    ],
)
def test_a_metric_that_cannot_be_stored_is_left_out_with_the_reason(returned: Any, says: str) -> None:
    with pytest.warns(RuntimeWarning, match=f"{says}.*; it is not stored"):
        result = lamcts.minimize(lambda point: {"value": 1.0, "fine": 2, **returned}, SPACE, **HOW)
    assert result.nfev == 14 and [*result.rows()[0]] == ["trial", "value", "lr", "act", "fine", "seconds", "message"]


def test_a_wrong_name_of_the_objective_is_an_error_that_knows_the_right_one() -> None:
    with pytest.raises(ValueError, match=r"got none for 'value'; did you mean 'value' by 'vlaue'\?"):
        lamcts.minimize(lambda point: {"vlaue": 1, "accuracy": 1}, SPACE, **HOW)


@pytest.mark.parametrize(
    ("name", "owner"),
    [("lr", "a parameter of the space"), ("cost", "an objective"), ("mass", "a constraint"), ("mass <= 2", "a const")],
)
def test_a_noted_name_that_is_taken_names_its_owner(name: str, owner: str) -> None:
    def f(point: Any, trial: Reporter) -> dict[str, float]:
        trial.note(**{name: 1.0})
        return {"cost": 1.0, "mass": 1.0}

    with pytest.warns(RuntimeWarning, match=f"got {name!r}, which is {owner}"):
        lamcts.minimize(f, SPACE, objectives=["cost"], constraints=["mass <= 2"], **HOW)


def test_parameters_that_are_returned_as_they_are_need_no_column_of_their_own() -> None:
    space = lamcts.Space({"lr": lamcts.Float(0, 1), "act": lamcts.Choice(["a", "b"]), "order": lamcts.Permutation(3)})
    rows = lamcts.minimize(lambda point: {"value": point["lr"], "epochs": 3, **point}, space, **HOW).rows()
    assert [*rows[0]] == ["trial", "value", "lr", "act", "order", "epochs", "seconds", "message"]
    with pytest.warns(RuntimeWarning, match="got 'act', which is a parameter"):
        lamcts.minimize(lambda point: {"value": point["lr"], "act": "c"}, space, **HOW)


def test_a_parameter_that_is_inactive_at_a_point_is_a_taken_name_too() -> None:
    space = lamcts.Space({"sgd": lamcts.Bool(), "momentum": lamcts.Float(0, 1, when={"sgd": True})})
    with pytest.warns(RuntimeWarning, match="got 'momentum', which is a parameter"):
        lamcts.minimize(lambda point: {"value": 1, "momentum": 0}, space, x0={"sgd": False}, **HOW)


def test_a_wrong_note_is_left_out_and_those_next_to_it_stay() -> None:
    trial = Reporter(0)
    with pytest.warns(RuntimeWarning, match="for 'curve', got list"):
        trial.note(curve=[1, 2, 3], epochs=3)
    assert trial.metrics == {"epochs": 3}


def test_single_values_of_any_coat_are_json_values() -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    import torch

    given = {"a": torch.tensor(2), "b": torch.tensor([0.5], requires_grad=True), "c": np.bool_(True), "d": math.nan}
    found = metrics_of(given | {"e": np.str_("x"), "f": None, "g": 10**400, "h": np.array([[7]])})
    assert repr(found) == "{'a': 2, 'b': 0.5, 'c': True, 'd': nan, 'e': 'x', 'f': None, 'g': inf, 'h': 7}"
    assert json.loads(json.dumps(found))["c"] is True and type(found["e"]) is str


def test_ask_and_tell_take_metrics_in_a_dict_or_apart_and_states_hold_them() -> None:
    opt = lamcts.Optimizer(SPACE, seed=0, objectives=["cost"])
    a, b, c = opt.ask(3)
    opt.tell(a, {"cost": 1.0, "epochs": 3}, metrics={"epochs": 2, "device": "cpu"})
    opt.tell([b, c], [RuntimeError("no"), 2.0], metrics=[{"device": "gpu", "d": math.nan}, None])
    assert repr(opt.metrics) == "{0: {'epochs': 3, 'device': 'cpu'}, 1: {'device': 'gpu', 'd': nan}}"
    again = lamcts.Optimizer(SPACE, seed=0, objectives=["cost"])
    again.load_state_dict(json.loads(json.dumps(opt.state_dict())))
    assert repr(again.metrics) == repr(opt.metrics)
    old = {name: part for name, part in opt.state_dict().items() if name != "metrics"}
    before = lamcts.Optimizer(SPACE, seed=0, objectives=["cost"])
    before.load_state_dict(old)
    assert before.metrics == {} and len(before.seen) == 3


@pytest.mark.parametrize("metrics", [{"99": {"a": 1}}, {"0": {"a": [1, 2]}}, {"0": 5}, 5])
def test_a_state_with_impossible_metrics_is_refused(metrics: Any) -> None:
    opt = lamcts.Optimizer(SPACE, seed=0)
    opt.tell(opt.ask(), [1.0])
    with pytest.raises(ValueError, match="state: expected"):
        lamcts.Optimizer(SPACE, seed=0).load_state_dict(opt.state_dict() | {"metrics": metrics})


def test_a_saved_optimizer_has_its_metrics(tmp_path: Path) -> None:
    opt = lamcts.Optimizer(SPACE, seed=0)
    opt.tell(opt.ask(), [{"value": 1.0, "epochs": 3}])
    opt.save(tmp_path / "saved.db")
    assert lamcts.Optimizer.load(tmp_path / "saved.db").metrics == {0: {"epochs": 3}}


def test_known_results_may_have_metrics() -> None:
    known = [({"lr": 0.1, "act": "a"}, {"value": 0.1, "epochs": 5})]
    rows = lamcts.minimize(plain, SPACE, known=known, **HOW).rows()
    assert rows[0]["trial"] == -1 and rows[0]["epochs"] == 5 and "epochs" not in rows[1]
