"""The benchmark of predicted children predicts each child from those before it."""

import numpy as np
import pytest

pytest.importorskip("torch")

from benchmarks.evolve import predicted_children
from lamcts.neural.graphs.computation import ComputationGraph, OperationNode


def network(layers):
    nodes = [OperationNode("relu", (i,), (4, 8, 8)) for i in range(layers)]
    return ComputationGraph((OperationNode("input", (), (4, 8, 8)), *nodes), (layers,))


def test_a_child_is_predicted_from_the_children_before_it():
    graphs = [network(1 + i % 6) for i in range(25)]
    depth = np.array([float(len(graph.nodes)) for graph in graphs])
    found = predicted_children.predicted(graphs, depth, 12)
    assert len(found) == 13 and np.corrcoef(found, depth[12:])[0, 1] > 0.95
    later = depth.copy()
    later[22:] = -100.0  # known after the last fit only
    assert np.array_equal(predicted_children.predicted(graphs, later, 12), found)


@pytest.mark.dear
def test_a_search_has_one_row(tmp_path):
    case = predicted_children.Case(seed=0, children=13, epochs=1, least=6)
    row = predicted_children.measure(case, tmp_path)
    assert row.keys() == set(predicted_children.COLUMNS)
    assert row["possible"] >= row["chosen"] and row["possible"] >= row["random"]
    assert predicted_children.measure(case, tmp_path) == row  # from the journal
