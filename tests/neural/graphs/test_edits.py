"""Databases mined from small networks, and edits that keep the rest of a network as it is."""

from pathlib import Path

import numpy as np
import pytest

from lamcts.neural.graphs.computation import ComputationGraph, OperationNode, cut
from lamcts.neural.graphs.computation.database import SegmentDatabase, distinct, label
from lamcts.neural.graphs.computation.edits import Edit, children, segmentation
from tests.neural.graphs.computation_cases import database as cases
from tests.neural.graphs.computation_cases import network

pytest.importorskip("networkx")


@pytest.fixture(scope="module")
def database() -> SegmentDatabase:
    return cases()


def test_the_label_of_the_footnote() -> None:
    shape = (4, 8, 8)
    window = {"channels": 4, "kernel": (3, 3), "padding": (1, 1)}
    nodes = (
        OperationNode("input", (), shape),
        OperationNode("batch_norm", (0,), shape),
        OperationNode("add", (0, 1), shape),
        OperationNode("conv", (1,), shape, window),
    )
    graph = ComputationGraph((*nodes, OperationNode("relu", (3,), shape)), (4,))
    assert label(graph, 3) == "conv2d3,in,batchnorm,out,relu"
    assert label(graph, 1) == "batchnorm,in,input,out,add,conv2d"


def test_isomorphic_segments_are_kept_once(database: SegmentDatabase) -> None:
    one, flipped, wide = network(2), network(2, flipped=True), network(2, width=16)
    runs = [(2, 8), (8, 15)]  # the two blocks; strides differ in the second
    assert len([*distinct(cut(graph, *run) for graph in (one, flipped, wide) for run in runs)]) == 2
    assert max(len(segment.nodes) for segment in database.segments) >= 5


def test_saved_and_loaded(database: SegmentDatabase, tmp_path: Path) -> None:
    database.save(tmp_path / "one.json.gz")
    database.save(tmp_path / "two.json.gz")
    assert (tmp_path / "one.json.gz").read_bytes() == (tmp_path / "two.json.gz").read_bytes()
    assert SegmentDatabase.load(tmp_path / "one.json.gz") == database
    (tmp_path / "none.json.gz").write_text("segments")
    with pytest.raises(ValueError, match=r"none\.json\.gz: expected a database of segments, got another file"):
        SegmentDatabase.load(tmp_path / "none.json.gz")


def test_databases_are_joined_and_have_digests(database: SegmentDatabase) -> None:
    operations = database.of_operations
    assert all(len(segment.nodes) == 1 for segment in operations.segments)
    assert operations.joined(database).digest != database.digest  # in another order
    assert database.joined(operations) == database
    assert {one.digest for one in operations.joined(database).segments} == {one.digest for one in database.segments}


def test_segmentation_covers_each_operation_once(database: SegmentDatabase) -> None:
    graph = network(3)
    rng = np.random.default_rng(0)
    segmentations = [segmentation(graph, database, rng) for _ in range(5)]
    for lines in segmentations:
        assert [one for line in lines for run in line for one in range(*run)] == list(range(1, len(graph.nodes)))
    assert len({str(lines) for lines in segmentations}) > 1
    assert all(b - a == 1 for line in segmentation(graph, database.of_operations, rng) for a, b in line)


def test_children_differ_inside_the_run_alone(database: SegmentDatabase) -> None:
    graph, count = network(3), 0
    for edit, child in children(graph, database, np.random.default_rng(1), tries=200):
        shift = len(child.nodes) - len(graph.nodes)
        assert child.nodes[: edit.start] == graph.nodes[: edit.start]
        for old, new in zip(graph.nodes[edit.stop :], child.nodes[edit.stop + shift :], strict=True):
            assert (new.op, new.shape, new.attributes) == (old.op, old.shape, old.attributes)
        assert Edit.from_json(edit.to_json()).apply(graph, database) == child
        count += 1
    assert count > 40


def test_equal_seeds_give_equal_children(database: SegmentDatabase) -> None:
    one, other = ([*children(network(2), database, np.random.default_rng(2), tries=50)] for _ in range(2))
    assert one == other


def test_a_segment_that_is_not_there(database: SegmentDatabase) -> None:
    with pytest.raises(ValueError, match="mined again"):
        Edit(1, 2, "0" * 32, (0,), (0,)).apply(network(2), database)
