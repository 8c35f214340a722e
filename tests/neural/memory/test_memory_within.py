"""The fastest known plan within a budget, and the smallest budget that has one: on lists of layers, without torch."""

import pytest

from lamcts.neural.graphs import MB, alexnet, thesis_graph
from lamcts.neural.memory import size_of, size_text
from lamcts.neural.memory.fitting import action_counts, curve, front, greedy, presets, smallest, within


@pytest.fixture(scope="module")
def graph():
    return thesis_graph(alexnet(batch=200))


def test_the_smallest_plan_of_alexnet_needs_the_least_that_there_is(graph):
    assert smallest(graph).peak_bytes / MB == pytest.approx(664.673, abs=1e-3)  # of its largest step


def test_where_no_greedy_plan_is_found_one_of_the_presets_is_the_smallest(graph, monkeypatch):
    monkeypatch.setattr("lamcts.neural.memory.fitting.candidate_plans.greedy", lambda *_: [])
    assert smallest(graph).peak_bytes == min(one.peak_bytes for one in presets(graph))


@pytest.mark.parametrize("budget", ["1400MB", "900MB", "664.68MB"])
def test_a_plan_within_a_budget_is_the_fastest_that_is_known(graph, budget):
    chosen, room = within(graph, budget, exchanges=0), size_of(budget)
    assert chosen.report.peak_bytes <= room < chosen.kept.peak_bytes
    others = [*presets(graph), *greedy(graph, room)]
    assert chosen.report.seconds == min(one.seconds for one in others if one.peak_bytes <= room)
    assert [one.plan.name for one in chosen.plans] == [one.plan.name for one in others]


def test_below_the_least_there_is_no_plan_and_the_message_says_what_there_is(graph):
    with pytest.raises(ValueError, match=r"at least 664.68 MiB, .*\(0 B of it whatever the plan\), got 600.00 MiB"):
        within(graph, "600MB", exchanges=0)


def test_a_budget_for_everything_keeps_everything(graph):
    chosen = within(graph, "1489.36MB")
    assert chosen.report is chosen.kept and not any(chosen.kept.plan.actions)


def test_the_front_has_what_none_is_ahead_of_and_once(graph):
    reports = curve(graph, exchanges=0)
    best = front([*reports, *reports])
    assert [one.peak_bytes for one in best] == sorted({one.peak_bytes for one in best})
    assert [one.seconds for one in best] == sorted({one.seconds for one in best}, reverse=True)
    assert all(any(two.peak_bytes <= one.peak_bytes and two.seconds <= one.seconds for two in best) for one in reports)


def test_what_a_search_finds_at_each_budget_is_added_where_nothing_is_ahead_of_it(graph):
    found, keeping = curve(graph, exchanges=400, seed=1), 1489.355 * MB
    searched = [i for i, one in enumerate(found) if "searched" in one.plan.name]
    known = [one.plan for one in curve(graph, exchanges=0)]
    assert [one.plan for one in found if "searched" not in one.plan.name] == known
    for i in searched:
        new, share = found[i], int(found[i].plan.name.split()[1])
        assert new.peak_bytes <= keeping * share / 100 * (1 + 1e-6)
        assert not any(two.peak_bytes <= new.peak_bytes and two.seconds <= new.seconds for two in found[:i])
    assert searched


def test_what_has_no_time_to_be_away_counts_as_kept(graph):
    convolutions = action_counts(presets(graph)[2])  # the last of them is wanted back before it could leave
    assert convolutions == (18, 0, 4) and str(convolutions) == "18 kept, 0 recomputed, 4 offloaded"


def test_presets_can_all_be_carried_out(graph):
    names = ["baseline", "keep all", "offload", "speed", "memory", "cost-aware", "offload all"]
    assert [one.plan.name for one in presets(graph)] == names
    assert presets(graph)[1].peak_bytes / MB == pytest.approx(1489.355, abs=1e-3)


@pytest.mark.parametrize("size", [1, 1023, 1024, 1025, 12345, 2**20 - 1, 2**20 + 1, 3 * 2**30 // 7, 2**43 + 1])
def test_a_size_as_a_text_is_never_too_little_and_hardly_too_much(size):
    assert size <= size_of(size_text(size)) <= size * 1.01
