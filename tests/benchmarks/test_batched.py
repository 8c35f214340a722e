import numpy as np
import pytest

from lamcts.neural import nas
from lamcts.neural.train import Data, Recipe, digits
from lamcts.neural.train import train as alone
from lamcts.neural.train.data import part_of

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from benchmarks.neural.nas.batched import StackedNetworks, train  # noqa: E402
from lamcts.neural.build import build  # noqa: E402

SPACE = nas.Digits4096()
CELLS = [(3, 2, 1, 3, 0, 3), (0, 0, 0, 1, 0, 0), (2, 3, 3, 0, 2, 1), (3, 3, 0, 0, 0, 0)]  # the last has no path
SHORT = Recipe(epochs=2, batch=16, smoothing=0.1)


@pytest.fixture(scope="module")
def little():
    """Return a hundred digits."""
    parts = (part_of(p.x, p.y, slice(0, n)) for p, n in zip(digits().parts.values(), (40, 30, 30), strict=True))
    return Data("little", *parts, classes=10)


def nets(cells, seeds, **sizes):
    sizes = {"channels": 1, "widths": (4,), "cells": 1} | sizes
    return [build(SPACE, SPACE.point(cell), seed=seed, **sizes) for cell, seed in zip(cells, seeds, strict=True)]


def same_as_alone(made, little, recipe, seeds, tolerance=1e-4):
    """Train networks at once and again one by one; all that is told and learnt must agree."""
    got, ones = train(first := made(), little, recipe, seeds=seeds), made()
    assert all(net.training for net in first)
    for i, (one, seed) in enumerate(zip(ones, seeds, strict=True)):
        told = alone(one, little, recipe, seed=seed)
        losses = [epoch.train_loss for epoch in told.epochs]
        assert got.train_loss[:, i] == pytest.approx(losses, abs=tolerance)
        assert got.valid_loss[i] == pytest.approx(told.valid_loss, abs=tolerance)
        assert got.test_loss[i] == pytest.approx(told.test_loss, abs=tolerance)
        assert got.valid_accuracy[i] == pytest.approx(told.valid_accuracy)
        assert got.test_accuracy[i] == pytest.approx(told.test_accuracy)
        state = first[i].state_dict()
        for name, value in one.state_dict().items():
            assert torch.allclose(value, state[name], atol=10 * tolerance), name


def test_networks_of_different_cells_learn_what_each_learns_alone(little):
    seeds = [0, 1, 1, 2]  # two see the examples in the same order
    same_as_alone(lambda: nets(CELLS, seeds), little, SHORT, seeds)


def test_networks_of_two_stages_and_three_channels_learn_what_each_learns_alone(little):
    space, sizes = nas.NasBench201(), {"widths": (4, 6), "cells": 1, "channels": 1}
    points = [space.point(cell) for cell in [(4, 3, 2, 1, 0, 2), (2, 2, 3, 4, 1, 3)]]
    same_as_alone(lambda: [build(space, p, seed=i, **sizes) for i, p in enumerate(points)], little, SHORT, [5, 6])


@pytest.mark.parametrize("side", [6, 20])  # means of neighbours come from a matrix, or from the pooling
def test_images_of_any_size_give_the_scores_of_each_network(side):
    made = nets(CELLS, range(4), widths=(4, 6), channels=2)
    x = torch.rand(3, 4, 2, side, side, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        wanted = torch.stack([net.eval()(x[:, i]) for i, net in enumerate(made)], 1)
        assert torch.allclose(StackedNetworks(made).eval()(x), wanted, atol=1e-5)


def test_one_that_diverges_harms_no_other(little):
    made = nets(CELLS[:2], [0, 0])
    nn.init.constant_(made[1].head.linear.bias, float("nan"))
    got, other = train(made, little, SHORT, seeds=[0, 0]), train(nets(CELLS[:1], [0]), little, SHORT, seeds=[0])
    assert np.isnan(got.valid_loss[1]) and got.valid_loss[0] == pytest.approx(other.valid_loss[0], abs=1e-4)


def test_what_networks_cannot_share_is_refused(little):
    made = nets(CELLS[:2], [0, 0])
    with pytest.raises(ValueError, match="one for each network, got 1 for 2"):
        train(made, little, SHORT, seeds=[0])
    with pytest.raises(ValueError, match="got cutout, average"):
        train(made, little, Recipe(cutout=2, average=0.9), seeds=[0, 0])
    with pytest.raises(ValueError, match="in float32, got bfloat16"):
        train(made, little, Recipe(precision="bfloat16"), seeds=[0, 0])
    with pytest.raises(ValueError, match="networks of one size, got 2 sizes"):
        train([*made, *nets(CELLS[:1], [0], widths=(6,))], little, SHORT, seeds=[0] * 3)
