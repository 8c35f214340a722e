from itertools import combinations_with_replacement, permutations, product
from math import factorial

import numpy as np
import pytest

from lamcts.neural.nas import EnasCell
from lamcts.neural.nas.enas import ACTIVATIONS

PAPER = "0 0 0 1 1 2 1 2 0 2 0 5 1 1 0 6 1 8 1 8 1 8 1"  # the cell that the authors published


def every(space):
    return (space.space.decode(x) for x in space.space.rows())


def trees(n, colours):
    """Return the rooted trees of n nodes in some colours, as nested tuples: built from the root, not by numbering."""
    return [(c, kids) for c in range(colours) for kids in forests(n - 1, colours)]


def forests(n, colours, largest=None):
    """Return the multisets of trees with n nodes in all, the largest first."""
    if n == 0:
        return [()]
    found = set()
    for size in range(1, n + 1):
        for tree in trees(size, colours):
            found |= {tuple(sorted((tree, *rest), key=repr)) for rest in forests(n - size, colours)}
    return sorted(found, key=repr)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12])
def test_there_are_four_to_the_n_times_n_minus_one_factorial_points(n):
    assert EnasCell(nodes=n).space.size == pytest.approx(4**n * factorial(n - 1), rel=1e-12)


@pytest.mark.parametrize(("n", "count"), [(1, 4), (2, 16), (3, 104), (4, 752)])
def test_there_are_as_many_networks_as_trees_of_four_colours(n, count):
    space = EnasCell(nodes=n)
    assert len({space.key(point) for point in every(space)}) == len(trees(n, 4)) == count


def test_two_points_have_one_key_just_where_renumbering_makes_them_equal():
    space = EnasCell(nodes=4)
    rng = np.random.default_rng(0)
    for point in (space.random(rng) for _ in range(25)):
        same = {space.text(other) for other in renumbered(space, point)}
        key = space.key(point)
        assert {space.text(other) for other in every(space) if space.key(other) == key} == same


def renumbered(space, point):
    """Yield all points that are a point with its nodes in another order, inputs before those that take them."""
    for order in permutations(range(1, space.nodes)):
        place = {i: new for new, i in enumerate((0, *order))}
        inputs = {i: place[point[f"node{i}_input"]] for i in order}
        if all(inputs[i] < place[i] for i in order):
            moved = {f"node{place[i]}_input": inputs[i] for i in order}
            yield moved | {f"node{place[i]}_activation": point[f"node{i}_activation"] for i in place}


def test_the_published_cell_is_read_and_written():
    space = EnasCell()
    point = space.parse(PAPER)
    assert space.text(point) == PAPER
    assert [point[f"node{i}_activation"] for i in range(4)] == ["tanh", "tanh", "relu", "relu"]
    assert [point[f"node{i}_input"] for i in range(1, 5)] == [0, 1, 2, 2]
    graph = space.graphs(point)["cell"]
    assert sorted(i for i, j, _ in graph.edges if j == 13) == [4, 5, 8, 10, 11, 12]  # the loose ends of its figure


@pytest.mark.parametrize(
    "text", ["0 0 0 1", "0 0 0 2 1", "0 0 4 1 1", "0 0 0 -1 1", "0 0 0 1 1 1 1", "0 0 x 1 1"], ids=str
)
def test_numbers_that_are_no_cell_are_refused(text):
    with pytest.raises(ValueError, match="expected 5 numbers"):
        EnasCell(nodes=3).parse(text)


def test_branches_may_change_places_but_not_their_activations():
    space = EnasCell(nodes=3)
    keys = {(a, b): space.key(space.parse(f"0 0 {a} 0 {b}")) for a, b in product(range(4), repeat=2)}
    assert all(keys[a, b] == keys[b, a] for a, b in keys)
    assert len(set(keys.values())) == len(list(combinations_with_replacement(ACTIVATIONS, 2)))
