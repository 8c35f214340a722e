"""Exported networks give the results of the network that was exported."""

import sys

import numpy as np
import pytest

from lamcts import MissingExtra
from lamcts.neural import nas
from lamcts.neural.train import Recipe, TrainObjective, digits, export_network, trained_network
from lamcts.neural.train import export as module

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from lamcts.neural.build import Dropout, build  # noqa: E402

X = torch.linspace(-1, 1, 2 * 64).view(2, 1, 8, 8)
MORE = torch.cat([X, X.flip(0), X]).sin()
SPACES = [(nas.ConvNet(layers=2), {"stages": 2}), (nas.Digits4096(), {"widths": (4,), "cells": 1})]


@pytest.fixture(autouse=True)
def _restored_generator():
    with torch.random.fork_rng():
        yield


@pytest.mark.parametrize(("space", "sizes"), SPACES, ids=lambda one: getattr(one, "name", ""))
def test_a_loaded_program_gives_equal_results_for_any_batch(space, sizes, tmp_path):
    net = build(space, space.random(np.random.default_rng(0)), channels=1, **sizes)
    assert net.training and export_network(net, X, tmp_path / "new" / "net.pt2") and net.training
    loaded = torch.export.load(tmp_path / "new" / "net.pt2").module()
    with torch.no_grad():
        assert torch.equal(loaded(MORE), net.eval()(MORE)) and torch.equal(loaded(X), net(X))


def test_a_trained_network_is_exported_with_its_weights_and_without_its_random_layers(tmp_path):
    space, folder = nas.ConvNet(layers=2), tmp_path / "trained"
    f = TrainObjective(space, digits(), Recipe(epochs=1), sizes={"stages": 2}, folder=folder)
    point = space.parse("32-32")
    with pytest.raises(RuntimeError, match="expected a network that was trained into a folder"):
        trained_network(f, point)
    trained = f.train(point).net.eval()
    net = nn.Sequential(trained_network(f, point), Dropout(0.5))
    export_network(net, X, tmp_path / "net.pt2")
    with torch.no_grad():
        assert torch.equal(torch.export.load(tmp_path / "net.pt2").module()(MORE), trained(MORE))


@pytest.mark.filterwarnings("ignore")  # of torch's exporter
def test_an_onnx_file_gives_the_same_results(tmp_path):
    pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install onnx onnxscript")
    from onnx.reference import ReferenceEvaluator

    space = nas.ConvNet(layers=2)
    net = build(space, space.parse("32-32"), channels=1, stages=2)
    assert export_network(net, X, tmp_path / "net.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["net.onnx"]  # the weights are inside
    session = ReferenceEvaluator(str(tmp_path / "net.onnx"))
    (found,) = session.run(None, {session.input_names[0]: MORE.numpy()})
    with torch.no_grad():
        np.testing.assert_allclose(found, net.eval()(MORE), rtol=1e-4, atol=1e-5)


def test_a_network_whose_code_fixes_the_batch_is_reported(tmp_path):
    class Fixed(nn.Linear):
        def forward(self, x):
            return super().forward(x.view(2, 3))

    assert not export_network(Fixed(3, 1), torch.rand(2, 3), tmp_path / "net.pt2")


class Branches(nn.Linear):
    def forward(self, x):
        return super().forward(x) * (1 if float(x.sum()) > 0 else 2)


@pytest.mark.parametrize(
    ("net", "x", "file", "told"),
    [
        (nn.Linear(8, 1), X, "net.pt", "expected a file that ends in .pt2 or .onnx, got 'net.pt'"),
        (nn.Linear(8, 1), X[:1], "net.pt2", "expected a batch of at least 2 examples, got 1"),
        (Branches(8, 1), X, "net.pt2", "expected a network that torch can export, got "),
    ],
)
def test_what_cannot_be_exported_is_reported_with_its_reason(net, x, file, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=told):
        export_network(net, x, file)
    assert not list(tmp_path.iterdir()) and net.training


def test_onnx_names_the_packages_that_it_needs(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "onnxscript" else sys)
    told = "net.onnx needs onnxscript, not installed: pip install onnx onnxscript"
    with pytest.raises(MissingExtra, match=told):
        export_network(nn.Linear(8, 1), X, "net.onnx")
