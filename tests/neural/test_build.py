import os
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from lamcts.neural import nas
from lamcts.neural.nas.nasbench101 import pruned

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from lamcts.neural.build import Dropout, DropPath, build, initialise  # noqa: E402
from lamcts.neural.build.build import maker_of  # noqa: E402
from lamcts.neural.build.layers import HalfSize  # noqa: E402
from lamcts.neural.build.noise import reseed  # noqa: E402
from lamcts.neural.build.sizes import cell_costs  # noqa: E402

DATA = Path(os.environ.get("LAMCTS_DATA") or Path(__file__).parents[3] / "shared" / "data")
IMAGES = {"channels": 1, "classes": 10}
SMALL = [
    (nas.NasNet(), {"width": 4, "cells": 3}),
    (nas.DartsCells(), {"width": 4, "cells": 3}),
    (nas.IoCell(), {"width": 4, "cells": 3}),
    (nas.NasBench101(), {"width": 8, "cells": 1}),
    (nas.ConvNet(layers=3), {"stages": 2}),
    (nas.EfficientNet(blocks=2), {"width": 0.25, "stem_stride": 1}),
    (nas.AccelNasBench(), {"width": 0.25, "stem_stride": 1}),
    (nas.Layerwise(layers=3), {"width": 0.1}),
    (nas.RandomGraphs(stages=2, nodes=9), {"width": 2, "stem_stride": 1}),
]
NAMES = [space.name for space, _ in SMALL]
B0 = nas.AccelNasBench().parse(
    "r1_k3_e1_se1 r2_k3_e6_se1 r2_k5_e6_se1 r3_k3_e6_se1 r3_k5_e6_se1 r4_k5_e6_se1 r1_k3_e6_se1"
)


def parameters(net):
    return sum(each.numel() for each in net.parameters())


def on_meta(space, point, classes=10):
    """Return how many parameters a network of full size has, without memory for them."""
    with torch.device("meta"):
        return parameters(maker_of(space)(space, point, 3, classes))


def table(name):
    if not (DATA / name).is_file():
        pytest.skip(f"{name} is not in the folder that LAMCTS_DATA names")
    return np.load(DATA / name)


