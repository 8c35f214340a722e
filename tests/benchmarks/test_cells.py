"""The table of cells: the same network has one row, however it is built or numbered."""

import numpy as np
import pytest

from benchmarks.nas import alphax, cells
from benchmarks.nas.cell_table import NODES, mutated, pruned, table
from lamcts import Bool


@pytest.fixture(scope="module")
def real():
    try:
        return table("nasbench101")
    except SystemExit as missing:
        pytest.skip(str(missing))


def test_a_cell_reads_vertex_by_vertex():
    chain = cells.Cells(np.array([4]), np.array([0b100101]), np.array([0 + 3 * 2]), np.zeros(1), np.zeros(1))
    x = cells.features(chain).reshape(7, 12)
    assert cells.codes(chain).tolist() == [[cells.INPUT, 0, 2, cells.OUTPUT, -1, -1, -1]]
    assert np.argwhere(x[:, :7]).tolist() == [[1, 0], [2, 1], [3, 2]]
    assert np.argwhere(x[:, 7:]).tolist() == [[0, 3], [1, 0], [2, 2], [3, 4]]
    assert cells.work(chain).tolist() == [9.0]


def test_what_leads_nowhere_is_cut_off():
    matrix, kinds = np.zeros((5, 5), np.int64), np.array([0, 1, 2, 0, 0])
    for edge in [(0, 2), (2, 4), (0, 1), (3, 4)]:
        matrix[edge] = 1
    assert pruned(matrix, kinds) == (3, 0b101, 2)
    matrix[2, 4] = 0
    assert pruned(matrix, kinds) is None


def test_a_mutation_is_another_cell_of_the_table():
    rng, made = np.random.default_rng(0), table("made up")
    drawn = [mutated("made up", row, rng) for row in range(40)]
    assert all(row != other and 0 <= other < len(made.cells.edges) for row, other in enumerate(drawn))


def test_the_search_of_the_made_up_cells_finds_the_best():
    for method in ("alphax, no predictions", "alphax, ridge", "evolution"):
        row, _ = alphax.measure(method=method, data="made up", budget=10_000, seed=2)
        assert (row["rank"], row["cells"]) == (1, 97) and row["reached_at"] == row["samples"] <= 97


def test_every_way_to_build_a_real_cell_leads_to_a_row_and_every_row_is_led_to(real):
    assert len(real.cells.edges) == 64_542 and set(real.places.values()) == set(range(64_542))
    space, reached, rng = Bool(), set(), np.random.default_rng(0)
    actions = type("Reaching", (alphax.TableCells,), {"point": lambda self, cell: reached.add(at(self, cell)) or True})
    game = actions(nodes=5).game(space)
    stack = [game.root]
    while stack:
        state = stack.pop()
        stack += [game.after(state, move) for move in game.moves(state)]
        if not game.moves(state):
            game.row(state, rng)
    assert reached == set(np.flatnonzero(real.cells.vertices <= 5).tolist()) and len(reached) == 1 + 6 + 84 + 2441


def at(actions, cell):
    return alphax.TableCells.point(actions, cell)


def test_the_best_real_cell_of_six_vertices_is_the_published_one(real):
    best = int(real.cells.accuracy.argmax())
    assert real.cells.vertices[best] <= NODES and real.cells.accuracy[best] == pytest.approx(0.942341, abs=1e-6)
