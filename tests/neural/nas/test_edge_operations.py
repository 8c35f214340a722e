"""The operations of a cell: those on a path from its inputs to its end."""

import numpy as np
import pytest

from lamcts.neural import nas
from lamcts.neural.nas.base import Graph, operations_of
from lamcts.neural.nas.published201 import ON_PATHS


def test_the_shipped_column_of_nasbench201_is_that_of_its_cells():
    space, column = nas.NasBench201(), np.load(ON_PATHS)["operations"]
    for code in np.random.default_rng(0).choice(5**6, 300, replace=False):
        point = space.point(tuple(int(code) // 5**i % 5 for i in range(6)))
        assert column[code] == operations_of(space.graphs(point)["cell"])


@pytest.mark.parametrize(
    ("edges", "count"),
    [
        ([(0, 1, "conv"), (1, 2, "conv"), (2, 3, "pool"), (0, 3, "skip_connect")], 3),
        ([(0, 1, "conv"), (0, 3, "pool")], 1),  # node 1 leads nowhere
        ([(1, 2, "conv"), (0, 3, "identity")], 0),  # node 2 is fed by nothing
    ],
)
def test_only_what_is_on_a_path_and_does_something_counts(edges, count):
    assert operations_of(Graph(["input", "1", "2", "output"], edges)) == count


def test_operations_may_be_labels_of_nodes():
    labels = ["input", "conv", "skip_connect", "output"]
    assert operations_of(Graph(labels, [(0, 1, ""), (1, 2, ""), (2, 3, "")])) == 1
