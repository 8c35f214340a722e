"""An objective against one of its costs on the command line."""

import json

import pytest
from commands import said

from lamcts.objectives import base
from lamcts.spaces import Box

QUICK = ["--quiet", "--no-plot", "--out", "here"]
TRAINED = ["--space", "digits4096", "--size", "widths=(2,)", "--data", "mine.npz", "--recipe", "epochs=1"]


@pytest.fixture
def _torch():
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")


class Bowl:
    """An objective with two costs, which are unknown in half of the box."""

    name, space, maximize, x0, optimum = "bowl", Box(0, 1, dim=2), False, None, 0.0

    def __call__(self, point, *, seed=None):
        return float((point**2).sum())

    def cost(self, point):
        if point[0] > 0.5:
            raise ValueError("no costs here") if point[1] > 0.5 else RuntimeError("nor here")
        return {"weight_kg": 10.0 - point.sum(), "price_eur": 1.0}

    def fingerprint(self):
        return {"bowl": 1}


@pytest.fixture
def _bowl(monkeypatch):
    base.names()
    monkeypatch.setitem(base._entries, "bowl", base.Entry("bowl", "a bowl with costs", Bowl))


def found(folder="here"):
    with open(f"{folder}/result.json") as file:
        return json.load(file)


@pytest.mark.parametrize("command", [["run", "digits4096"], ["nas", "table", "digits4096"]])
def test_a_table_is_searched_against_any_of_its_costs(capsys, command):
    code, out, err = said(capsys, *command, "--against", "flops", "--budget", "30", *QUICK)
    assert (code, err) == (0, "") and "objectives: accuracy_percent (max), flops (min)" in out
    assert len(found()["front"]) > 1 and "knee accuracy_percent" in out
    assert found()["settings"] == {"against": "flops"}
    code, out, _ = said(capsys, *command, "--against", "flops", "--budget", "31", *QUICK)
    assert code == 0 and "31 evaluations, 30 of them done" in out
    code, _, err = said(capsys, *command, "--against", "params", "--budget", "32", *QUICK)
    assert code == 2 and '{"against": "flops"}' in err


def test_a_run_against_a_cost_has_a_folder_of_its_own(capsys, tmp_path):
    assert said(capsys, "run", "digits4096", "--against", "params", "--budget", "10", *QUICK[:2])[0] == 0
    assert (tmp_path / "digits4096-againstparams-seed0" / "front.csv").is_file()


def test_the_knee_of_a_table_is_printed_with_the_values_of_its_network(capsys):
    words = ["nas", "table", "digits4096", "--against", "params", "--search", "evolution", "--budget", "30"]
    assert said(capsys, *words, *QUICK)[0] == 0
    assert found()["best"]["value"]["params"] == found()["costs"]["params"]
    assert found()["best"]["value"]["accuracy_percent"] == found()["reported"]["val_accuracy_percent"]


@pytest.mark.parametrize("cost", ["mflops", "seconds"])
def test_networks_are_trained_against_a_cost(capsys, _torch, images, tmp_path, cost):
    words = ["nas", "train", *TRAINED, "--search", "random", "--against", cost, "--budget", "4"]
    code, out, err = said(capsys, *words, *QUICK)
    assert (code, err) == (0, "") and f"objectives: accuracy_percent (max), {cost} (min)" in out
    assert found()["best"]["value"][cost] == found()["costs"][cost] > 0
    assert found()["card"]["text"] == found()["best"]["text"] in out and (tmp_path / "here" / "network.npz").is_file()


def test_a_supernet_is_searched_against_a_cost_and_its_knee_trained_alone(capsys, _torch, images):
    words = ["nas", "supernet", *TRAINED, "--steps", "2", "--search", "random", "--against", "params"]
    code, out, _ = said(capsys, *words, "--budget", "8", *QUICK)
    assert code == 0 and "front of" in out and "weights and model card" in out
    assert found()["best"]["value"]["params"] == found()["costs"]["params"]
    assert found()["best"]["value"]["negative_loss"] == -found()["supernet"]["valid_loss"]


def test_any_registered_objective_with_costs_is_run_against_one(capsys, _bowl):
    code, out, _ = said(
        capsys, "run", "bowl", "--against", "weight_kg", "--sampler", "uniform", "--budget", "20", *QUICK
    )
    assert code == 0 and "objectives: value (min), weight_kg (min)" in out
    best = found()["best"]
    assert best["value"]["weight_kg"] == 10.0 - sum(best["point"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "bowl", "--against", "weight"], "--against: expected one of weight_kg, price_eur, got 'weight'"),
        (["run", "digits4096", "--against", "flop"], "a cost that digits4096 has (params, flops), got 'flop'"),
        (["nas", "table", "digits4096", "--against", "ms"], "a cost that digits4096 has (params, flops), got 'ms'"),
        (["run", "digits4096-cost", "--against", "ms"], "a cost that digits4096 has (params, flops), got 'ms'"),
        (["run", "ackley", "--against", "flops"], "expected an objective with costs, got ackley: leave it out"),
        (["run", "math:cosh", "--param", "x=0:1", "--against", "flops"], "expected an objective with costs, got cosh"),
    ],
)
def test_a_wrong_cost_lists_those_that_exist(capsys, _bowl, words, message):
    code, _, err = said(capsys, *words, *QUICK)
    assert code == 2 and err.count("\n") == 1 and message in err


@pytest.mark.parametrize(
    ("how", "costs"),
    [
        ("train", "params, mflops, operations, seconds, peak_mb"),
        ("supernet", "params, mflops, operations"),
    ],
)
def test_a_wrong_cost_of_networks_is_refused_before_any_training(capsys, _torch, images, tmp_path, how, costs):
    code, _, err = said(capsys, "nas", how, *TRAINED, "--against", "latency_ms", *QUICK)
    assert code == 2 and f"--against: expected one of {costs}, got 'latency_ms'" in err
    assert not (tmp_path / "here").exists()


@pytest.mark.dear
@pytest.mark.usefixtures("_torch", "images")
def test_cells_are_searched_by_shared_weights_against_their_io_cost(capsys):
    from lamcts.movement import costs
    from lamcts.neural import nas

    small = [
        "--space",
        "io-cell",
        "--size",
        "width=2",
        "--size",
        "cells=1",
        "--data",
        "mine.npz",
        "--recipe",
        "epochs=1",
    ]
    words = ["nas", "supernet", *small, "--steps", "1", "--search", "graph_reinforce", "--against", "io"]
    code, out, _ = said(capsys, *words, "--budget", "2", *QUICK)
    assert code == 0 and "objectives: negative_loss (max), io (min)" in out
    reads = nas.IoCell().reads(found()["best"]["point"])
    assert found()["costs"]["io"] == costs.cell_io(reads) and found()["costs"]["nodes"] == len(reads) - 2
    code, out, _ = said(capsys, *words, "--budget", "3", *QUICK)
    assert code == 0 and "3 evaluations, 2 of them done" in out


@pytest.mark.usefixtures("_torch")
def test_the_search_of_io_cells_refuses_a_table_of_other_cells(capsys):
    code, _, err = said(capsys, "nas", "table", "digits4096", "--search", "graph_reinforce", *QUICK)
    assert code == 2 and "graph_reinforce: expected the space of IoCell" in err and "use the search 'reinforce'" in err
