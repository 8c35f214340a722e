"""Computation graphs: shapes, costs, and segments that are cut out and put back."""

import pytest

from lamcts.neural.graphs.computation import (
    ComputationGraph,
    OperationNode,
    Segment,
    cut,
    flops,
    output_shape,
    parameters,
    replace,
)

IMAGE = (3, 8, 8)


def conv(source: int, shape: tuple[int, ...], stride: int = 1, **more: int) -> OperationNode:
    settings = {"channels": shape[0], "kernel": (3, 3), "stride": (stride, stride), "padding": (1, 1), "bias": False}
    return OperationNode("conv", (source,), shape, settings | more)


def residual() -> ComputationGraph:
    """Return input, stem, a residual block with a stride of 2 on both branches, relu, pooling, classifier."""
    nodes = (
        OperationNode("input", (), IMAGE),
        conv(0, (4, 8, 8)),
        OperationNode("relu", (1,), (4, 8, 8)),
        conv(2, (8, 4, 4), stride=2),
        conv(2, (8, 4, 4), stride=2),
        OperationNode("batch_norm", (4,), (8, 4, 4)),
        OperationNode("add", (3, 5), (8, 4, 4)),
        OperationNode("global_pool", (6,), (8, 1, 1)),
        OperationNode("flatten", (7,), (8,)),
        OperationNode("linear", (8,), (10,), {"channels": 10}),
    )
    return ComputationGraph(nodes, outputs=(9,))


def test_shapes_follow_from_inputs() -> None:
    window = {"kernel": (3, 3), "stride": (2, 2)}
    assert output_shape("max_pool", window, [(4, 8, 8)]) == (4, 3, 3)
    assert output_shape("max_pool", window | {"ceil": True}, [(4, 8, 8)]) == (4, 4, 4)
    assert output_shape("concat", {}, [(4, 8, 8), (2, 8, 8)]) == (6, 8, 8)
    assert output_shape("mul", {}, [(4, 1, 1), (4, 8, 8)]) == (4, 8, 8)
    with pytest.raises(ValueError, match="expected inputs of one shape"):
        output_shape("add", {}, [(4, 8, 8), (8, 8, 8)])
    with pytest.raises(ValueError, match="kernel of 9 does not fit"):
        output_shape("conv", {"channels": 4, "kernel": (9, 9)}, [(4, 8, 8)])


def test_a_wrong_shape_is_named() -> None:
    with pytest.raises(ValueError, match=r"node 1 \(conv\): expected shape \(4, 8, 8\), got \(4, 4, 4\)"):
        ComputationGraph((OperationNode("input", (), IMAGE), conv(0, (4, 4, 4))), (1,))


def test_costs_by_hand() -> None:
    graph = residual()
    convs = 2 * 27 * 4 * 64 + 2 * (2 * 36 * 8 * 16)
    assert flops(graph) == convs + 2 * 8 * 10
    assert parameters(graph) == 27 * 4 + 2 * 36 * 8 + 2 * 8 + 8 * 10 + 10


def test_a_segment_put_back_gives_the_same_graph() -> None:
    graph = residual()
    for start in range(1, 8):
        for stop in range(start + 1, 9):
            segment = cut(graph, start, stop)
            entries, exits = segment.degrees
            again = replace(graph, start, stop, segment, range(entries), range(exits))
            assert again == graph
            assert Segment.from_json(segment.to_json()) == segment


def test_a_shorter_segment_shifts_later_nodes() -> None:
    graph = residual()
    one = Segment((conv(-1, (8, 4, 4), stride=2),), ((4, 8, 8),), (0,))
    child = replace(graph, 3, 7, one, [0], [0])
    assert [node.op for node in child.nodes] == ["input", "conv", "relu", "conv", "global_pool", "flatten", "linear"]
    assert child.nodes[4].inputs == (3,) and child.outputs == (6,)
    assert child.nodes[:3] == graph.nodes[:3]


def test_replacements_that_do_not_fit() -> None:
    graph = residual()
    one = Segment((conv(-1, (8, 8, 8)),), ((4, 8, 8),), (0,))
    with pytest.raises(ValueError, match=r"expected an output of shape \(8, 4, 4\), got \(8, 8, 8\)"):
        replace(graph, 3, 7, one, [0], [0])
    with pytest.raises(ValueError, match="expected a segment of 2 inputs, got 1"):
        replace(graph, 6, 7, one, [0], [0])
    with pytest.raises(ValueError, match="got input"):
        cut(graph, 0, 2)


def test_digest_ignores_the_order_of_branches() -> None:
    graph = residual()
    nodes = list(graph.nodes)
    nodes[6] = OperationNode("add", (5, 3), (8, 4, 4))
    assert ComputationGraph(tuple(nodes), (9,)).digest == graph.digest
    nodes[2] = OperationNode("gelu", (1,), (4, 8, 8))
    assert ComputationGraph(tuple(nodes), (9,)).digest != graph.digest


def test_json_round_trip() -> None:
    graph = residual()
    assert ComputationGraph.from_json(graph.to_json()) == graph
