"""Spills of schedules, next to the least possible traffic by an exhaustive search."""

import heapq
from itertools import count

import numpy as np
import pytest

from lamcts.movement import costs
from lamcts.movement.costs.spills import spills


def optimum(inputs: list[tuple[int, ...]], capacity: int) -> int:
    """Return the least loads plus stores by Dijkstra over the red-blue pebble game without recomputation.

    A state has the computed, the red (fast) and the blue (slow) nodes as bits. First loads of inputs are free.
    """
    nodes = range(len(inputs))
    sources = sum(1 << node for node in nodes if not inputs[node])
    needs = [sum(1 << source for source in set(read)) for read in inputs]
    users = [sum(1 << user for user in nodes if needs[user] >> node & 1) for node in nodes]
    everything = (1 << len(inputs)) - 1
    start = (sources, 0, sources, sources)  # computed, red, blue, inputs that were never loaded
    queue, tie, settled = [(0, 0, start)], count(1), set()
    while queue:
        cost, _, state = heapq.heappop(queue)
        if state in settled:
            continue
        settled.add(state)
        computed, red, blue, fresh = state
        if computed == everything:
            return cost
        for node in nodes:
            bit = 1 << node
            steps = []
            if red & bit:
                dead = not users[node] & ~computed
                if dead or blue & bit:
                    steps.append((0, (computed, red & ~bit, blue, fresh)))
                if not blue & bit:
                    steps.append((1, (computed, red, blue | bit, fresh)))
            elif red.bit_count() < capacity:
                if blue & bit:
                    steps.append((0 if fresh & bit else 1, (computed, red | bit, blue, fresh & ~bit)))
                if not computed & bit and needs[node] & ~red == 0:
                    steps.append((0, (computed | bit, red | bit, blue, fresh)))
            for price, state in steps:
                heapq.heappush(queue, (cost + price, next(tie), state))
    raise AssertionError("no schedule")


def random_graph(rng: np.random.Generator, nodes: int) -> list[tuple[int, ...]]:
    inputs = [()]
    for node in range(1, nodes):
        fan = int(rng.integers(0 if node < 3 else 1, 3))
        inputs.append(tuple(rng.choice(node, min(fan, node), replace=False).tolist()))
    return inputs


@pytest.mark.parametrize("seed", range(40))
def test_no_schedule_has_fewer_spills_than_the_pebble_game(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = random_graph(rng, int(rng.integers(4, 9)))
    totals = [costs.least_spills(inputs, capacity).total for capacity in (3, 4, 8)]
    least = [optimum(inputs, capacity) for capacity in (3, 4, 8)]
    assert all(total >= best for total, best in zip(totals, least, strict=True))
    assert totals[2] == least[2] == 0


def test_the_pebble_game_is_reached_on_most_small_graphs() -> None:
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, 8) for _ in range(60)]
    reached = [costs.least_spills(graph, 3).total == optimum(graph, 3) for graph in graphs]
    assert np.mean(reached) > 0.8


def test_spills_of_a_graph_counted_by_hand() -> None:
    # Node 3 evicts 1 and node 5 evicts 2: both are stored, and loaded again by nodes 6 and 7.
    graph = [(), (0,), (0,), (0,), (3,), (3, 4), (1, 5), (2, 6)]
    found = spills(graph, 3)
    assert (found.loads, found.stores, found.total) == (2, 2, 4)
    assert costs.least_spills(graph, 3).total < found.total
    assert spills(graph, 5).total == 0


def test_an_evicted_input_is_loaded_again_and_never_stored() -> None:
    graph = [(), (0,), (1,), (1, 2), (0, 3)]
    found = spills(graph, 3)
    assert (found.loads, found.stores) == (1, 0)


def test_more_memory_and_a_better_order_never_cost_more() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        graph = random_graph(rng, 8)
        totals = [costs.least_spills(graph, capacity).total for capacity in range(3, 9)]
        assert totals == sorted(totals, reverse=True)
        assert totals[0] <= spills(graph, 3).total
        assert costs.mean_spills(graph, range(3, 9)) == np.mean(totals)


def test_a_large_graph_takes_the_best_of_three_list_schedules() -> None:
    # Twelve chains of three from one input: by number, all first links come first, and most are spilled.
    chains = 12
    graph = [(), *((0,) for _ in range(chains)), *((1 + i,) for i in range(chains))]
    graph += [(1 + chains, 2 + chains), *((2 * chains + 1 + i, chains + 3 + i) for i in range(chains - 2))]
    assert spills(graph, 4).total > 20
    assert costs.least_spills(graph, 4).total == 0


def test_the_graph_of_a_cell_has_a_map_for_each_operation_and_addition() -> None:
    edges = [(0, 1, "conv"), (0, 2, "skip_connect"), (1, 2, "conv"), (0, 3, "conv"), (2, 3, "pool")]
    nodes = ["input", "1", "2", "output"]
    assert costs.cell(nodes, edges) == [[], [0], [1], [0, 2], [0], [3], [4, 5]]
    assert costs.cell(nodes, [(0, 1, "conv"), (0, 3, "conv"), (2, 3, "conv")]) == [[], [0]]  # no path: no map
    assert costs.cell(nodes, [(0, 3, "skip_connect")]) == [[]]


def test_operations_may_be_on_the_nodes_and_inputs_may_be_two() -> None:
    nodes = ["input", "conv", "identity", "pool", "output"]
    edges = [(0, 1, ""), (1, 2, ""), (1, 3, ""), (2, 4, ""), (3, 4, "")]
    assert costs.cell(nodes, edges) == [[], [0], [1], [1, 2]]
    two = ["cell k-2", "cell k-1", "node 0", "cell k"]
    assert costs.cell(two, [(0, 2, "conv"), (1, 2, "pool"), (2, 3, "")], inputs=2) == [[], [], [0], [1], [2, 3]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spills([(), (2,), (0,)], 3), "number them in order"),
        (lambda: spills([(), (0,), (0, 1)], 2), "at least 3 maps"),
        (lambda: spills([(), (0,), (1,)], 3, [2, 1]), "which reads it"),
        (lambda: spills([(), (0,), (1,)], 3, [1]), "each computed node"),
        (lambda: costs.mean_spills([(), (0,)], []), "at least one"),
    ],
)
def test_bad_input_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
