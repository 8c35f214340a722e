import math
import subprocess
import sys

import pytest

import lamcts
import lamcts.testing
from lamcts.neural import nas
from lamcts.neural.train import Recipe, TrainObjective, digits
from tests.neural.few_digits import few_digits

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

SIZES = {"stages": 2}


@pytest.fixture(scope="module")
def data():
    return few_digits(60, 40, 20)


def objective(data, **settings):
    settings = {"recipe": Recipe(epochs=2, batch=20), "sizes": SIZES} | settings
    return TrainObjective(nas.ConvNet(layers=2), data, **settings)


class Told:
    """A trial that stops its training after a step."""

    def __init__(self, last=None):
        self.values, self.last = {}, last

    def report(self, step, value):
        self.values[step] = value
        if step == self.last:
            raise lamcts.Pruned(f"pruned at step {step}")


def test_a_call_returns_the_validation_score_and_the_same_for_the_same_seed(data):
    f, point = objective(data), nas.ConvNet(layers=2).parse("32-64")
    assert f.maximize and f(point, seed=1) == f(point, seed=1)
    assert f(point, seed=1) == f.train(point, seed=1).valid_accuracy * 100 == f.report(point)["valid_accuracy_percent"]
    loss = objective(data, score="loss")
    assert (
        not loss.maximize and loss(point, seed=1) == loss.report(point)["valid_loss"] == f.report(point)["valid_loss"]
    )
    assert loss(point, seed=1) != loss(point, seed=2)
    assert loss(point) != loss(point)  # fresh seeds


def test_what_a_network_costs_comes_with_it(data):
    f, point = objective(data), nas.ConvNet(layers=2).parse("32-64")
    costs = f.cost(point)
    assert costs["params"] == 9 * 32 + 2 * 32 + 9 * 32 * 64 + 2 * 64 + 64 * 10 + 10
    assert costs["mflops"] == pytest.approx(2 * (64 * 9 * 32 + 16 * 9 * 32 * 64 + 64 * 10) / 1e6)
    assert math.isnan(costs["seconds"]) and math.isnan(f.report(point)["test_loss"])
    kept = 20 * 4 * (64 + 2 * 32 * 64 + 2 * 64 * 16)  # the input, and each convolution's output before and after
    assert 1 < costs["peak_mb"] * 1e6 / kept < 3
    f(point, seed=0)
    assert f.cost(point)["seconds"] > 0 and math.isfinite(f.report(point)["test_loss"])


def test_epochs_are_reported_in_the_sign_of_the_score_and_a_trial_may_end_them(data):
    point, heard = nas.ConvNet(layers=2).parse("32-32"), Told()
    value = objective(data)(point, seed=0, trial=heard)
    assert list(heard.values) == [1, 2] and heard.values[2] == value
    with pytest.raises(lamcts.Pruned):
        objective(data)(point, seed=0, trial=Told(last=1))


def test_a_search_records_trainings_that_are_stopped_as_pruned_and_those_that_fail_with_their_reason(data):
    f = objective(data)
    result = lamcts.maximize(f, f.space, budget=6, seed=0, n_init=6, pruner=lamcts.pruners.Median(startup=1))
    assert 1 <= result.pruned < 6 and result.nfev == 6
    wild = objective(data, recipe=Recipe(epochs=1, rate=1e30, batch=20))
    failed = lamcts.maximize(wild, wild.space, budget=2, seed=0)
    assert not failed.success and "Diverged: epoch 1: the loss is" in failed.message


def test_a_training_that_was_ended_goes_on_where_its_folder_holds_it(data, tmp_path):
    point = nas.ConvNet(layers=2).parse("64-32")
    with pytest.raises(lamcts.Pruned):
        objective(data, folder=tmp_path)(point, seed=3, trial=Told(last=1))
    later, heard = objective(data, folder=tmp_path), Told()
    assert later(point, seed=3, trial=heard) == objective(data)(point, seed=3)
    assert list(heard.values) == [1, 2]  # the first is told again
    elsewhere = objective(data, folder=tmp_path)  # another process would see as much
    assert elsewhere.report(point) == later.report(point)
    assert elsewhere.cost(point)["seconds"] == later.cost(point)["seconds"]
    other = objective(data, folder=tmp_path, recipe=Recipe(epochs=1, batch=20))
    assert math.isnan(other.report(point)["valid_loss"]) and other(point, seed=3) >= 0


def test_points_that_are_no_network_are_told_apart_from_crashes(data):
    f = TrainObjective(nas.NasBench101(), data, Recipe(epochs=1), sizes={"width": 4, "cells": 1})
    none = dict.fromkeys(f.architectures.edges, False) | dict.fromkeys(f.architectures.inner, "maxpool3x3")
    with pytest.raises(lamcts.InvalidPoint, match="no path"):
        f(none)
    assert f.space.identity(f.space.inner.encode(none)) is None
    with pytest.raises(ValueError, match="'accuracy' or 'loss', got 'speed'"):
        objective(data, score="speed")


def test_journals_tell_one_training_from_another(data):
    prints = [objective(data, **each).fingerprint() for each in ({}, {"recipe": Recipe()}, {"score": "loss"})]
    prints.append(TrainObjective(nas.ConvNet(), digits(), Recipe(), sizes={}).fingerprint())
    assert all(one != other for i, one in enumerate(prints) for other in prints[:i])
    assert objective(data).fingerprint() == prints[0]


def test_the_objective_is_made_and_searched_without_torch():
    code = "import sys; from lamcts.neural.train import *; from lamcts.neural import nas; "
    code += (
        "f = TrainObjective(nas.NasNet(), digits(), Recipe()); f.space, f.fingerprint(); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


@pytest.mark.dear
def test_it_is_what_a_study_relies_on(data):
    lamcts.testing.check_objective(objective(data, recipe=Recipe(epochs=1, batch=20)))
