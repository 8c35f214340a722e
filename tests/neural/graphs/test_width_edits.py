"""Edits that scale numbers of channels: structure and resolutions stay, and so does what is fixed."""

import pickle

import numpy as np
import pytest

from lamcts.neural.graphs.computation import ComputationGraph, Infeasible, OperationNode, WidthEdit, flops
from lamcts.neural.graphs.computation.kinds import channels, with_channels
from lamcts.neural.graphs.computation.paths import EditPaths, scalable, width_children
from tests.neural.graphs.computation_cases import database, network

WINDOW = {"kernel": (3, 3), "padding": (1, 1)}
IMAGE = OperationNode("input", (), (4, 8, 8))


def conv(source: int, width: int, name: str | None = None, **settings: object) -> OperationNode:
    return OperationNode("conv", (source,), (width, 8, 8), WINDOW | {"channels": width} | settings, name)  # type: ignore[arg-type]


def widths(graph: ComputationGraph) -> list[int]:
    return [channels(node.shape) for node in graph.nodes]


def scaled(*nodes: OperationNode, factor: float = 0.5, of: tuple[int, ...] | None = None) -> list[int]:
    """Return the channels after an edit of all free classes, or of some, of a graph that ends in a fixed layer."""
    graph = ComputationGraph((IMAGE, *nodes), (len(nodes),))
    return widths(WidthEdit(factor, tuple(scalable(graph)) if of is None else of).apply(graph))


def test_classes_of_equal_channels_are_scaled_together() -> None:
    graph = network(3)
    assert scalable(graph) == [1, 2, 9, 17]  # the first block's output with the stem, and the inside of each block
    half = WidthEdit(0.5, (1,)).apply(graph)
    assert widths(half) == [3] + [4 if i in (1, 5, 6, 7, 8) else 8 for i in range(1, len(graph.nodes))]
    whole = WidthEdit(0.5, tuple(scalable(graph))).apply(graph)
    assert flops(whole) < 0.5 * flops(graph)


def test_inputs_outputs_and_opaque_operations_keep_their_channels() -> None:
    opaque = OperationNode("opaque", (2,), (8, 8, 8), {"target": 0})
    assert scaled(conv(0, 16), conv(1, 8), opaque, conv(3, 12), conv(4, 6)) == [4, 8, 8, 8, 6, 6]


def test_concatenations_flattened_images_and_multiples_follow() -> None:
    concat = OperationNode("concat", (1, 2), (12, 8, 8))
    norm = OperationNode("batch_norm", (3,), (12, 8, 8))
    assert scaled(conv(0, 4), conv(0, 8), concat, norm, conv(4, 6), of=(2,)) == [4, 4, 4, 8, 8, 6]
    flat, linear = OperationNode("flatten", (1,), (256,)), OperationNode("linear", (2,), (10,), {"channels": 10})
    assert scaled(conv(0, 4), flat, linear) == [4, 2, 128, 10]
    assert scaled(conv(0, 4), conv(1, 8, groups=4), conv(2, 6)) == [4, 2, 4, 6]


def test_groups_divide_channels() -> None:
    nodes = (conv(0, 12), conv(1, 12, groups=4), conv(2, 6))
    assert scaled(*nodes, factor=0.6) == [4, 8, 8, 6]  # 7.2 is no multiple of four
    graph = ComputationGraph((IMAGE, conv(0, 12), conv(1, 12, groups=12), conv(2, 6)), (3,))
    assert WidthEdit(0.6, (1,)).apply(graph).nodes[2].attributes["groups"] == 7


def test_a_convolution_of_one_channel_is_not_depthwise() -> None:
    graph = ComputationGraph((IMAGE, conv(0, 1), conv(1, 4), conv(2, 6)), (3,))
    wide = WidthEdit(2.0, (1,)).apply(graph)
    assert widths(wide) == [4, 2, 4, 6] and "groups" not in wide.nodes[2].attributes


def test_shared_parameters_have_one_shape() -> None:
    nodes = (conv(0, 4), conv(1, 8, "one"), conv(2, 4), conv(3, 8, "one"), conv(4, 6))
    graph = ComputationGraph((IMAGE, *nodes), (5,))
    assert widths(WidthEdit(0.5, (4,)).apply(graph)) == [4, 4, 4, 4, 4, 6]  # inputs are 4 or both change


def test_what_cannot_fit_is_infeasible() -> None:
    flat = OperationNode("flatten", (1,), (256,))
    linear = OperationNode("linear", (3,), (256,), {"channels": 256})
    both = OperationNode("add", (2, 4), (256,))
    graph = ComputationGraph((IMAGE, conv(0, 4), flat, OperationNode("relu", (2,), (256,)), linear, both), (5,))
    assert WidthEdit(0.5, (1,)).apply(graph) == graph  # the output decides
    assert not [*width_children(graph, np.random.default_rng(0), 20)]
    with pytest.raises(Infeasible, match="channels: 3 is no multiple"):
        bad = ComputationGraph((IMAGE, conv(0, 3, groups=1), conv(1, 3)), (2,))
        object.__setattr__(bad.nodes[2], "attributes", {**bad.nodes[2].attributes, "groups": 2})
        WidthEdit(0.5, (1,)).apply(bad)


def test_random_edits_change_channels_alone() -> None:
    graph = network(3)
    drawn = [*width_children(graph, np.random.default_rng(0), 60)]
    assert len(drawn) > 40 and len({len(edit.nodes) for edit, _ in drawn}) == 3
    for edit, child in drawn:
        for old, new in zip(graph.nodes, child.nodes, strict=True):
            assert (new.op, new.inputs) == (old.op, old.inputs)
            assert with_channels(new.shape, 0) == with_channels(old.shape, 0)
            assert {**new.attributes, "channels": 0} == {**old.attributes, "channels": 0}
        for fixed in (0, *graph.outputs):
            assert child.nodes[fixed].shape == graph.nodes[fixed].shape
        assert WidthEdit.from_json(edit.to_json()).apply(graph) == child


def test_paths_mix_both_kinds_of_edits() -> None:
    graph = network(2)
    where = EditPaths(graph, database(), {"flops": 0.6 * flops(graph)}, {"flops": 0.48 * flops(graph)}, widths=0.5)
    assert "widths 0.5" in repr(where) and "widths" not in repr(EditPaths(graph, database()))
    rng, kinds = np.random.default_rng(0), set[str]()
    for _ in range(10):
        path = where.walk((), rng)
        assert path is not None
        child = where.child(path)
        assert child is not None and where.distance(child) == 0
        assert pickle.loads(pickle.dumps(where)).child(path) == child
        kinds |= {type(edit).__name__ for edit in where.edits(path)}
        assert len(where.origins(path)) == len(child.nodes)
    assert kinds == {"Edit", "WidthEdit"}
    only = EditPaths(graph, database(), widths=1.0)
    assert all(isinstance(edit, WidthEdit) for edit in only.edits(only.walk((), rng) or ()))
    with pytest.raises(ValueError, match="widths: expected a share from 0 to 1, got 2"):
        EditPaths(graph, database(), widths=2)
