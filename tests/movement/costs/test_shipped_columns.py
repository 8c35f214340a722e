"""The columns of cells that nas ships are those that `lamcts.movement.costs` computes."""

import numpy as np
import pytest

from benchmarks.movement.costs.cells import FILE, cost
from lamcts.movement import costs
from lamcts.movement.costs.spills import CAPACITIES


def test_the_columns_of_nasbench201_are_those_of_its_cells() -> None:
    columns = np.load(FILE)
    for code in np.random.default_rng(0).choice(5**6, 200, replace=False):
        io, operations = cost(tuple(int(code) // 5**i % 5 for i in range(6)))
        assert columns["io_maps"][code] == io / len(CAPACITIES)
        assert columns["operations"][code] == operations


def test_a_cell_whose_output_waits_for_many_maps_spills() -> None:
    nodes = ["input", "1", "2", "output"]
    full = [(i, j, "nor_conv_3x3") for j in (1, 2, 3) for i in range(j)]
    assert costs.mean_spills(costs.cell(nodes, full)) == pytest.approx(1.0)
    chain = [(0, 1, "nor_conv_3x3"), (1, 2, "nor_conv_3x3"), (2, 3, "nor_conv_3x3")]
    assert costs.mean_spills(costs.cell(nodes, chain)) == 0
