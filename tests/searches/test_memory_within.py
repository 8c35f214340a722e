"""The fastest known plan within a budget, and the smallest budget that has one: on lists of layers, without torch."""

import pytest

from lamcts.graphs import MB, alexnet, thesis_graph
from lamcts.neural.memory import PRESETS, Simulator, size_of, size_text
from lamcts.searches.memory_fit import known, presets, smallest, within


@pytest.fixture(scope="module")
def graph():
    return thesis_graph(alexnet(batch=200))


def test_the_smallest_plan_of_alexnet_needs_the_least_that_there_is(graph):
    assert smallest(graph).peak_bytes / MB == pytest.approx(664.673, abs=1e-3)  # of its largest step


@pytest.mark.parametrize("budget", ["1400MB", "900MB", "664.68MB"])
def test_a_plan_within_a_budget_is_the_fastest_that_is_known(graph, budget):
    plan = within(graph, budget, evaluations=0)
    report = Simulator(graph).report(plan)
    assert report.peak_bytes <= size_of(budget)
    fitting = [one for one in known(graph, size_of(budget)) if one.peak_bytes <= size_of(budget)]
    assert report.seconds == min(one.seconds for one in fitting)


def test_below_the_least_there_is_no_plan_and_the_message_says_what_there_is(graph):
    with pytest.raises(ValueError, match=r"at least 664.68 MiB, .*\(0 B of it whatever the plan\), got 600.00 MiB"):
        within(graph, "600MB", evaluations=0)


def test_a_budget_for_everything_keeps_everything(graph):
    assert not any(within(graph, "1489.36MB").actions)


def test_presets_are_plans_that_can_be_carried_out(graph):
    plans = presets(Simulator(graph))
    assert [plan.name for plan in plans] == [*PRESETS, "offload all"]
    assert all(Simulator(graph).report(plan).seconds > 0 for plan in plans)


@pytest.mark.parametrize("size", [1, 1023, 1024, 1025, 12345, 2**20 - 1, 2**20 + 1, 3 * 2**30 // 7, 2**43 + 1])
def test_a_size_as_a_text_is_never_too_little_and_hardly_too_much(size):
    assert size <= size_of(size_text(size)) <= size * 1.01
