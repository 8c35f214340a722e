"""The tree's arithmetic, by hand, and the moves that build cells."""

import math

import numpy as np
import pytest

from lamcts import Bool, Box, Finite
from lamcts.neural.searches.alphax import Assign, BuildCells, BuiltCell, Ridge
from lamcts.neural.searches.alphax.sampler import ActionNode, Rewards, Tree, forget_rewards, ucb1


class Branches:
    """A game of words: at most two letters out of "ab", each state but the root a terminal one after "."."""

    root, single = "", True

    def moves(self, state):
        return [] if state.endswith(".") else [*("ab" if len(state) < 2 else ""), *("." if state else "")]

    def after(self, state, move):
        return state + move

    def row(self, state, rng):
        return np.array([0.5])

    def features(self, x):
        return x


@pytest.fixture
def tree():
    return Tree(Branches(), repeat=False)


def test_the_bound_is_that_of_the_thesis(tree):
    for path in ([0], [1]):
        tree.grow(path)
    for reward in (0.2, 0.4, 0.9):
        tree.back([0], reward, 1)
    tree.back([1], 0.5, 1)

    def bound(q, n):
        return q / n + 2 * 0.5 * math.sqrt(2 * math.log(4) / n)

    assert bound(1.5, 3) < bound(0.5, 1) and ucb1(tree.root, 0.5) == 1
    assert ucb1(tree.root, 0.0) == 0  # the means are equal: the first
    tree.back([0], 0.1, 0)
    tree.back([1], -0.1, 0)
    assert ucb1(tree.root, 0.0) == 0 and ucb1(tree.root, 0.01) == 0 and ucb1(tree.root, 0.5) == 1


def test_a_prediction_is_replaced_by_its_mean_with_the_truth_all_the_way_up(tree):
    for path in ([0], [0, 1]):
        tree.grow(path)
    tree.back([0], 0.6, 1)  # (3.4) of a first visit
    tree.back([0, 1], 0.3, 1)  # of a second one, below it
    root, below = tree.root, tree.root.kids[0]
    assert (root.visits, below.visits) == ([2, 0], [0, 1, 0])
    assert root.rewards == pytest.approx([0.9, 0.0]) and below.rewards == pytest.approx([0.0, 0.3, 0.0])
    tree.back([0, 1], (0.8 + 0.3) / 2 - 0.3, 0)  # (3.5): the truth of the second is 0.8
    assert (root.visits, below.visits) == ([2, 0], [0, 1, 0])
    assert root.rewards == pytest.approx([0.6 + 0.55, 0.0]) and below.rewards == pytest.approx([0.0, 0.55, 0.0])
    forget_rewards(tree.root)
    assert root.visits == [0, 0] and below.rewards == [0.0] * 3 and root.kids[0] is below


def test_every_move_is_tried_once_before_any_is_judged(tree):
    rng, first = np.random.default_rng(0), list[list[int]]()
    for _ in range(2):
        path, node = tree.select(0.5, rng)
        tree.back(path, 0.0, 1)
        first.append(path)
        assert isinstance(node, ActionNode)
    assert sorted(first) == [[0], [1]]
    assert len(tree.select(0.5, rng)[0]) == 2


def test_a_branch_whose_ends_were_all_visited_is_left_alone_and_so_is_a_tree(tree):
    rng, visited = np.random.default_rng(0), set()
    while not tree.spent:
        path, _ = tree.select(0.5, rng)
        assert tuple(path) not in visited
        visited.add(tuple(path))
        tree.back(path, 0.5, 1)
    assert len(visited) == 2 + 6 + 4  # words of one letter; "." or two letters; "." behind these
    noisy = Tree(Branches(), repeat=True)
    for _ in range(40):
        noisy.back(noisy.select(0.5, rng)[0], 0.5, 1)
    assert not noisy.spent and sum(noisy.root.visits) == 40


def ends(game, state):
    moves = game.moves(state)
    if not moves:
        return [state]
    return [end for move in moves for end in ends(game, game.after(state, move))]


def cells_of(**settings):
    """Return the finished cells of some settings in the order in which the moves reach them."""
    made = list[BuiltCell]()

    class Noted(BuildCells):
        def point(self, cell):
            made.append(cell)
            return True

    game = Noted(**settings).game(Bool())
    for end in ends(game, game.root):
        game.row(end, np.random.default_rng(0))
    return made


