"""Graph neural networks as predictors: layers, parts around a segment, and fits that repeat bit for bit."""

import numpy as np
import pytest

from lamcts.neural.graphs.computation import ComputationGraph, OperationNode
from lamcts.neural.graphs.computation.encoding import PairEncoding

torch = pytest.importorskip("torch")

from lamcts.neural.evolve import GnnPredictor, PscPredictor  # noqa: E402
from lamcts.neural.evolve.predictor import GraphArrays, batch_of, regressor  # noqa: E402

SHAPE = (4, 8, 8)
SMALL = {"width": 8, "layers": 2, "batch": 8}
SINGLE = PairEncoding(())  # each operation is a segment


def network(ops: str) -> ComputationGraph:
    """Return operations in a line: r is a ReLU, s a sigmoid, + a sum with the input."""
    names = {"r": "relu", "s": "sigmoid", "+": "add"}
    nodes = [OperationNode("input", (), SHAPE)]
    nodes += [OperationNode(names[op], (i, 0) if op == "+" else (i,), SHAPE) for i, op in enumerate(ops)]
    return ComputationGraph(tuple(nodes), (len(ops),))


def drawn(count: int, seed: int = 0) -> tuple[list[ComputationGraph], list[float]]:
    """Return networks with their numbers of ReLUs."""
    rng = np.random.default_rng(seed)
    texts = ["".join(rng.choice(list("rs+"), rng.integers(2, 9))) for _ in range(count)]
    return [network(text) for text in texts], [float(text.count("r")) for text in texts]


def test_a_layer_sums_over_neighbours_in_both_directions() -> None:
    batch = batch_of([GraphArrays.of(network("r+"))], None)  # edges 0-1, 1-2, 0-2
    layer = regressor(1, 1, 1, torch.Generator()).layers[0]
    with torch.no_grad():
        layer.own.weight.fill_(10.0)
        layer.own.bias.fill_(0.5)
        layer.near.weight.fill_(1.0)
        found = layer(torch.tensor([[1.0], [2.0], [4.0]]), batch)
    assert found[:, 0].tolist() == [16.5, 25.5, 43.5]


def test_graphs_of_a_batch_do_not_meet() -> None:
    graphs = [GraphArrays.of(network(text)) for text in ("rs", "r+s", "s")]
    net = regressor(8, 3, 1, torch.Generator().manual_seed(0))
    whole = net(batch_of(graphs, None))
    apart = torch.cat([net(batch_of([graph], None)) for graph in graphs])
    torch.testing.assert_close(whole, apart)
    assert len(set(whole.tolist())) == 3


def test_a_cut_has_three_parts_without_edges_between_them() -> None:
    graph = network("rs+r")
    batch = batch_of([GraphArrays.of(graph), GraphArrays.of(graph)], [(2, 4), (1, 2)])
    assert batch.part.tolist() == [0, 0, 1, 1, 2, 3, 4, 5, 5, 5] and batch.parts == 6
    assert (batch.part[batch.source] == batch.part[batch.target]).all()
    assert len(batch.source) == 2 * (2 + 2)  # input-relu, sigmoid-add; sigmoid-add, add-relu


def test_an_empty_successor_is_embedded_as_zero() -> None:
    net = regressor(8, 2, 3, torch.Generator().manual_seed(0))
    assert torch.isfinite(net(batch_of([GraphArrays.of(network("rs"))], [(1, 3)]))).all()


def test_the_order_of_nodes_has_no_effect_on_a_whole_graph() -> None:
    branches = [("relu", 0), ("sigmoid", 0)]
    graphs = []
    for order in (branches, branches[::-1]):
        nodes = [OperationNode("input", (), SHAPE), *(OperationNode(op, (at,), SHAPE) for op, at in order)]
        graphs.append(ComputationGraph((*nodes, OperationNode("add", (1, 2), SHAPE)), (3,)))
    one, other = GnnPredictor(steps=2, **SMALL).fit(graphs, [0, 1]).predict(graphs)
    assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.dear
@pytest.mark.parametrize(
    "predictor",
    [GnnPredictor, PscPredictor, lambda **own: PscPredictor(ratio=1, encoding=SINGLE, **own)],
    ids=["gnn", "psc", "psc 1:1"],
)
def test_fits_learn_and_repeat_bit_for_bit(predictor) -> None:
    graphs, values = drawn(60)
    new, truth = drawn(30, seed=1)
    state = torch.random.get_rng_state()
    fits = [predictor(steps=250, **SMALL).fit(graphs, values, seed) for seed in (0, 0, 1)]
    one, same, other = (fitted.predict(new) for fitted in fits)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert np.array_equal(one, same) and not np.array_equal(one, other)
    assert np.corrcoef(one, truth)[0, 1] > 0.6


def test_psc_averages_over_the_segments_of_a_network() -> None:
    graphs, values = drawn(20)
    predictor = PscPredictor(encoding=SINGLE, steps=5, **SMALL)
    assert predictor.cuts(network("rs+")) == [(1, 2), (2, 3), (3, 4)]
    fitted = predictor.fit(graphs, values)
    each = fitted.predict_cuts(graphs)
    assert [len(own) for own in each] == [len(graph.nodes) - 1 for graph in graphs]
    assert len(set(max(each, key=len))) > 1
    assert fitted.predict(graphs) == pytest.approx([own.mean() for own in each])


def test_a_network_without_segments_is_one_predecessor() -> None:
    nodes = (OperationNode("input", (), SHAPE), OperationNode("flatten", (0,), (256,)))
    graph = ComputationGraph(nodes, (1,))
    assert PscPredictor().cuts(graph) == [(2, 2)]


def test_no_graphs_have_no_predictions() -> None:
    graphs, values = drawn(4)
    for predictor in (GnnPredictor(steps=1), PscPredictor(steps=1)):
        assert predictor.fit(graphs, values).predict([]).shape == (0,)


def test_fewer_networks_than_a_batch_are_enough() -> None:
    graphs, values = drawn(3)
    assert GnnPredictor(steps=3, batch=32).fit(graphs, values).predict(graphs).shape == (3,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GnnPredictor(steps=0), "GnnPredictor: steps"),
        (lambda: PscPredictor(ratio=0), "PscPredictor: ratio"),
        (lambda: GnnPredictor(rate=-1.0), "GnnPredictor: rate: expected a number above 0, got -1.0"),
        (lambda: GnnPredictor().fit([network("r")] * 2, [1.0, np.inf]), "expected finite values"),
    ],
)
def test_bad_settings_are_refused(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()
