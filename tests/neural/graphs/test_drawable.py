"""Computation graphs for figures: which operations are one node, and what they are called."""

import pytest

from lamcts.neural.graphs.computation import ComputationGraph, OperationNode
from lamcts.neural.graphs.computation.drawing import drawable

pytest.importorskip("networkx", reason="networkx is not installed: pip install '.[plot]'")

from tests.neural.graphs.computation_cases import network


def test_norms_and_activations_are_drawn_with_the_operation_before_them() -> None:
    graph, marked = drawable(network(2))
    assert graph.nodes[0] == "input 3 x 16 x 16" and graph.nodes[1] == "conv 3x3, 8"
    assert graph.nodes[2:5] == ["conv 3x3, 8\nbatch norm\nrelu", "conv 3x3, 8\nbatch norm", "add\nrelu"]
    assert "conv 3x3, 8 /2\nbatch norm\nrelu" in graph.nodes and not marked
    assert (1, 4, "") in graph.edges and all(start < end for start, end, _ in graph.edges)


def test_marked_operations_are_nodes_of_their_own() -> None:
    graph, marked = drawable(network(1), {3})
    assert [graph.nodes[number] for number in marked] == ["batch norm"]
    assert graph.nodes[2:5] == ["conv 3x3, 8", "batch norm", "relu"]


def test_labels_have_groups_and_names_of_opaque_operations() -> None:
    window = {"kernel": (3, 3), "padding": (1, 1), "channels": 4}
    image = OperationNode("input", (), (4, 8, 8))
    nodes = [image]
    nodes += [OperationNode("conv", (i,), (4, 8, 8), window | {"groups": groups}) for i, groups in enumerate((4, 2))]
    nodes += [OperationNode("opaque", (2 + i,), (4, 8, 8), {"target": i}) for i in range(3)]
    graph, _ = drawable(ComputationGraph(tuple(nodes), (5,)), names={0: "view", 1: "scaled_dot_product_attention"})
    assert graph.nodes[1:3] == ["conv 3x3, 4 depthwise", "conv 3x3, 4, 2 groups"]
    assert graph.nodes[3] == "view\nscaled_dot_product_...\nopaque"


def test_operations_that_compute_sizes_are_not_drawn() -> None:
    nodes = [OperationNode("input", (), (4, 8, 8))]
    nodes += [OperationNode("opaque", (0,), (), {"target": 0}), OperationNode("opaque", (1,), (), {"target": 1})]
    nodes += [OperationNode("opaque", (0, 2), (256,), {"target": 2}), OperationNode("relu", (3,), (256,))]
    graph, _ = drawable(ComputationGraph(tuple(nodes), (4,)), names={0: "sym_size", 1: "mul", 2: "view"})
    assert graph.nodes == ["input 4 x 8 x 8", "view", "relu"] and graph.edges == [(0, 1, ""), (1, 2, "")]
