from itertools import product

import numpy as np
import pytest

import lamcts
from lamcts.neural import nas
from lamcts.neural.nas.cells import EDGES

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.fewshot import FewShot, Halves, Matching, fewshot  # noqa: E402
from lamcts.neural.fewshot.splits import SplitRequest  # noqa: E402
from lamcts.neural.supernet import SupernetRegion, supernet  # noqa: E402
from lamcts.neural.train import Recipe  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402

SPACE, SIZES = nas.Digits4096(), {"widths": (2,), "cells": 1}
CELLS = [SPACE.point(numbers) for numbers in product(range(4), repeat=len(EDGES))]
RECIPE = Recipe(epochs=1, batch=20)
STEP = 2  # gradient steps of an epoch: 40 examples


@pytest.fixture(scope="module")
def data():
    return few_digits(40, 12, 12)


@pytest.fixture
def untrained(monkeypatch):
    """Trees are built without training; what was to be trained, and how, is listed."""
    told = []

    class Done:
        def __init__(self, net):
            self.net, self.seconds = net, 1.0

    def train(net, data, recipe, **given):
        told.append((net, recipe, given))
        return Done(net)

    monkeypatch.setattr(fewshot, "train", train)
    return told


@pytest.mark.parametrize(
    ("split", "splits", "leaves"),
    [("random", 0, 1), ("random", 2, 16), ("first", 1, 4), ("halves", 3, 8), (Matching(draws=1), 2, 4)],
)
def test_every_architecture_belongs_to_one_leaf(data, untrained, split, splits, leaves):
    few = FewShot(SPACE, splits, split, sizes=SIZES).fit(data, RECIPE, seed=3)
    assert len(few.leaves) == leaves == len(few.nets)
    for point in CELLS:
        inside = [node for node in few.leaves if node.region.holds(point)]
        assert len(inside) == 1 and few.root.leaf(point) is inside[0]
        assert few.route(point) is few.route(SPACE.canonical(point))


def test_sub_supernets_begin_with_their_parents_weights(data, untrained):
    FewShot(SPACE, 2, "random", sizes=SIZES).fit(data, RECIPE)
    root, children = untrained[0][0].state_dict(), [net.state_dict() for net, _, _ in untrained[1:]]
    assert len(children) == 4 + 16
    for weights in children:
        assert weights.keys() <= root.keys() and all(torch.equal(value, root[name]) for name, value in weights.items())
    untrained.clear()
    FewShot(SPACE, 1, "random", inherits=False, sizes=SIZES).fit(data, RECIPE)
    stems = [net.state_dict()["stem.conv.weight"] for net, _, _ in untrained]
    assert len(stems) == 5 and all(not torch.equal(stems[0], other) for other in stems[1:])
    assert all(torch.equal(stems[1], other) for other in stems[2:])  # of a depth


@pytest.mark.dear
def test_all_supernets_of_a_depth_are_split_at_one_place_in_the_order_asked_for(data, untrained):
    first = FewShot(SPACE, 2, "first", sizes=SIZES).fit(data, RECIPE).root
    assert first.split == ("edge_0_1", (("none",), ("skip_connect",), ("avg_pool_3x3",), ("nor_conv_3x3",)))
    assert {child.split.place for child in first.children} == {"edge_0_2"}
    places = set()
    for seed in range(4):
        tree = FewShot(SPACE, 2, "halves", sizes=SIZES).fit(data, RECIPE, seed=seed).root
        assert len({child.split.place for child in tree.children} - {tree.split.place}) == 1
        assert sorted(len(group) for group in tree.split.groups) == [2, 2]
        places.add(tree.split.place)
    assert len(places) > 1


def test_what_is_split_at_every_place_cannot_be_split_again(data):
    region = SupernetRegion(dict.fromkeys(SPACE.places, ("none",)))
    asked = SplitRequest(supernet(SPACE, channels=1, region=region, **SIZES), 6, (), data, batch=10, seed=0)
    with pytest.raises(RuntimeError, match="expected a place to split, got none that is whole; take fewer splits"):
        Halves()(asked)