def test_networks_of_nasbench101_have_the_parameters_that_its_table_says():
    space = nas.NasBench101()
    with table("nasbench101_test108.npz") as held:
        rows = [0, 4789, *np.random.default_rng(0).integers(0, len(held["hash64"]), 4)]
        columns = [held[name][rows] for name in ("num_vertices", "adjacency_bits", "ops_base3", "trainable_params")]
    for vertices, bits, ops, told in zip(*(column.tolist() for column in columns), strict=True):
        cell = pruned(bits, tuple(ops // 3**t % 3 for t in range(vertices - 2)))
        assert on_meta(space, space.point(cell)) == told


def test_the_inception_cell_of_nasbench101_has_its_published_parameters():
    ops = ["input", "conv1x1-bn-relu", *["conv3x3-bn-relu"] * 3, "maxpool3x3", "output"]
    edges = [(0, 1), (0, 2), (0, 3), (0, 5), (1, 6), (2, 6), (3, 4), (4, 6), (5, 6)]
    matrix = [[int((i, j) in edges) for j in range(7)] for i in range(7)]
    space = nas.NasBench101()
    assert on_meta(space, space.parse(str({"matrix": matrix, "ops": ops}).replace("'", '"'))) == 2_694_282


def test_efficientnet_b0_is_a_point_of_the_mobile_blocks_and_has_its_published_parameters():
    assert on_meta(nas.AccelNasBench(), B0, classes=1000) == 5_288_548


def test_networks_of_accel_nasbench_have_the_parameters_that_its_table_says():
    space = nas.AccelNasBench()
    with table("accel_nasbench.npz") as held:
        names, archs, told = held["arch_fields"].tolist(), held["arch"][:3].tolist(), held["mparams"][:3].tolist()
    found = [on_meta(space, dict(zip(names, arch, strict=True)), 1000) / 1e6 for arch in archs]
    assert found == pytest.approx(told, abs=1e-6)


def test_a_plain_convnet_has_the_parameters_of_its_layers():
    space, widths = nas.ConvNet(), [3, 32, 96, 64, 64, 32, 32, 96, 96, 64, 32]
    layers = sum(9 * before * after + 2 * after for before, after in pairwise(widths))
    assert on_meta(space, space.parse("-".join(map(str, widths[1:])))) == layers + 32 * 10 + 10


def reductions(c):
    """Return the parameters of a separable convolution 5 x 5."""
    return 2 * (25 * c + c * c + 2 * c)


def test_nasnet_cells_have_the_parameters_of_their_layers():
    space, c = nas.NasNet(), 8
    chain = [[("skip_connect", i + 1), ("sep_conv_3x3", i)] for i in range(5)]  # node i takes the two before it
    cells = {"normal": chain, "reduction": [[("max_pool_3x3", 0), ("sep_conv_5x5", 1)] for _ in range(5)]}
    net = build(space, space.from_edges(cells), width=c, cells=1)
    stem = 27 * 3 * c + 2 * 3 * c
    separable = 2 * (9 * c + c * c + 2 * c)
    first = 2 * (3 * c * c + 2 * c) + 5 * separable  # inputs, nodes; one node is loose
    assert parameters(net) == stem + first + 10 * c + 10
    first_reduction = (3 * c * 2 * c + 4 * c) + (c * 2 * c + 4 * c) + 5 * reductions(2 * c)
    second_reduction = (c * 4 * c + 8 * c) + (10 * c * 4 * c + 8 * c) + 5 * reductions(4 * c)
    whole = build(space, space.from_edges(cells), width=c, cells=3)
    assert parameters(whole) == stem + first + first_reduction + second_reduction + 10 * 20 * c + 10


def test_darts_cells_have_the_parameters_of_their_layers():
    space, c = nas.DartsCells(), 8
    separable, reads = [("sep_conv_3x3", 0), ("sep_conv_5x5", 1)], 2 * (3 * c * c + 2 * c)
    rest = [[("dil_conv_3x3", 1), ("dil_conv_5x5", 2)], [("avg_pool_3x3", 0), ("skip_connect", 1)]] * 2
    point = space.from_edges({cell: [separable, *rest[:3]] for cell in ("normal", "reduce")})
    kernels = 2 * (9 + 25) * c + 4 * (c * c + 2 * c)  # two separable ones, each applied twice
    dilated = (9 + 25) * c + 2 * (c * c + 2 * c)
    stem, head = 27 * 3 * c + 2 * 3 * c, 4 * c * 10 + 10  # all four nodes are concatenated
    assert parameters(build(space, point, width=c, cells=1)) == stem + reads + kernels + 2 * dilated + head


def test_the_cells_of_p_darts_have_their_published_parameters():
    space, skip, sep3, sep5 = nas.DartsCells(), "skip_connect", "sep_conv_3x3", "sep_conv_5x5"
    dil3, dil5 = "dil_conv_3x3", "dil_conv_5x5"
    normal = [(skip, 0), (dil3, 1), (skip, 0), (sep3, 1), (sep3, 1), (sep3, 3), (sep3, 0), (dil5, 4)]
    reduction = [("avg_pool_3x3", 0), (sep5, 1), (sep3, 0), (dil5, 2), ("max_pool_3x3", 0), (dil3, 1)]
    reduction += [(dil3, 1), (dil5, 3)]
    point = space.parse(f"Genotype(normal={normal}, reduce={reduction})")
    assert on_meta(space, point) == 3_433_798  # counted in issue 7 of its repository; 3.4 million in the paper


def test_the_recurrent_cell_computes_what_its_paper_says():
    space = nas.EnasCell(nodes=3)
    point = space.parse("0 0 1 0 3")  # tanh; relu and sigmoid of it
    net = build(space, point, classes=7, width=4, dropout=0.0)
    x = torch.tensor([[3, 5]])
    cell, state = net.cell, torch.zeros(1, 4)
    for word in net.embedding(x).unbind(1):
        (v, w), (v1, w1), (v2, w2) = (m.weight.chunk(2) for m in (cell.first, *cell.nodes))
        both = torch.cat([word, state], 1)
        gate = torch.sigmoid(both @ v.T)
        h0 = gate * torch.tanh(both @ w.T) + (1 - gate) * state
        gates = torch.sigmoid(h0 @ v1.T), torch.sigmoid(h0 @ v2.T)
        h1 = gates[0] * torch.relu(h0 @ w1.T) + (1 - gates[0]) * h0
        h2 = gates[1] * torch.sigmoid(h0 @ w2.T) + (1 - gates[1]) * h0
        state = (h1 + h2) / 2
    wanted = (state @ net.embedding.weight.T).flatten().tolist()
    assert net(x)[:, -1].flatten().tolist() == pytest.approx(wanted, abs=1e-6)
    assert parameters(net) == 7 * 4 + 8 * 8 + 2 * 4 * 8


def test_recurrent_cells_drop_embeddings_inputs_states_and_outputs():
    space, words = nas.EnasCell(nodes=3), torch.arange(7).repeat(2, 3)
    point, plain = space.parse("0 0 1 0 3"), None
    for i in range(5):
        rates = [0.5 if j == i else 0.0 for j in range(4)]
        net = build(space, point, classes=7, width=8, dropout=rates)
        reseed(net, 1)
        scores, again = net(words), net(words)
        plain = net.eval()(words)
        assert torch.equal(scores, plain) == (i == 4) and torch.equal(scores, again) == (i == 4)
        reseed(net, 1)
        assert torch.equal(net.train()(words), scores)
    net = build(space, point, classes=7, width=8, dropout=0.3)
    assert [each.rate for each in (net.before, net.inputs, net.hidden, net.after)] == [0.3, 0, 0, 0.3]
    with pytest.raises(ValueError, match="dropout: expected one rate, or four of embeddings, inputs, states, outputs"):
        build(space, point, classes=7, dropout=(0.1, 0.2))


def test_dropped_states_are_those_that_the_layers_of_a_cell_read():
    net = build(nas.EnasCell(nodes=1), {"node0_activation": "tanh"}, classes=7, width=4, dropout=0.0)
    word, state, kept = torch.ones(1, 4), torch.full((1, 4), 2.0), torch.tensor([[0.0, 1.0, 2.0, 1.0]])
    gate, value = net.cell.first(torch.cat([word, state * kept], 1)).chunk(2, 1)
    wanted = state + gate.sigmoid() * (value.tanh() - state)
    assert torch.equal(net.cell(word, state, kept), wanted)


def test_a_recurrent_cell_begins_with_states_that_do_not_grow():
    space, words = nas.EnasCell(), torch.arange(35)[None]
    for seed in range(3):
        point = space.random(np.random.default_rng(seed)) | {f"node{i}_activation": "relu" for i in range(12)}
        scores = build(space, point, classes=35, width=16, seed=seed).eval()(words)
        assert float(scores.detach().abs().max()) < 1


@pytest.mark.parametrize(("space", "sizes"), SMALL, ids=NAMES)
@pytest.mark.parametrize("side", [8, 7])
def test_every_network_gives_scores_and_gradients_of_images_of_any_size(space, sizes, side):
    rng = np.random.default_rng(side)
    for _ in range(2):
        net = build(space, space.random(rng), **IMAGES, **sizes)
        scores = net(torch.ones(3, 1, side, side))
        assert scores.shape == (3, 10) and torch.isfinite(scores).all()
        scores.square().sum().backward()
        learns = [weight.grad is not None for weight in net.parameters()]
        assert all(learns) or (space.name == "nasnet" and any(learns))  # of NASNet cells nothing may take one


@pytest.mark.parametrize(("space", "sizes"), SMALL, ids=NAMES)
def test_first_weights_are_those_of_the_seed(space, sizes):
    point = space.random(np.random.default_rng(0))
    first, again, other = (build(space, point, **IMAGES, **sizes, seed=seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_what_two_networks_share_begins_with_the_same_weights():
    space = nas.NasNet()
    point = space.random(np.random.default_rng(0)) | {"normal_layer0": "sep_conv_3x3"}
    changed = point | {"normal_layer0": "sep_conv_5x5"}
    one, other = (build(space, each, **IMAGES, width=4, cells=1).state_dict() for each in (point, changed))
    shared = one.keys() & other.keys()
    assert len(shared) > 10 and all(torch.equal(one[name], other[name]) for name in shared)


def test_io_cells_have_their_io_cost_and_their_nodes_as_costs():
    space = nas.IoCell(nodes=6)
    two = [[("conv_3x3", i), ("conv_3x3", i)] for i in (2, 3)]
    nodes = [[("conv_3x3", 0), ("max_pool_3x3", 1)], *two, [("conv_5x5", 4), ("conv_3x3", 2)]]
    found = cell_costs(space, space.from_edges({"cell": nodes}))  # 3(1,2), 4(3,3), 5(4,4), 6(5,3)
    assert found == {"io": (3 + 1 + 1) / 3, "nodes": 4, "operations": 6}


def test_halving_the_size_sees_every_place_of_an_image():
    with torch.device("meta"):
        half = HalfSize(1, 2)
    initialise(half.to_empty(device="cpu"), 0)
    nn.init.ones_(half.even.weight), nn.init.ones_(half.odd.weight)
    x = torch.zeros(1, 1, 4, 4)
    x[0, 0, 1, 1] = x[0, 0, 2, 2] = 1.0
    even, odd = half.eval()(x)[0]
    assert even[1, 1] > 0 and odd[0, 0] > 0 and even[0, 0] == odd[1, 1] == 0


def test_paths_are_dropped_from_a_generator_of_their_own_and_only_in_training():
    net = nn.Sequential(DropPath(), Dropout(0.5, shared=1))
    x = torch.ones(1000, 3, 2)
    reseed(net, 0, drop_path=0.5)
    once = net(x)
    assert set(once.unique().tolist()) == {0.0, 4.0} and float(once.mean()) == pytest.approx(1, abs=0.1)
    assert torch.equal(once[:, 0], once[:, 1])  # one draw for all words
    assert torch.equal(net.eval()(x), x)
    reseed(net.train(), 0)
    assert torch.equal(net(x), once)


def test_a_network_that_is_pickled_draws_on_as_it_would_have_and_its_generator_travels_without_tensors():
    net = nn.Sequential(DropPath(), Dropout(0.5))
    reseed(net, 0, drop_path=0.5)
    net(torch.ones(10, 3))
    again, x = pickle.loads(pickle.dumps(net)), torch.ones(50, 3)
    assert torch.equal(again(x), net(x)) and again[0].generator is again[1].generator is not net[0].generator
    _, (state,) = net[0].generator.__reduce__()
    assert isinstance(state, np.ndarray)  # a tensor would go through shared memory, which is gone too soon


def test_mistakes_are_told_with_their_cure():
    point = dict.fromkeys(nas.NasBench101().edges, False) | {f"op_{v}": "maxpool3x3" for v in range(1, 6)}
    with pytest.raises(ValueError, match="no path"):
        build(nas.NasBench101(), point)
    with pytest.raises(ValueError, match="width, cells, got 'wide'"):
        build(nas.NasNet(), {}, wide=3)
    with pytest.raises(ValueError, match="these can: DartsCells, NasNet, IoCell, NasBench101"):
        build(nas.NasBenchGraph(), {})
