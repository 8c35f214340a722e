import numpy as np
import pytest

from lamcts.neural import nas

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.fewshot import FewShot, few_shot_darts  # noqa: E402
from lamcts.neural.supernet import Darts, Relaxed, supernet  # noqa: E402
from lamcts.neural.supernet.darts import _learn_shares, halves  # noqa: E402
from lamcts.neural.train import Recipe  # noqa: E402
from lamcts.neural.train.loop import to_device  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402

SPACE, SIZES = nas.Digits4096(), {"widths": (3,), "cells": 1}
SURE = 50.0  # a logit that leaves nothing to the others


@pytest.fixture(scope="module")
def data():
    return few_digits(60, 20, 12)


def relaxed(seed=0):
    return Relaxed(supernet(SPACE, channels=1, seed=seed, **SIZES))


def told(relaxed, point):
    """Return a relaxed supernet whose shares are all a cell's."""
    with torch.no_grad():
        for place, operation in point.items():
            relaxed.logits[place].zero_()[SPACE.operations.index(operation)] = SURE
    return relaxed


def test_shares_that_are_all_of_one_cell_give_its_scores_and_its_point():
    net, x = relaxed().eval(), torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    for numbers in [(3, 1, 2, 1, 1, 3), (1, 1, 0, 2, 0, 3)]:
        point = SPACE.point(numbers)
        assert told(net, point).point == point
        assert torch.allclose(net(x), net.net(x, point), atol=1e-5)
    assert relaxed().point == SPACE.point((0,) * 6)  # of equal shares the first


def test_weights_learn_from_one_half_and_shares_from_the_other(data):
    one, other = halves(data.train)
    assert len(one.y) + len(other.y) == 60 and np.abs(np.bincount(one.y) - np.bincount(other.y)).max() <= 1
    recipe, counted = Recipe(epochs=2, batch=10), relaxed()
    before = {name: value.clone() for name, value in counted.named_parameters()}
    found = Darts(rate=0.1).fit(counted, data, recipe, seed=1)
    assert found.steps == 2 * 2 * -(-len(one.y) // 10)
    moved = {name for name, value in counted.named_parameters() if not torch.equal(value, before[name])}
    assert moved == set(before)
    held = relaxed()
    Darts(rate=0.0).fit(held, data, recipe, seed=1)
    assert all(not logits.any() for logits in held.logits.values())


def test_shares_go_where_the_loss_falls(data):
    net, part, rows = relaxed(), to_device(data.valid, torch.device("cpu")), torch.arange(20)
    adam, losses = torch.optim.Adam(net.architecture, 0.05), []
    for _ in range(8):
        losses.append(float(torch.nn.functional.cross_entropy(net(part.x), part.y).detach()))
        _learn_shares(net, adam, part, rows)
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0] - 0.01
    assert all(weight.grad is None for weight in net.net.parameters())


def test_the_same_seed_gives_the_same_shares(data):
    recipe = Recipe(epochs=1, batch=10)
    one, other, third = (Darts(rate=0.05).fit(relaxed(), data, recipe, seed=seed) for seed in (2, 2, 3))
    assert one.relaxed.shares == other.relaxed.shares != third.relaxed.shares
    assert one.valid_loss == other.valid_loss and SPACE.invalid(one.point) is None
    with pytest.raises(ValueError, match="recipe: expected one without averages, in float32"):
        Darts().fit(relaxed(), data, Recipe(average=0.9))


def test_parts_begin_with_their_parents_weights_and_shares():
    parent = told(relaxed(), SPACE.point((3, 1, 2, 1, 1, 3)))
    region = parent.net.region.split("edge_0_1", [("none", "nor_conv_3x3"), ("skip_connect", "avg_pool_3x3")])[0]
    child = parent.restricted(region)
    assert child.logits["edge_0_1"].tolist() == [0.0, SURE] and child.point == parent.point
    assert torch.equal(child.net.stem.conv.weight, parent.net.stem.conv.weight)


def test_few_shot_search_reads_out_the_leaf_of_the_lowest_validation_loss(data):
    found = few_shot_darts(FewShot(SPACE, 1, "first", sizes=SIZES), data, Recipe(epochs=1, batch=30), seed=1)
    assert len(found.leaves) == 4 and found.best.valid_loss == min(leaf.valid_loss for leaf in found.leaves)
    assert found.point == found.best.point and {leaf.point["edge_0_1"] for leaf in found.leaves} == set(
        SPACE.operations
    )
    assert found.steps == sum(leaf.steps for leaf in found.leaves) + found.leaves[0].steps
    with pytest.raises(ValueError, match="expected NASNet or DARTS cells or operations on edges, got efficientnet"):
        few_shot_darts(FewShot(nas.EfficientNet(), 1), data, Recipe(epochs=1))
