"""Graphs of cells that are built without a module equal those that are read from one."""

import pytest

from benchmarks.evolve.cell_graphs import cell_graph
from lamcts.neural import nas
from lamcts.neural.graphs.computation import flops

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("space", "numbers", "shape", "widths"),
    [
        (nas.NasBench201(), (1, 3, 2, 4, 1, 3), (3, 32, 32), (16, 32)),
        (nas.Digits4096(), (3, 0, 2, 1, 2, 0), (1, 8, 8), (8,)),
    ],
)
def test_the_graph_of_a_cell_is_that_of_its_module(space, numbers, shape, widths):
    from lamcts.neural.build import build
    from lamcts.neural.evolve import read

    net = build(space, space.point(numbers), channels=shape[0], widths=widths, cells=1)
    read_graph = read(net, torch.zeros(2, *shape)).graph
    built = cell_graph(space.operations, numbers, shape, widths=widths)
    assert built.digest == read_graph.digest
    assert [(node.op, node.inputs) for node in built.nodes] == [(node.op, node.inputs) for node in read_graph.nodes]


def test_a_cell_without_a_path_has_no_graph():
    assert cell_graph(nas.NasBench201().operations, (1, 1, 1, 0, 0, 0)) is None


def test_more_cells_have_more_operations():
    one, two = (cell_graph(nas.NasBench201().operations, (3, 1, 2, 3, 2, 1), cells=cells) for cells in (1, 2))
    assert flops(two) > 1.5 * flops(one)
