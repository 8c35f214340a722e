"""The tensor cache of algorithm 9, the pool of blocks, and the workspaces."""

import numpy as np
import pytest

from lamcts.neural.graphs import MB, alexnet, baseline_bytes, bottlenecks, liveness, thesis_graph
from lamcts.neural.memory import (
    PRESETS,
    FirstFit,
    Machine,
    Simulator,
    TensorCache,
    extent,
    preset,
    traffic,
    workspaces,
)

ALEXNET = thesis_graph(alexnet(batch=8))
RESNET = thesis_graph(bottlenecks((1, 2), batch=1, image=(3, 64, 64)))


def least(graph):
    """Return what the largest step needs alone."""
    sizes = [storage.bytes for storage in graph.storages]
    return max(sum(sizes[one] for one in {*step.reads, *step.writes}) for step in graph.steps)


@pytest.mark.parametrize("graph", [ALEXNET, RESNET], ids=["alexnet", "resnet"])
def test_nothing_travels_where_everything_fits_and_something_does_one_byte_below(graph):
    peak = liveness(graph).peak_bytes
    assert traffic(graph, peak) == (0, 0, 0, peak)
    tight = traffic(graph, peak - 1)
    assert tight.sent_bytes > 0 and tight.fetched_bytes > 0 and tight.held_bytes < peak


@pytest.mark.parametrize("graph", [ALEXNET, RESNET], ids=["alexnet", "resnet"])
def test_a_step_runs_in_the_memory_that_it_needs_itself_and_in_no_less(graph):
    assert traffic(graph, least(graph)).held_bytes == least(graph)
    with pytest.raises(ValueError, match=f"expected at least {least(graph)} for one step"):
        traffic(graph, least(graph) - 1)


def test_what_travels_grows_with_the_batch():
    """Table 8.3: nothing up to a batch that fits, then more and more."""
    moved = [traffic(thesis_graph(alexnet(batch)), 40 * MB).sent_bytes for batch in (2, 4, 6, 8)]
    assert moved[0] == 0 < moved[-1] and moved == sorted(moved)


@pytest.mark.parametrize("seed", range(5))
def test_the_cache_never_sends_away_what_is_locked_and_never_holds_more_than_fits(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 20, 12).tolist()
    cache = TensorCache(60)
    for _ in range(200):
        chosen = rng.choice(12, 3, replace=False).tolist()
        for one in chosen:
            cache.check(one, sizes[one])
        assert set(chosen) <= set(cache.resident)
        assert cache.used_bytes == sum(sizes[one] for one in cache.resident) <= 60
        cache.unlock()
    assert cache.evictions > 0


def test_the_least_recently_used_goes_first_and_a_good_copy_is_not_sent_twice():
    cache = TensorCache(3)
    for one in (0, 1, 2, 0):
        cache.check(one, 1)
    cache.unlock()
    assert not cache.check(3, 1)
    assert list(cache.resident) == [2, 0, 3] and cache.sent_bytes == 1
    cache.unlock()
    for one in (1, 2, 0):  # each comes back in place of the next
        cache.check(one, 1)
        cache.unlock()
    assert (cache.sent_bytes, cache.fetched_bytes) == (4, 3)
    cache.check(3, 1)
    assert list(cache.resident) == [2, 0, 3]
    assert (cache.sent_bytes, cache.fetched_bytes) == (4, 4)  # the host still had 1
    cache.changed(3)
    cache.unlock()
    for one in (1, 2, 0):
        cache.check(one, 1)
    assert cache.sent_bytes == 5  # 3 alone: it was written


def test_blocks_are_taken_from_the_first_gap_that_is_wide_enough():
    pool = FirstFit(block_bytes=10)
    assert [pool.allocate(i, size) for i, size in enumerate((15, 10, 30))] == [0, 20, 30]
    pool.free(0)
    assert pool.allocate(3, 25) == 60  # 20 are free below: too few
    assert pool.allocate(4, 20) == 0
    assert (pool.top, pool.most) == (90, 90)
    with pytest.raises(ValueError, match="expected a storage without memory"):
        pool.allocate(4, 1)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("graph", [ALEXNET, RESNET], ids=["alexnet", "resnet"])
def test_a_pool_is_at_least_as_large_as_the_peak_and_no_larger_than_the_baseline(graph, name):
    report = Simulator(graph).report(preset(name, graph))
    blocks = len(graph.storages) * 1024
    needed = extent(report)
    assert report.peak_bytes <= needed.used_bytes <= report.peak_bytes + blocks
    assert needed.used_bytes <= needed.pool_bytes <= baseline_bytes(graph) + blocks
    assert needed.lost == 1 - needed.used_bytes / needed.pool_bytes


def test_workspaces_take_what_is_free_and_no_step_gets_slower():
    report = Simulator(ALEXNET).report(preset("liveness", ALEXNET))
    none = workspaces(report, Machine(workspace_gain=2.0))
    some, all_of_it = (workspaces(report, Machine(workspace_gain=2.0, capacity_bytes=k * MB)) for k in (60, 4000))
    assert none.bytes == [0] * len(ALEXNET.steps) and none.seconds == report.seconds
    assert all_of_it.seconds < some.seconds < none.seconds
    assert all_of_it.bytes == [step.workspace_bytes for step in ALEXNET.steps]
    assert all(got == 0 or live + got <= 60 * MB for got, live in zip(some.bytes, report.live_bytes, strict=True))
