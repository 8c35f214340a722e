"""The integer programme against all schedules of tiny graphs, one after the other, and against plans."""

from itertools import chain, combinations, product

import pytest

from lamcts.neural.graphs import LayeredNetwork, thesis_graph
from lamcts.neural.memory import ALL_OPTIONS, Machine, ScheduleObjective, optimum
from lamcts.neural.memory.graph_tables import graph_tables

NONE = float("inf")


def line(*kinds):
    net = LayeredNetwork((4, 16, 16), batch=4)
    for kind in kinds:
        net.add(kind, **({"channels": 8, "kernel": 3, "padding": 1} if kind == "conv" else {}))
    return thesis_graph(net)


def forked():
    net = LayeredNetwork((4, 8, 8), batch=4)
    net.add("conv", channels=8, kernel=3, padding=1, name="start")
    net.add("lrn", "start", name="left")
    net.add("relu", "left", name="leaf")
    net.add("join", "start", "leaf", name="end")
    return thesis_graph(net)


GRAPHS = {"chain": line("conv", "relu", "lrn", "relu"), "two": line("conv", "relu", "conv", "lrn"), "forked": forked()}
MACHINES = {
    "fast link": Machine(overlap=False, link_bytes_per_second=2e12),
    "slow link": Machine(overlap=False, link_bytes_per_second=2e11),
}


def budgets(graph, machine):
    """Return every peak that a plan can have, and a byte less than the smallest."""
    objective = ScheduleObjective(graph, machine=machine, options=ALL_OPTIONS)
    names = objective.space.names
    points = [dict(zip(names, words, strict=True)) for words in product(ALL_OPTIONS, repeat=len(names))]
    costs = [objective.simulator.cost(objective.plan(point).actions) for point in points]
    peaks = sorted({cost.peak_bytes for cost in costs})
    return costs, [peaks[0] - 1, *peaks]


def subsets(members):
    members = sorted(members)
    return map(frozenset, chain.from_iterable(combinations(members, k) for k in range(len(members) + 1)))


def least_seconds(graph, budget, machine):
    """Return the least time of all schedules within a budget, by trying what can be done from every state."""
    known = graph_tables(graph, machine)
    everything = range(len(known.size))
    return known.elapsed[-1] + min(from_host(known, budget, sent, everything) for sent in subsets(everything))


def from_host(known, budget, sent, everything):
    begin = known.graph.forward_count
    states = {}
    for stays in subsets(everything):
        live = [
            known.fixed_during[t]
            + sum(
                known.size[i]
                for i in everything
                if known.first_write[i] <= t and (t <= known.last_forward_use[i] or i in stays)
            )
            for t in range(begin)
        ]
        if max(live) <= budget:
            states[stays] = sum(known.machine.transfer_seconds(known.size[i]) for i in sent)
    for t in range(begin, len(known.graph.steps)):
        for k in everything:
            states = brought(known, budget, sent, states, t, k)
        needed = set(known.needs[t])
        kept = ((part, cost) for state, cost in states.items() for part in subsets(state))
        states = least(
            (part, cost)
            for part, cost in kept
            if needed <= part and weight(known, part) + known.fixed_during[t] <= budget
        )
    return min(states.values(), default=NONE)


def brought(known, budget, sent, states, t, k):
    """Return the states after storage k may have been made anew or fetched, others dropped before and after it."""
    found = list(states.items())
    for state, cost in states.items():
        for part in subsets(state):
            full = weight(known, part | {k}) + known.fixed_before[t]
            if k not in part and set(known.inputs[k]) <= part and full + known.scratch[k] <= budget:
                found.append((part | {k}, cost + known.recompute_seconds[k]))
            if k not in part and k in sent and full <= budget:
                found.append((part | {k}, cost + known.machine.transfer_seconds(known.size[k])))
    return least(found)


def weight(known, state):
    return sum(known.size[i] for i in state)


def least(pairs):
    found = {}
    for state, cost in pairs:
        found[state] = min(cost, found.get(state, NONE))
    return found


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", GRAPHS)
def test_the_programme_finds_what_trying_all_schedules_finds_and_no_plan_is_faster(name, machine):
    graph, machine = GRAPHS[name], MACHINES[machine]
    costs, tried = budgets(graph, machine)
    reached = 0
    for budget in tried:
        found, expected = optimum(graph, budget, machine), least_seconds(graph, budget, machine)
        plans = min((cost.seconds for cost in costs if cost.peak_bytes <= budget), default=NONE)
        assert (NONE if found is None else found.seconds) == pytest.approx(expected, rel=1e-9)
        assert expected <= plans * (1 + 1e-9)
        reached += expected == pytest.approx(plans, rel=1e-9)
    assert reached >= len(tried) - 1  # and, but for one budget, a plan is as fast


def test_a_schedule_without_a_limit_keeps_everything():
    graph = GRAPHS["chain"]
    found = optimum(graph, 10**12)
    assert (found.recomputes, found.fetches) == (0, 0)
    assert found.seconds == pytest.approx(graph_tables(graph, Machine()).elapsed[-1])


def test_a_programme_that_takes_too_long_is_given_up():
    with pytest.raises(RuntimeError, match="expected a solution within 1e-06 s"):
        optimum(GRAPHS["two"], budgets(GRAPHS["two"], Machine(overlap=False))[1][1], limit_seconds=1e-6)
