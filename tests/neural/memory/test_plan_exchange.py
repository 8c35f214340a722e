"""Local search on plans: never worse than where it began, within what it may use."""

import pytest

from lamcts.neural.graphs import bottlenecks, thesis_graph
from lamcts.neural.memory import Action, Machine, Simulator, exchange, keep_all, preset, score

GRAPH = thesis_graph(bottlenecks((3, 3), batch=2, image=(3, 64, 64)))
BUDGET = int(0.5 * Simulator(GRAPH).cost(keep_all(GRAPH).actions).peak_bytes)


@pytest.mark.parametrize("name", ["liveness", "offload", "speed", "memory"])
def test_an_exchange_gets_within_the_budget_and_faster_than_the_plan_that_it_began_with(name):
    simulator, start = Simulator(GRAPH), preset(name, GRAPH)
    found = exchange(GRAPH, start, BUDGET, 300, seed=0)
    assert simulator.cost(found.actions).peak_bytes <= BUDGET
    assert score(simulator, found.actions, BUDGET) < score(simulator, start.actions, BUDGET)


def test_the_same_seed_finds_the_same_plan_and_nothing_is_found_without_evaluations():
    start = preset("speed", GRAPH)
    first, again = (exchange(GRAPH, start, BUDGET, 100, seed=1) for _ in range(2))
    assert first.actions == again.actions != exchange(GRAPH, start, BUDGET, 100, seed=2).actions
    assert exchange(GRAPH, start, BUDGET, 0).actions == start.actions


def test_only_actions_that_are_allowed_are_used_and_only_what_can_be_made_anew_is():
    machine = Machine(overlap=False)
    allowed = (Action.KEEP, Action.RECOMPUTE, Action.OFFLOAD_EACH)
    found = exchange(GRAPH, keep_all(GRAPH), BUDGET, 300, machine=machine, actions=allowed)
    assert {*found.actions} == {*allowed}
    Simulator(GRAPH, machine).report(found)  # which refuses what cannot be made anew