def same(cell: BuiltCell, other: BuiltCell) -> bool:
    """Return whether two cells of at most two inner nodes are the same graph."""
    swapped = {0: 0, 1: 2, 2: 1, 3: 3}
    turned = BuiltCell(cell.operations[::-1], tuple(sorted((swapped[i], swapped[j]) for i, j in cell.edges)))
    return other in (cell, turned) if len(cell.operations) == 2 else other == cell


def test_all_cells_of_nas_bench_101_are_built_and_none_twice_in_the_same_order():
    for nodes, classes in [(2, 1), (3, 1 + 6), (4, 1 + 6 + 84)]:  # counts by vertices of the published table
        made = [BuiltCell(cell.operations, tuple(sorted(cell.edges))) for cell in cells_of(nodes=nodes)]
        assert len(set(made)) == len(made)
        distinct = list[BuiltCell]()
        for cell in made:
            distinct += [] if any(same(cell, other) for other in distinct) else [cell]
        assert len(distinct) == classes


def test_a_finished_cell_has_no_loose_end_and_no_edge_too_many():
    made = cells_of(nodes=5, edges=6, operations=1)
    for operations, edges in made:
        last = len(operations) + 1
        assert len(edges) <= 6 and all(0 <= i < j <= last for i, j in edges)
        assert {j for _, j in edges} == set(range(1, last + 1)) and {i for i, _ in edges} == set(range(last))
    assert max(len(cell.edges) for cell in made) == 6 and max(len(cell.operations) for cell in made) == 3


def test_every_state_but_one_without_edges_may_end():
    game = BuildCells().game(Bool())
    assert game.moves(game.root)[-1] == ("end", 0)
    alone = game.after(game.root, ("node", 2))
    assert game.moves(alone) == [("edge", 0)]
    joined = game.after(alone, ("edge", 0))
    assert ("end", 0) in game.moves(joined) and ("out", 0) in game.moves(joined)
    assert game.moves(game.after(joined, ("out", 0))) == [("end", 0)]
    assert game.moves(game.after(joined, ("end", 0))) == ()


def test_cells_that_cannot_be_are_refused():
    for wrong in ({"nodes": 1}, {"edges": 0}, {"operations": 0}):
        with pytest.raises(ValueError, match="expected at least 2 nodes"):
            BuildCells(**wrong)


def test_values_are_assigned_one_after_the_other_and_long_ranges_in_parts():
    rng, game = np.random.default_rng(0), Assign(parts=4).game(Box(0.0, 8.0, dim=2))
    assert not game.single and [len(game.moves(state)) for state in ((), (0,), (0, 3))] == [4, 4, 0]
    x = np.array([game.row((1, 3), rng) for _ in range(200)])
    assert ((x >= [0.25, 0.75]) & (x <= [0.5, 1.0])).all() and len(np.unique(x[:, 0])) > 100
    small = Assign().game(Finite([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]))
    assert small.single and small.row((0, 2), rng).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="at least 2"):
        Assign(parts=1)


def test_rewards_are_ranks_or_values_and_failures_are_worst():
    known = np.array([3.0, 1.0, 2.0, 2.0])
    rank, raw = Rewards("rank", known), Rewards("raw", known)
    assert [rank.of(loss) for loss in (0.0, 1.0, 2.0, 9.0, np.nan)] == [1.0, 0.875, 0.5, 0.0, 0.0]
    assert [raw.of(loss) for loss in (0.5, np.nan)] == [-0.5, -3.0]
    assert (rank.guess, raw.guess) == (0.5, -2.0)
    assert rank.possible(np.array([-1.0, 0.3, 7.0])).tolist() == [0.0, 0.3, 1.0] and raw.possible(known) is known
    nothing = np.empty(0)
    assert Rewards("rank", nothing).of(4.0) == 0.5 and Rewards("raw", nothing).of(np.nan) == 0.0


def test_ridge_finds_a_slope_and_survives_constants():
    x = np.random.default_rng(0).random((50, 3))
    x[:, 2] = 1.0
    predicted = Ridge(penalty=1e-9).fit(x, 2 * x[:, 0] - x[:, 1] + 3)(x + np.array([0.5, 0, 0]))
    assert np.allclose(predicted, 2 * x[:, 0] - x[:, 1] + 4)
    assert np.allclose(Ridge().fit(x[:2], np.ones(2))(x), 1.0)
