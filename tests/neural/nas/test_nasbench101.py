"""The cells of NAS-Bench-101: the official hash, loose ends, and which are the same."""

import json
from itertools import permutations

import numpy as np
import pytest

from lamcts.neural.nas.nasbench101 import OPERATIONS, LabelledCell, NasBench101, canonical, graph_hash, pruned

# The best cell of the table, whose hash is published with it.
BEST = {
    "matrix": [
        [0, 1, 1, 0, 0, 1, 1],
        [0, 0, 0, 0, 0, 1, 0],
        [0, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 0],
    ],
    "ops": ["input", *(OPERATIONS[op] for op in (1, 0, 2, 0, 0)), "output"],
}
BEST_HASH = "02e5a0247bbdcf2860b7e96f74961594"


def relabelled(cell, rng):
    """Return the cell with its inner vertices in another order that keeps edges upward, drawn at random."""
    n = len(cell.before)
    orders = [
        order
        for inner in permutations(range(1, n - 1))
        if all(i in order[: order.index(j)] for order in [(0, *inner, n - 1)] for j in range(n) for i in _set(cell, j))
        for order in [(0, *inner, n - 1)]
    ]
    order = orders[rng.integers(len(orders))]
    place = {old: new for new, old in enumerate(order)}
    before = tuple(sum(1 << place[i] for i in _set(cell, old)) for old in order)
    return LabelledCell(before, tuple(cell.ops[old - 1] for old in order[1:-1]))


def _set(cell, j):
    return [i for i in range(j) if cell.before[j] >> i & 1]


def test_the_hash_is_the_official_one():
    space = NasBench101()
    point = space.parse(json.dumps(BEST))
    assert space.key(point) == BEST_HASH
    assert space.code(point) == int(BEST_HASH[:16], 16)


def test_isomorphic_cells_share_hash_and_canonical_cell_and_others_do_not():
    space, rng, known = NasBench101(), np.random.default_rng(0), {}
    moved = 0
    for _ in range(400):
        cell = space.cell(space.random(rng))
        other = relabelled(cell, rng)
        moved += other != cell
        assert graph_hash(other) == graph_hash(cell) and canonical(other) == canonical(cell)
        assert known.setdefault(graph_hash(cell), canonical(cell)) == canonical(cell)
        changed = LabelledCell(cell.before, tuple((op + 1) % 3 for op in cell.ops))
        assert not cell.ops or graph_hash(changed) != graph_hash(cell)
    assert moved > 40 and len(set(known.values())) == len(known) > 100


@pytest.mark.parametrize("ops", [(x, x, y, y) for x in range(3) for y in range(3)])
def test_canonical_cells_do_not_depend_on_the_order_of_equal_branches(ops):
    two_chains = LabelledCell((0, 0b1, 0b1, 0b10, 0b100, 0b11000), ops)
    crossed = LabelledCell((0, 0b1, 0b1, 0b100, 0b10, 0b11000), ops)
    assert canonical(two_chains) == canonical(crossed) and graph_hash(two_chains) == graph_hash(crossed)


def test_vertices_off_every_path_are_pruned():
    # 0 -> 1 -> 3, 0 -> 2 (a dead end), and nothing leads to 4, which leads to the output 5 with 3.
    bits = sum(1 << i + j * (j - 1) // 2 for i, j in [(0, 1), (1, 3), (0, 2), (3, 5), (4, 5)])
    assert pruned(bits, (0, 1, 2, 1)) == LabelledCell((0, 0b1, 0b10, 0b100), (0, 2))
    assert pruned(0, (0, 1, 2, 1)) is None


def test_an_invalid_cell_says_why_and_has_no_key():
    space = NasBench101()
    full = {**dict.fromkeys(space.edges, True), **dict.fromkeys(space.inner, OPERATIONS[0])}
    assert "21 edges, at most 9" in space.invalid(full)
    apart = {**full, **dict.fromkeys(space.edges, False)}
    assert "no path" in space.invalid(apart)
    assert space.key(full) is space.key(apart) is None
    for use in (space.code, space.canonical, space.graphs, space.features):
        with pytest.raises(ValueError, match="expected a valid cell"):
            use(apart)


def test_nine_edges_are_counted_after_pruning():
    space = NasBench101()
    # all edges among 0 to 5, of which none reaches the output, and one from input to output
    edges = {name: not name.endswith("_6") for name in space.edges} | {"edge_0_6": True}
    assert space.invalid({**edges, **dict.fromkeys(space.inner, OPERATIONS[0])}) is None


def test_a_smaller_cell_stands_before_the_output():
    space = NasBench101()
    small = space.parse(
        json.dumps({"matrix": [[0, 1, 0], [0, 0, 1], [0, 0, 0]], "ops": ["input", OPERATIONS[2], "output"]})
    )
    assert [name for name in space.edges if small[name]] == ["edge_0_1", "edge_1_6"]
    assert space.cell(small) == LabelledCell((0, 0b1, 0b10), (2,))
    graph = space.graphs(small)["cell"]
    assert graph.nodes == ["input", OPERATIONS[2], "output"] and graph.edges == [(0, 1, ""), (1, 2, "")]


@pytest.mark.parametrize("wrong", [1, 8, 6.5, "7", None])
def test_a_cell_has_two_to_seven_vertices(wrong):
    with pytest.raises(ValueError, match="vertices: expected a whole number from 2 to 7"):
        NasBench101(wrong)


def test_a_space_of_fewer_vertices_knows_the_same_networks():
    wide, narrow = NasBench101(), NasBench101(vertices=5)
    assert len(narrow.edges) == 10 and len(narrow.inner) == 3
    point = narrow.random(np.random.default_rng(1))
    assert wide.key(wide.point(narrow.cell(point))) == narrow.key(point)
    with pytest.raises(ValueError, match="at most 5 vertices, got 7"):
        narrow.parse(json.dumps(BEST))


def test_a_cell_of_one_edge_and_two_vertices_is_a_network():
    least = NasBench101(vertices=2)
    assert list(least.space.names) == ["edge_0_1"]
    assert least.key({"edge_0_1": True}) is not None and least.key({"edge_0_1": False}) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"matrix": [[0, 1], [1, 0]], "ops": ["input", "output"]},
        {"matrix": [[0, 1], [0, 0]], "ops": ["output", "input"]},
        {"matrix": [[0, 2], [0, 0]], "ops": ["input", "output"]},
        {"matrix": [[0, 1, 0], [0, 0, 1]], "ops": ["input", OPERATIONS[0], "output"]},
        {"matrix": [[0, 1, 0], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv5x5", "output"]},
    ],
)
def test_what_is_no_cell_is_refused(wrong):
    with pytest.raises(ValueError, match="upper triangle"):
        NasBench101().parse(json.dumps(wrong))
