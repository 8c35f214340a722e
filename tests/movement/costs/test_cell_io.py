"""Loads and stores of cells: by hand, and next to the least that any choice of kept tensors has."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from lamcts.movement import costs
from lamcts.neural.nas import IoCell

# Nodes 0 and 1 are the inputs; comments number them from 1, as the paper does.
PAPER = [(), (), (0, 1), (2,), (3,), (2, 4)]  # 3(1,2), 4(3,3), 5(4,4), 6(5,3)
BY_HAND = [
    (PAPER, (3, 1, 1)),
    ([(), (), (0, 1)], (1, 1, 1)),
    ([(), (), (0,), (2,), (3,), (4,)], (1, 1, 1)),  # a chain keeps one tensor
    ([(), (), (0,), (0,), (2, 3)], (3, 1, 1)),  # 3 is kept until 4, which has the same next use and is younger
    ([(), (), (0,), (0,), (0,), (2, 3, 4)], (5, 3, 1)),
    ([(), (), (0,), (0, 1), (0,), (2, 4), (3, 5)], (5, 3, 1)),
]
WORSE = [(), (), (0, 1), (2,), (2, 3), (2, 4), (2, 5)]  # 3 has the more uses and stays: 4, 5 and 6 move to and fro


def least(graph, k):
    """Return the least loads plus stores over all choices of the tensors that are kept."""
    last = [max((later for later, read in enumerate(graph) if node in read), default=-1) for node in range(len(graph))]
    states = {(frozenset(), frozenset()): 1}
    for step, read in enumerate(graph):
        if not read:
            continue
        results, found = {node for node in read if graph[node]}, {}
        for (held, stored), cost in states.items():
            cost += len(results - held)
            waiting = sorted(node for node in held | results | {step} if last[node] > step)
            for kept in combinations(waiting, min(k, len(waiting))):
                evicted = {node for node in waiting if node not in kept} - stored
                state = frozenset(kept), frozenset(node for node in stored | evicted if last[node] > step)
                found[state] = min(cost + len(evicted), found.get(state, 99))
        states = found
    return min(states.values())


def cells(nodes, n):
    rng, space = np.random.default_rng(nodes), IoCell(nodes)
    return [space.reads(space.random(rng)) for _ in range(n)]


@pytest.mark.parametrize(("graph", "counts"), BY_HAND)
def test_cells_counted_by_hand(graph, counts):
    assert tuple(costs.cell_io(graph, [k]) for k in (1, 2, 3)) == counts
    assert costs.cell_io(graph) == pytest.approx(sum(counts) / 3)
    assert all(least(graph, k) == count for k, count in zip((1, 2, 3), counts, strict=True))


def test_a_cost_may_be_above_the_least():
    assert (costs.cell_io(WORSE, [1]), least(WORSE, 1)) == (7, 5)  # with 3 stored once and loaded three times


# Of 500 random cells by nodes and kept tensors: share of costs equal to the least, rank correlation of the cost with
# the least, and that of the number of computed nodes. Three kept tensors are enough for cells of 8 nodes.
MEASURED = {
    (8, 1): (0.924, 0.999, 0.767),
    (8, 2): (1.0, 1.0, 0.322),
    (12, 1): (0.816, 0.996, 0.873),
    (12, 2): (0.988, 1.0, 0.657),
    (12, 3): (1.0, 1.0, 0.311),
}


@pytest.mark.parametrize("nodes", [8, 12])
def test_no_cost_is_below_the_least_of_all_choices_of_kept_tensors_and_most_are_equal(nodes):
    graphs = cells(nodes, 500)
    for k in (1, 2, 3):
        found = np.array([costs.cell_io(graph, [k]) for graph in graphs])
        best = np.array([least(graph, k) for graph in graphs])
        assert (found >= best).all()
        if (nodes, k) == (8, 3):
            assert found.max() == best.max() == 1
            continue
        ranks = [spearmanr(each, best)[0] for each in (found, [len(graph) for graph in graphs])]
        assert ((found == best).mean(), *ranks) == pytest.approx(MEASURED[nodes, k], abs=6e-4)


def test_more_kept_tensors_never_cost_more_where_the_least_is_taken():
    for graph in cells(8, 50):
        assert least(graph, 1) >= least(graph, 2) >= least(graph, 3) >= 1


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: costs.cell_io(PAPER, [0]), "kept: expected a whole number of at least 1, got 0"),
        (lambda: costs.cell_io(PAPER, []), "kept: expected at least one"),
        (lambda: costs.cell_io([(), (1,)]), r"reads\[1\]: expected nodes below 1, got 1: number them in order"),
        (lambda: costs.cell_io([(), ()]), "expected an output"),
        (lambda: costs.cell_io([]), "expected an output"),
    ],
)
def test_bad_input_is_refused(call, told):
    with pytest.raises(ValueError, match=told):
        call()
