"""Host time of operations and plans: in the model, and measured."""

import copy
from dataclasses import replace

import pytest

from lamcts.neural import memory
from lamcts.neural.graphs import alexnet, thesis_graph
from lamcts.neural.memory import Action, Machine, Simulator, keep_all
from lamcts.neural.memory.checkpoint_plans import CHECKPOINT_PLANS, checkpointing, starting_plans
from lamcts.neural.memory.plan_search import least_time

GRAPH = thesis_graph(alexnet(batch=2))
EACH, AGAIN, FOLLOWED, MOVED = 1e-3, 2e-3, 4e-3, 8e-3
HOST = Machine(operation_seconds=EACH, recompute_seconds=AGAIN, follow_seconds=FOLLOWED, move_seconds=MOVED)
KEPT = keep_all(GRAPH).actions


def seconds(actions, machine=HOST):
    return Simulator(GRAPH, machine).cost(actions).seconds


def changed(i, action):
    return [*KEPT[:i], action, *KEPT[i + 1 :]]


def recomputed(machine):
    """Return a storage that a recomputation makes alone, and the added seconds."""
    tables = Simulator(GRAPH, machine).tables
    i = next(i for i, need in enumerate(tables.last_need) if need >= 0 and tables.recomputable[i])
    return i, tables, seconds(changed(i, Action.RECOMPUTE), machine) - seconds(KEPT, machine)


def test_each_operation_takes_host_time():
    assert seconds(KEPT) - seconds(KEPT, Machine()) == pytest.approx(EACH * len(GRAPH.steps))


def test_a_recomputation_takes_host_time_and_operations_are_followed_until_its_last_use():
    i, tables, added = recomputed(HOST)
    _, _, device = recomputed(Machine())
    assert added - device == pytest.approx(EACH + AGAIN + FOLLOWED * (1 + tables.last_forward_use[i]))


def test_a_later_storage_is_followed_for_longer():
    tables = Simulator(GRAPH, replace(HOST, recompute_seconds=0.0, operation_seconds=0.0)).tables
    needed = [i for i, need in enumerate(tables.last_need) if need >= 0 and tables.recomputable[i]]
    early, late = (seconds(changed(i, Action.RECOMPUTE), tables.machine) for i in (needed[0], needed[-1]))
    assert late > early + FOLLOWED


def test_a_transfer_has_a_time_of_its_own():
    i = next(i for i, need in enumerate(Simulator(GRAPH).tables.last_need) if need >= 0)
    waiting = replace(HOST, overlap=False, follow_seconds=0.0)
    pair = seconds(changed(i, Action.OFFLOAD), waiting), seconds(KEPT, waiting)
    size = Simulator(GRAPH).tables.size[i]
    assert pair[0] - pair[1] == pytest.approx(2 * (MOVED + size / waiting.link_bytes_per_second))


def test_a_host_that_runs_ahead_hides_behind_the_device():
    ahead = replace(HOST, runs_ahead=True)
    for step in GRAPH.steps:
        assert ahead.seconds(step, AGAIN) == max(Machine().seconds(step), EACH + AGAIN)


@pytest.mark.parametrize("name", ["operation_seconds", "recompute_seconds", "follow_seconds", "move_seconds"])
def test_host_time_below_zero_is_refused(name):
    with pytest.raises(ValueError, match=f"{name}: expected at least 0 seconds, got -1"):
        Machine(**{name: -1})


@pytest.fixture(scope="module")
def network():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    from torch import nn

    from lamcts.neural.trace import trace

    with torch.random.fork_rng():
        torch.manual_seed(0)
        blocks = [nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32), nn.Tanh(), nn.BatchNorm1d(32)) for _ in range(4)]
        model = nn.Sequential(*blocks)
    batch = torch.linspace(-1, 1, 64 * 32).view(64, 32)
    return model, batch, trace(model, batch)


@pytest.mark.dear
def test_searches_start_from_checkpointing_so_it_is_never_faster(network):
    graph = network[2].graph
    simulator = Simulator(graph, HOST)
    starts = starting_plans(graph)
    assert {plan.name for plan in starts} > {*CHECKPOINT_PLANS} - {"sqrt(n) segments", "selective checkpointing"}
    for plan in starts:
        cost = simulator.cost(plan.actions)
        greedy = memory.greedy(graph, cost.peak_bytes, HOST)
        budget = cost.peak_bytes + graph.outside_bytes
        searched = least_time(graph, budget, exchanges=0, machine=HOST)
        assert simulator.cost(greedy.actions).seconds <= cost.seconds
        assert simulator.cost(searched.actions).seconds <= cost.seconds


def test_by_products_that_are_recomputed_too_take_less_memory_and_more_time(network):
    graph, simulator = network[2].graph, Simulator(network[2].graph)
    usual, least = (simulator.cost(checkpointing(graph, some).actions) for some in (False, True))
    assert least.peak_bytes < usual.peak_bytes and least.recomputes > usual.recomputes


def test_a_search_that_continues_is_no_worse_than_its_start(network):
    graph = network[2].graph
    start = checkpointing(graph)
    simulator = Simulator(graph, HOST)
    cost = simulator.cost(start.actions)
    budget = cost.peak_bytes + graph.outside_bytes
    found = least_time(graph, budget, exchanges=40, machine=HOST, starts=[start])
    again = simulator.cost(found.actions)
    assert again.peak_bytes <= cost.peak_bytes and again.seconds <= cost.seconds


def test_a_machine_is_measured_once_and_leaves_the_generators_alone():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    before = torch.random.get_rng_state()
    with torch.no_grad():
        found = memory.measured_machine()
    assert torch.equal(torch.random.get_rng_state(), before)
    assert memory.measured_machine("cpu") is found and not found.runs_ahead
    assert 0 < found.operation_seconds < 1 and found.recompute_seconds + found.follow_seconds > 0
    assert found.flops_per_second == float(f"{found.flops_per_second:.2g}")


def test_the_time_of_steps_is_measured_and_the_model_is_as_before(network):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    model, batch, traced = network
    model = copy.deepcopy(model)
    before = {name: one.clone() for name, one in model.state_dict().items()}
    plan = checkpointing(traced.graph)
    found = memory.step_time(model, batch, plan, traced=traced)
    assert found.seconds > 0 and found.first_seconds > 0
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())
    assert all(one.grad is None for one in model.parameters())
    assert memory.step_time(model, batch).seconds > 0
    with pytest.raises(ValueError, match="traced: expected the trace of the plan, got None"):
        memory.step_time(model, batch, plan)