def test_steps_of_all_supernets_are_counted_and_none_is_begun_that_the_budget_has_no_room_for(data, untrained):
    again = Recipe(epochs=3, batch=10)  # of four steps an epoch
    given = FewShot(SPACE, 2, "random", sizes=SIZES)
    whole = given.fit(data, RECIPE, again=again)
    assert whole.seconds == len(untrained) == 21  # one a training
    assert whole.steps == STEP + 20 * 12 == sum(r.epochs * (40 // r.batch) for _, r, _ in untrained)
    part = given.fit(data, RECIPE, again=again, budget_steps=STEP + 4 * 12 + 2 * 48 + 47)
    assert part.steps == STEP + 4 * 12 + 2 * 48 and len(part.leaves) == 2 * 4 + 2
    assert all(sum(node.region.holds(point) for node in part.leaves) == 1 for point in CELLS[::7])
    matched = FewShot(SPACE, 1, Matching(draws=2), sizes=SIZES)
    assert matched.fit(data, RECIPE).steps == STEP + 2 * 6 * 4 + 2 * STEP
    assert matched.fit(data, RECIPE, budget_steps=STEP + 47).steps == STEP
    with pytest.raises(ValueError, match="budget_steps: expected at least 2, of the first supernet, got 1"):
        given.fit(data, RECIPE, budget_steps=1)


def test_sub_supernets_train_for_a_tenth_of_the_epochs_unless_told(data, untrained):
    FewShot(SPACE, 1, "first", sizes=SIZES).fit(data, Recipe(epochs=20, batch=20))
    assert [recipe.epochs for _, recipe, _ in untrained] == [20, 2, 2, 2, 2]
    root, *children = [given["seed"] for _, _, given in untrained]
    assert len(set(children)) == 1 and root not in children


def test_a_tree_is_an_objective_and_the_same_seed_and_a_resumption_give_the_same(data, tmp_path):
    given = FewShot(SPACE, 1, "halves", sizes=SIZES)
    few = given.fit(data, RECIPE, seed=5, folder=tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["supernet-0.npz", "supernet-1.npz", "supernet.npz"]
    again = given.fit(data, RECIPE, seed=5, folder=tmp_path)
    kept = few.state_dict()
    assert all(torch.equal(value, kept[name]) for name, value in again.state_dict().items())
    assert again.objective.fingerprint() == few.objective.fingerprint()
    rng = np.random.default_rng(0)
    point = SPACE.random(rng)
    alone = few.route(point).subnet(SPACE.canonical(point))
    x = torch.tensor(data.test.x)
    assert torch.equal(few.subnet(point)(x), alone(x))
    assert few.accuracy(point) == 100 * few.objective.loss_and_accuracy(point)[1]
    result = lamcts.maximize(few.objective, few.objective.space, budget=4, seed=0, n_init=2)
    assert result.fun == -few.objective.loss_and_accuracy(result.x)[0]


@pytest.mark.dear
def test_trees_of_nasnet_cells_are_split_at_layers(data, untrained):
    space = nas.NasNet()
    few = FewShot(space, 1, "random", sizes={"width": 2, "cells": 1}).fit(data, RECIPE)
    rng = np.random.default_rng(0)
    for _ in range(5):
        point = space.random(rng)
        assert sum(node.region.holds(point) for node in few.leaves) == 1
        few.subnet(point)
    assert "_layer" in few.root.split.place


def test_settings_that_make_no_sense_are_said():
    with pytest.raises(ValueError, match="split: expected one of random, first, halves, gradient, or a splitter"):
        FewShot(SPACE, split="best")
    with pytest.raises(ValueError, match="splits: expected"):
        FewShot(SPACE, splits=-1)
