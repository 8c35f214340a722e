import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from lamcts.neural import nas
from lamcts.neural.nas.cells import EDGES, reachable

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.build import build  # noqa: E402
from lamcts.neural.build.build import maker_of  # noqa: E402

DATA = Path(os.environ.get("LAMCTS_DATA") or Path(__file__).parents[3] / "shared" / "data")
DIGITS = {"channels": 1, "widths": (8,), "cells": 1}
SPACE = nas.Digits4096()


def parameters(net):
    return sum(each.numel() for each in net.parameters())


def images(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


def test_networks_of_nasbench201_have_the_parameters_of_their_formula():
    space = nas.NasBench201()
    for numbers in [(0,) * 6, (2,) * 6, (3,) * 6, (3, 0, 1, 2, 4, 1), (0, 0, 3, 0, 0, 4)]:
        with torch.device("meta"):
            found = parameters(maker_of(space)(space, space.point(numbers), 3, 10))
        assert found == 73_306 + 28_000 * numbers.count(2) + 243_040 * numbers.count(3)


def test_networks_of_nasbench201_have_the_parameters_that_its_table_says():
    space = nas.NasBench201()
    if not (DATA / "nasbench201.npz").is_file():
        pytest.skip("nasbench201.npz is not in the folder that LAMCTS_DATA names")
    with np.load(DATA / "nasbench201.npz") as held:
        classes = {"cifar10": 10, "cifar100": 100, "ImageNet16-120": 120}
        told, ops, names = held["params"], held["ops"], held["datasets"].tolist()
    for row, (place, name) in product((0, 777, 15_000), enumerate(names)):
        with torch.device("meta"):
            net = maker_of(space)(space, space.point(tuple(map(int, ops[row]))), 3, classes[name])
        assert parameters(net) == pytest.approx(told[row, place], rel=1e-4)


@pytest.mark.parametrize("space", [SPACE, nas.NasBench201(), nas.TransNas()], ids=lambda space: space.name)
def test_every_kind_of_cell_gives_scores_and_halves_the_size_between_stages(space):
    for seed in range(3):
        net = build(space, space.random(np.random.default_rng(seed)), channels=3, classes=7, widths=(4, 6), cells=1)
        inner = []
        net.last.register_forward_hook(lambda module, given, out, inner=inner: inner.append(out.shape))
        assert net(images(2, 3, 8, 8)).shape == (2, 7)
        assert inner == [(2, 6, 4, 4)]


def test_a_cell_computes_the_sums_of_its_nodes():
    (skip, mean, conv) = 1, 2, 3
    net = build(SPACE, SPACE.point((skip, mean, conv, 0, skip, conv)), **DIGITS).eval()
    cell, x = net.stages[0], images(2, 8, 8, 8)
    node2 = torch.nn.functional.avg_pool2d(x, 3, 1, 1, count_include_pad=False) + cell.edges[2](x)
    assert torch.equal(cell(x), x + cell.edges[5](node2))
    assert cell.edges[2](x - 1).ne(cell.edges[2]((x - 1).relu())).sum() == 0  # a rectifier comes first


def test_edges_that_lead_nowhere_have_weights_and_change_nothing():
    live = (0, 0, 0, 3, 0, 0)
    dead = (3, 2, 0, 3, 0, 0)  # both of its other edges end where none goes on
    assert reachable(dead) == live
    one, other = (build(SPACE, SPACE.point(numbers), **DIGITS, seed=4) for numbers in (live, dead))
    x = images(3, 1, 8, 8)
    assert torch.equal(one(x), other(x)) and parameters(other) == parameters(one) + 592
    other(x).sum().backward()
    assert {name for name, weight in other.named_parameters() if weight.grad is None} == {
        f"stages.0.edges.0.{name}" for name in ("conv.weight", "norm.weight", "norm.bias")
    }
    assert len(EDGES) == 6 and all(weight.grad is not None for weight in other.stages[0].edges[3].parameters())


def test_a_cell_without_a_path_gives_the_same_scores_for_all_images():
    net = build(SPACE, SPACE.point((3, 3, 3, 0, 0, 0)), **DIGITS)
    scores = net(images(5, 1, 8, 8))
    assert torch.equal(scores, scores[:1].expand(5, -1))
    scores.sum().backward()
    assert net.stem.conv.weight.grad.abs().max() == 0
