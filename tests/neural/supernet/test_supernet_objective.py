import numpy as np
import pytest

import lamcts
from lamcts.neural import nas

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.supernet import SupernetObjective, supernet  # noqa: E402
from lamcts.neural.train.loop import evaluate, to_device  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402

SPACE, SIZES = nas.Digits4096(), {"widths": (4,), "cells": 1}
POINT, DEAD = SPACE.point((3, 0, 0, 1, 3, 0)), SPACE.point((3, 2, 0, 1, 3, 0))  # one network: an edge leads nowhere


@pytest.fixture(scope="module")
def data():
    return few_digits(40, 24, 16)


@pytest.fixture(scope="module")
def net():
    return supernet(SPACE, channels=1, **SIZES)


def test_a_network_is_evaluated_with_its_copied_weights(data, net):
    f = SupernetObjective(net, data, examples=0, metric="accuracy")
    cpu, alone = torch.device("cpu"), net.subnet(POINT).eval()
    assert f.maximize and f(POINT, seed=1) == 100 * evaluate(alone, to_device(data.valid, cpu))[1]
    assert f.report(POINT)["test_loss"] == evaluate(alone, to_device(data.test, cpu))[0]
    assert f.report(POINT)["valid_accuracy_percent"] == f(POINT)
    again = net.subnet(POINT, [to_device(data.train, cpu).x[:30]])
    assert (
        SupernetObjective(net, data, examples=30).report(POINT)["test_loss"]
        == evaluate(again, to_device(data.test, cpu))[0]
    )


def test_points_of_one_network_have_one_value(data, net):
    f = SupernetObjective(net, data, examples=10)
    assert SPACE.key(POINT) == SPACE.key(DEAD) and f.report(POINT) == f.report(DEAD)


def test_networks_are_ranked_by_loss_or_by_accuracy_which_a_journal_tells_apart(data, net):
    f, by_loss = (SupernetObjective(net, data, examples=10, metric=metric) for metric in ("accuracy", "loss"))
    assert SupernetObjective(net, data, examples=10)(POINT) == by_loss(POINT)
    assert by_loss(POINT) == -by_loss.report(POINT)["valid_loss"] < 0
    assert (
        by_loss.loss_and_accuracy(POINT)
        == f.loss_and_accuracy(POINT)
        == pytest.approx((-by_loss(POINT), f(POINT) / 100))
    )
    assert by_loss.fingerprint() == f.fingerprint() | {"metric": "loss"} != f.fingerprint()
    with pytest.raises(ValueError, match="metric: expected one of loss, accuracy, got 'rank'"):
        SupernetObjective(net, data, metric="rank")


def test_what_a_network_costs_comes_with_it(data, net):
    alone, costs = net.subnet(POINT), SupernetObjective(net, data).cost(POINT)
    assert costs["params"] == sum(weight.numel() for weight in alone.parameters())
    assert costs["mflops"] == pytest.approx(2 * 64 * (9 * 4 + 2 * 9 * 16) / 1e6 + 2 * 40 / 1e6)


def test_a_search_runs_on_a_supernet_and_a_journal_tells_supernets_apart(data, net, tmp_path):
    f = SupernetObjective(net, data, examples=10)
    result = lamcts.maximize(f, f.space, budget=6, seed=0, n_init=3, journal=tmp_path / "run.db")
    assert result.nfev == 6 and result.fun == f(result.x)
    other = SupernetObjective(supernet(SPACE, channels=1, **SIZES, seed=1), data, examples=10)
    assert f.fingerprint() == SupernetObjective(net, data, examples=10).fingerprint() != other.fingerprint()
    with pytest.raises(lamcts.JournalError):
        lamcts.maximize(other, other.space, budget=6, seed=0, n_init=3, journal=tmp_path / "run.db")


def test_every_network_of_the_space_can_be_looked_up(data, net):
    f, rng = SupernetObjective(net, data, examples=10, metric="accuracy"), np.random.default_rng(0)
    assert all(0 <= f(SPACE.random(rng)) <= 100 for _ in range(5))
    with pytest.raises(ValueError, match="examples: expected"):
        SupernetObjective(net, data, examples=-1)
