"""What any plan does on any graph: no storage is used that is not there, and none is left behind."""

from collections import Counter

import numpy as np
import pytest

from lamcts.neural.graphs import LayeredNetwork, alexnet, bottlenecks, densenet, fan, liveness, thesis_graph
from lamcts.neural.memory import Action, Machine, Plan, Simulator, keep_all

IMAGE = (3, 64, 64)
GRAPHS = {
    "alexnet": thesis_graph(alexnet(batch=2)),
    "resnet": thesis_graph(bottlenecks((1, 2), batch=1, image=IMAGE)),
    "densenet": thesis_graph(densenet((2, 3), growth=4, batch=1, image=IMAGE)),
    "fan": thesis_graph(fan(2, batch=1, image=IMAGE, channels=8)),
}
CASES = [(name, seed) for name in GRAPHS for seed in range(8)]


def drawn(graph, seed):
    """Return a random plan: the share of what is kept differs from seed to seed."""
    rng = np.random.default_rng(seed)
    odds = [seed % 4, *[1] * (len(Action) - 1)]
    return Plan(tuple(map(Action, rng.choice(len(Action), len(graph.movable), p=np.array(odds) / sum(odds)).tolist())))


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_replaying_what_came_and_went_finds_everything_where_it_is_needed(name, seed, overlap):
    """The events alone, replayed by another loop, give the live bytes that the simulator counted."""
    graph = GRAPHS[name]
    report = Simulator(graph, Machine(overlap=overlap)).report(drawn(graph, seed))
    live, there = liveness(graph), set()
    movable = set(graph.movable)
    events = sorted(report.events, key=lambda event: (event.step, event.order))
    for t, step in enumerate(graph.steps):
        mine = [event for event in events if event.step == t]
        highest = 0
        for event in [one for one in mine if one.order == 0]:
            assert (event.storage in there) != event.allocates
            there = there ^ {event.storage}
            highest = max(highest, total(graph, there | live.before(t) - movable))
        there |= {event.storage for event in mine if event.order == 1}
        assert movable & {*step.reads, *step.writes} <= there
        highest = max(highest, total(graph, there | live.during(t) - movable))
        assert report.live_bytes[t] == highest
        for event in [one for one in mine if one.order == 2]:
            there.remove(event.storage)
    assert not there


def total(graph, storages):
    return sum(graph.storages[one].bytes for one in storages)


@pytest.mark.parametrize("name", GRAPHS)
def test_excess_sums_what_each_step_has_above_a_budget(name):
    simulator = Simulator(GRAPHS[name])
    for seed in range(4):
        actions = drawn(simulator.graph, seed).actions
        cost, live = simulator.cost(actions), simulator.live(actions)
        half = cost.peak_bytes // 2
        assert max(live) == cost.peak_bytes
        assert simulator.excess(actions, half) == (sum(max(0, one - half) for one in live), cost.seconds)
        assert simulator.excess(actions, cost.peak_bytes)[0] == 0


@pytest.mark.parametrize("name", GRAPHS)
def test_keeping_everything_is_liveness(name):
    graph = GRAPHS[name]
    report = Simulator(graph).report(keep_all(graph))
    assert report.live_bytes == liveness(graph).live_bytes.tolist()
    assert report.live_count == liveness(graph).live_count.tolist()
    assert (report.recomputes, report.sent_bytes, report.fetched_bytes) == (0, 0, 0)


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_plan_takes_no_less_time_than_keeping_and_overlap_none_more_than_waiting(name, seed):
    graph = GRAPHS[name]
    plan = drawn(graph, seed)
    beside, waiting = (Simulator(graph, Machine(overlap=overlap)).cost(plan.actions) for overlap in (True, False))
    kept = Simulator(graph).cost(keep_all(graph).actions).seconds
    assert kept <= beside.seconds + 1e-12
    assert beside.sent_bytes <= waiting.sent_bytes
    if not {Action.RECOMPUTE_AGAIN, Action.RECOMPUTE_EACH} & {*plan.actions}:  # which may be fetched for at other times
        assert beside.seconds <= waiting.seconds + 1e-12


@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_made_anew_once_is_never_made_twice(name):
    graph = GRAPHS[name]
    report = Simulator(graph).report(Plan((Action.RECOMPUTE,) * len(graph.movable)))
    comes = Counter(event.storage for event in report.events if event.allocates and event.order == 0)
    assert report.recomputes == sum(comes.values()) and max(comes.values()) == 1


def test_what_nobody_needs_again_does_not_travel():
    """The last normalisation of a block is read by the join alone, whose backward step reads nothing."""
    graph = GRAPHS["resnet"]
    needed = {one for step in graph.steps if not step.forward for one in step.reads}
    plan = [Action.KEEP if one in needed else Action.OFFLOAD for one in graph.movable]
    assert plan.count(Action.OFFLOAD) == 5  # three blocks, two shortcuts
    assert Simulator(graph).cost(plan) == Simulator(graph).cost(keep_all(graph).actions)


def test_a_transfer_hides_behind_computing_and_a_slow_link_does_not():
    graph = GRAPHS["alexnet"]
    plan = [
        Action.OFFLOAD if graph.steps[graph.makers[one][-1]].kind == "conv" else Action.KEEP for one in graph.movable
    ]
    kept = Simulator(graph).cost([Action.KEEP] * len(plan)).seconds
    fast, slow = (Simulator(graph, Machine(link_bytes_per_second=rate)).cost(plan) for rate in (1e13, 1e9))
    assert fast.seconds == pytest.approx(kept, rel=1e-3)
    assert slow.seconds > 1.5 * kept
    waits = Simulator(graph, Machine(link_bytes_per_second=1e9, overlap=False)).cost(plan)
    moved = (waits.sent_bytes + waits.fetched_bytes) / 1e9
    assert waits.seconds == pytest.approx(kept + moved)


def test_a_rate_of_nothing_is_refused():
    with pytest.raises(ValueError, match="link_bytes_per_second: expected a rate above 0"):
        Machine(link_bytes_per_second=0)


def test_a_network_of_one_layer_has_a_plan_too():
    net = LayeredNetwork((3, 8, 8), batch=1)
    net.add("conv", channels=4, kernel=3)
    graph = thesis_graph(net)
    assert Simulator(graph).report(Plan((Action.RECOMPUTE,) * len(graph.movable))).recomputes == 0
