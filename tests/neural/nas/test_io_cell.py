"""The cells of the search by I/O cost: their number, what they compute, and equal cells."""

from math import factorial

import numpy as np
import pytest

from lamcts.neural.nas import IoCell

SPACE = IoCell(nodes=6)
A, B, POOL = "conv_3x3", "conv_5x5", "max_pool_3x3"


def point(*nodes, space=SPACE):
    return space.from_edges({"cell": [list(two) for two in nodes]})


@pytest.mark.parametrize("n", [3, 4, 12])
def test_node_i_has_the_square_of_its_earlier_nodes_and_sixteen_operations(n):
    space = IoCell(nodes=n)
    assert space.space.size == pytest.approx(16 ** (n - 2) * factorial(n - 1) ** 2, rel=1e-12)
    assert [len(pairs) for pairs in space.pairs] == [(i - 1) ** 2 for i in range(3, n + 1)]


def test_nodes_without_a_path_to_the_output_are_dropped_and_their_choices_are_no_part_of_the_cell():
    one = point([(A, 0), (B, 1)], [(POOL, 2), (A, 0)], [(A, 2), (A, 1)], [(A, 4), (B, 2)])
    other = point([(A, 0), (B, 1)], [(A, 2), (A, 1)], [(POOL, 3), (A, 0)], [(A, 3), (B, 2)])
    assert SPACE.key(one) == SPACE.key(other) == SPACE.key(SPACE.canonical(one))
    assert SPACE.reads(one) == [(), (), (0, 1), (1, 2), (2, 3)]
    (graph,) = SPACE.graphs(one).values()
    assert graph.nodes == ["cell k-2", "cell k-1", "node 0", "node 1", "node 2", "cell k"]
    assert {node for edge in graph.edges for node in edge[:2]} == set(range(6))


def test_the_same_operation_twice_on_one_input_is_one_and_the_order_of_a_pair_is_none():
    one = point([(A, 0), (A, 0)], [(A, 2), (B, 1)], [(A, 3), (POOL, 3)], [(A, 4), (A, 2)])
    other = point([(A, 0), (A, 0)], [(B, 1), (A, 2)], [(POOL, 3), (A, 3)], [(A, 2), (A, 4)])
    assert SPACE.computed(one)[0] == [(A, 0)] and SPACE.key(one) == SPACE.key(other)


def test_cells_whose_nodes_change_places_are_two_since_the_cost_depends_on_the_order():
    one = point([(A, 0), (B, 1)], [(POOL, 0), (A, 0)], [(A, 2), (A, 3)], [(A, 4), (B, 4)])
    other = point([(POOL, 0), (A, 0)], [(A, 0), (B, 1)], [(A, 2), (A, 3)], [(A, 4), (B, 4)])
    assert SPACE.key(one) != SPACE.key(other)


def test_a_cell_may_read_one_input_alone():
    last = point(*[[(A, 0), (B, 1)]] * 3, [(A, 0), (A, 0)])
    assert SPACE.reads(last) == [(), (), (0,)]


def test_keys_tell_cells_apart_as_their_computed_edges_do():
    rng, space = np.random.default_rng(0), IoCell(nodes=4)
    points = [space.random(rng) for _ in range(300)]
    keys = {space.key(one) for one in points}
    assert len(keys) == len({str(space.computed(one)) for one in points}) < 300


@pytest.mark.parametrize(("nodes", "told"), [(13, "expected from 3 to 12, got 13"), (2, "at least 3"), (4.5, "whole")])
def test_too_many_or_too_few_nodes_are_refused(nodes, told):
    with pytest.raises(ValueError, match=told):
        IoCell(nodes=nodes)


def test_an_input_that_comes_later_is_refused():
    text = SPACE.text(point(*[[(A, 0), (B, 1)]] * 4))
    with pytest.raises(ValueError, match="two inputs of node i below i \\+ 2, got"):
        SPACE.parse(text.replace("', 0)", "', 2)", 1))
