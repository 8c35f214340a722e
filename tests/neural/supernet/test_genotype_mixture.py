"""DARTS on NASNet cells: mixtures, their discretisation, partial channels, resuming, and few-shot search."""

import numpy as np
import pytest

from lamcts.neural import nas

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.fewshot import FewShot, Matching, few_shot_darts  # noqa: E402
from lamcts.neural.fewshot.splits import SplitRequest  # noqa: E402
from lamcts.neural.supernet import Darts, Relaxed  # noqa: E402
from lamcts.neural.supernet.relaxed import GenotypeEdges, MixedEdge, edge  # noqa: E402
from lamcts.neural.train import Recipe  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402

SPACE, RECIPE = nas.NasNet(), Recipe(epochs=2, batch=20)
SURE = 50.0  # a logit that leaves nothing to the others


@pytest.fixture(scope="module")
def data():
    return few_digits(40, 20, 12)


def relaxed(partial=1, cells=1):
    return Relaxed.of(SPACE, channels=1, width=4, cells=cells, partial=partial)


def images(n=3):
    return torch.rand(n, 1, 8, 8, generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def test_a_node_keeps_the_strongest_operation_of_its_two_strongest_edges():
    net = relaxed()
    for i in range(len(SPACE.pairs)):
        for k, operation in ((min(i, 1), "max_pool_3x3"), (i + 1, "sep_conv_5x5")):
            net.logits[edge("normal", i, k)][SPACE.operations.index(operation)] = 1.0 + k
    point = net.point
    assert SPACE.invalid(point) is None and SPACE.space.decode(SPACE.space.encode(point)) == point
    edges = SPACE.edges(point, "normal")
    assert edges[3] == [("max_pool_3x3", 1), ("sep_conv_5x5", 4)]
    assert edges[0] == [("max_pool_3x3", 0), ("sep_conv_5x5", 1)]
    first = SPACE.operations[0]  # of equal shares the first edges and operations
    assert SPACE.edges(point, "reduction") == [[(first, 0), (first, 1)]] * len(SPACE.pairs)


@torch.no_grad()
@pytest.mark.parametrize("partial", [1, 2])
def test_shares_that_are_all_of_one_operation_are_the_path_of_that_operation(partial):
    net, rng = relaxed(partial, cells=3).eval(), np.random.default_rng(0)
    names = {place: SPACE.operations[rng.integers(4)] for place in places()}
    for place, name in names.items():
        net.logits[place][SPACE.operations.index(name)] = SURE
    shares = net.shares
    assert all(max(each, key=each.get) == names[place] for place, each in shares.items())
    scale = {place: sum(each.values()) for place, each in shares.items()}
    path = net.net._through(images(), {place: {name: scale[place]} for place, name in names.items()})
    assert torch.allclose(net(images()), path, atol=1e-5)
    assert all(scale[place] == pytest.approx(1.0 if partial == 1 else 1 / (i + 2)) for place, i in inputs().items())
    assert torch.equal(net.net(images(), names), net.net.masked(images(), names))


def places():
    return list(GenotypeEdges(SPACE).space.names)


def inputs():
    """Return the node of each place."""
    return {edge(cell, i, k): i for cell in SPACE.cells for i in range(len(SPACE.pairs)) for k in range(i + 2)}


def test_partial_channels_pass_the_others_and_shuffle_them():
    x = torch.arange(4.0).view(1, 4, 1, 1).expand(2, 4, 4, 4)
    whole, half = MixedEdge(["skip_connect"], 4, 1, 1), MixedEdge(["skip_connect"], 4, 1, 2)
    assert torch.equal(whole(x, {"skip_connect": 1.0}), x)
    assert half(x, {"skip_connect": 1.0})[0, :, 0, 0].tolist() == [0, 2, 1, 3]
    assert half(x, {"skip_connect": 0.5})[0, :, 0, 0].tolist() == [0, 1, 0.5, 1.5]
    assert MixedEdge(["max_pool_3x3"], 4, 2, 2)(x, {"max_pool_3x3": 1.0}).shape == (2, 4, 2, 2)
    assert sum(map(torch.numel, relaxed(4).net.parameters())) < sum(map(torch.numel, relaxed().net.parameters())) / 2
    with pytest.raises(ValueError, match="partial: expected a divisor of the width 4, got 3"):
        relaxed(3)
    with pytest.raises(ValueError, match="expected sizes width, cells or partial, got depth"):
        Relaxed.of(SPACE, depth=3)


@pytest.mark.parametrize("partial", [1, 2])
def test_architecture_parameters_move_and_the_cell_that_is_found_is_valid(data, partial):
    net = relaxed(partial, cells=3)
    found = Darts(rate=0.1).fit(net, data, Recipe(epochs=1, batch=20), seed=1)
    assert all(logits.any() for logits in net.architecture) and len(net.edge_logits) == (0 if partial == 1 else 10)
    assert SPACE.invalid(found.point) is None and found.point == net.point
    assert found.steps == 2 and 0 < found.valid_loss < 10
    held = Darts(rate=0.1, warmup=2).fit(relaxed(partial), data, RECIPE, seed=1)
    assert held.steps == 2 and not any(logits.any() for logits in held.relaxed.architecture)


@pytest.mark.dear
def test_a_search_that_is_stopped_resumes_bit_for_bit(data, tmp_path):
    file, darts, epochs = tmp_path / "darts.npz", Darts(rate=0.1), []
    whole = darts.fit(relaxed(2), data, RECIPE, seed=1)

    def stop(epoch):
        if epoch == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        darts.fit(relaxed(2), data, RECIPE, seed=1, checkpoint=file, report=stop)
    resumed = darts.fit(relaxed(2), data, RECIPE, seed=1, checkpoint=file, report=epochs.append)
    assert epochs == [2] and resumed.steps == whole.steps and resumed.valid_loss == whole.valid_loss
    weights, expected = resumed.relaxed.state_dict(), whole.relaxed.state_dict()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    with pytest.raises(ValueError, match="expected a checkpoint of this training, got one of another darts"):
        Darts(rate=0.2).fit(relaxed(2), data, RECIPE, seed=1, checkpoint=file)


@torch.no_grad()
def test_cells_of_darts_have_a_share_of_none_which_no_edge_keeps():
    space = nas.DartsCells()
    net, x = Relaxed.of(space, channels=1, width=4, cells=3, partial=2).eval(), images()
    assert len(net.logits) == 28 and all(list(each)[-1] == "none" and len(each) == 8 for each in net.shares.values())
    for place, logits in net.logits.items():
        logits[-1] = 1.0 if place.endswith("_1") else 0.0  # the best operation of input 1 has a smaller share
        logits[space.operations.index("dil_conv_5x5")] = 0.9
    found = {("dil_conv_5x5", k) for cell in space.cells for two in space.edges(net.point, cell) for _, k in two}
    assert space.invalid(net.point) is None and found == {("dil_conv_5x5", k) for k in (0, 1, 2)}
    assert [k for _, k in space.edges(net.point, "reduce")[3]] == [0, 2]
    rest = tuple(name for name in space.operations if name != "skip_connect")
    child = net.restricted(net.net.region.split("normal_edge_0_0", [("skip_connect",), rest])[0])
    assert list(child.shares["normal_edge_0_0"]) == ["skip_connect", "none"] and child(x).shape == (3, 10)
    assert space.edges(child.point, "normal")[0][0] == ("skip_connect", 0)


def test_an_edge_of_none_adds_nothing():
    x, mixed = torch.ones(2, 4, 4, 4), MixedEdge(["skip_connect"], 4, 1, 1)
    assert torch.equal(mixed(x, {"skip_connect": 0.25, "none": 0.75}), 0.25 * x)
    assert not mixed(x, {"skip_connect": 0.0, "none": 1.0}).any()


@torch.no_grad()
def test_parts_of_a_mixture_begin_with_its_weights_and_the_shares_of_its_edges():
    parent, x = relaxed(2).eval(), images()
    for i, logits in enumerate(parent.architecture):
        logits.copy_(torch.linspace(-1, i % 3, len(logits)))
    place, kept = "normal_edge_2_1", ("skip_connect", "sep_conv_3x3")
    rest = tuple(name for name in SPACE.operations if name not in kept)
    child = parent.restricted(parent.net.region.split(place, [kept, rest])[0]).eval()
    assert set(child.shares[place]) == set(kept)
    assert sum(child.shares[place].values()) == pytest.approx(sum(parent.shares[place].values()))
    assert {name: each for name, each in child.shares.items() if name != place} == {
        name: each for name, each in parent.shares.items() if name != place
    }
    for name in rest:
        parent.logits[place][SPACE.operations.index(name)] = -SURE
    assert torch.allclose(child(x), parent(x), atol=1e-5)


def test_few_shot_search_splits_an_edge_of_a_cell(data, tmp_path):
    few, recipe = FewShot(SPACE, 1, "first", sizes={"width": 2, "cells": 1}), Recipe(epochs=2, batch=20)
    found = few_shot_darts(few, data, recipe, seed=1, finetune_epochs=1, folder=tmp_path)
    regions = [leaf.relaxed.net.region.allowed["normal_edge_0_0"] for leaf in found.leaves]
    assert regions == [(operation,) for operation in SPACE.operations]
    assert [SPACE.edges(leaf.point, "normal")[0][0] for leaf in found.leaves] == [
        (name, 0) for name in SPACE.operations
    ]
    assert found.point == min(found.leaves, key=lambda leaf: leaf.valid_loss).point
    assert found.steps == 2 * 2 + 4 * 2 and len(list(tmp_path.glob("darts*.npz"))) == 5
    again = few_shot_darts(few, data, recipe, seed=1, finetune_epochs=1, folder=tmp_path)
    assert [leaf.valid_loss for leaf in again.leaves] == [leaf.valid_loss for leaf in found.leaves]
    assert again.steps == found.steps


def test_gradient_matching_compares_the_operations_of_an_edge(data):
    net = relaxed().net
    asked = SplitRequest(net, 0, (), data, batch=10, seed=0)
    found = Matching(draws=1).similarities(asked, "normal_edge_0_1")
    assert asked.open == places()
    assert (found == found.T).all() and len(np.unique(found)) > 3 and (abs(found) <= 1).all()


def test_cells_whose_output_is_one_node_are_not_mixed():
    with pytest.raises(ValueError, match="expected NASNet or DARTS cells or operations on edges, got io-cell"):
        Relaxed.of(nas.IoCell(nodes=4), channels=1, width=4, cells=1)
