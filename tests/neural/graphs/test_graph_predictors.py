"""Features of graphs, and the forest on them."""

import numpy as np
import pytest

from lamcts.neural.graphs.computation import ComputationGraph, CountsForest, OperationNode, flops, parameters
from lamcts.neural.graphs.computation.features import NUMBERS, counts, depth, edges, node_features

SHAPE = (4, 8, 8)


def network(convs: int, others: int = 1) -> ComputationGraph:
    """Return depthwise convolutions in a line, then ReLUs, then a sum with the input."""
    window = {"channels": 4, "kernel": (3, 3), "padding": (1, 1), "groups": 4}
    nodes = [OperationNode("input", (), SHAPE)]
    nodes += [OperationNode("conv", (i,), SHAPE, window) for i in range(convs)]
    nodes += [OperationNode("relu", (convs + i,), SHAPE) for i in range(others)]
    last = len(nodes) - 1
    return ComputationGraph((*nodes, OperationNode("add", (last, 0), SHAPE)), (last + 1,))


def test_numbers_of_operations_are_logarithms() -> None:
    kinds, numbers = node_features(network(1))
    assert numbers.shape == (4, len(NUMBERS)) and len(set(kinds)) == 4
    assert numbers[1] == pytest.approx([2, 3, np.log2(3), 0, 2])
    assert numbers[3] == pytest.approx([2, 3, 0, 0, 0])


def test_a_vector_has_no_height() -> None:
    nodes = (OperationNode("input", (), (16,)), OperationNode("linear", (0,), (8,), {"channels": 8}))
    assert node_features(ComputationGraph(nodes, (1,)))[1][:, :2].tolist() == [[4, 0], [3, 0]]


def test_edges_lead_from_the_node_that_is_read() -> None:
    assert edges(network(1)).T.tolist() == [[0, 1], [1, 2], [2, 3], [0, 3]]
    assert edges(ComputationGraph((OperationNode("input", (), SHAPE),), (0,))).shape == (2, 0)


def test_counts_name_operations_with_kernels_and_labels_on_request() -> None:
    graph = network(2)
    assert counts(graph) == {
        "input": 1,
        "depthwise3": 2,
        "relu": 1,
        "add": 1,
        "log flops": pytest.approx(np.log1p(flops(graph))),
        "log params": pytest.approx(np.log1p(parameters(graph))),
        "depth": 4,
    }
    assert counts(graph, labelled=True)["depthwise3,in,depthwise,out,relu"] == 1


def test_depth_is_the_longest_path() -> None:
    assert depth(network(3, others=0)) == 4
    assert depth(ComputationGraph((OperationNode("input", (), SHAPE),), (0,))) == 0


def test_a_forest_ranks_new_networks_and_equal_seeds_give_equal_forests() -> None:
    graphs = [network(1 + i % 7, i % 5) for i in range(35)]
    values = np.array([len(graph.nodes) for graph in graphs], float)
    one, same, other = (CountsForest().fit(graphs[:25], values[:25], seed).predict(graphs[25:]) for seed in (0, 0, 1))
    assert np.array_equal(one, same) and not np.array_equal(one, other)
    assert np.corrcoef(one, values[25:])[0, 1] > 0.8


def test_an_operation_that_the_fit_did_not_see_counts_nothing() -> None:
    fitted = CountsForest(labelled=False).fit([network(1, 0), network(2, 0), network(3, 0)], [1, 2, 3])
    assert "relu" not in fitted.names
    assert np.isfinite(fitted.predict([network(1, 1)])).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [([1.0, np.nan], "expected finite values"), ([1.0], r"a value of each, got 2 and \(1,\)")],
)
def test_bad_values_are_refused(values: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CountsForest().fit([network(1), network(2)], values)
