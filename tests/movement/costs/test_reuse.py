"""Exact reuse distances against a stack kept as a list, and misses against simulated LRU caches."""

import tracemalloc
from collections import OrderedDict

import numpy as np
import pytest

from lamcts.movement import costs
from lamcts.movement.costs import lru_stack, reuse
from lamcts.movement.costs.lru_stack import LruStack, larger_before, stable_order


def listed(accesses):
    """Return the reuse distances by a list in order of last access, 0 for cold accesses."""
    stack, found = [], []
    for datum in accesses:
        found.append(len(stack) - stack.index(datum) if datum in stack else 0)
        if datum in stack:
            stack.remove(datum)
        stack.append(datum)
    return found


def simulated(accesses, capacity):
    """Return the misses of a fully associative LRU cache."""
    held, misses = OrderedDict(), 0
    for datum in accesses:
        misses += datum not in held
        held[datum] = None
        held.move_to_end(datum)
        if len(held) > capacity:
            held.popitem(last=False)
    return misses


@pytest.mark.parametrize("piece", [1, 7, 64, 2**17])
def test_a_thousand_random_traces_agree_with_a_stack_kept_as_a_list(piece, monkeypatch):
    monkeypatch.setattr(lru_stack, "PIECE", piece)
    rng = np.random.default_rng(piece)
    for _ in range(250):
        data = int(rng.integers(1, 100))
        accesses = rng.integers(0, data, int(rng.integers(0, 200)))
        assert LruStack(data).push(accesses).tolist() == listed(accesses.tolist())


def test_pieces_of_a_stream_give_the_distances_of_the_whole():
    accesses = np.random.default_rng(0).integers(0, 300, 5000)
    stack = LruStack(300)
    found = [stack.push(piece) for piece in np.array_split(accesses, 9)]
    assert np.concatenate(found).tolist() == listed(accesses.tolist())
    assert stack.depth == len(set(accesses.tolist()))


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 4095, 4096, 4097, 70_000])
def test_larger_earlier_elements_are_counted(n):
    ranks = np.random.default_rng(n).permutation(n).astype(np.int32)
    found = larger_before(ranks)
    rows = range(n) if n < 100 else np.random.default_rng(0).integers(0, n, 60)
    assert all(found[i] == (ranks[:i] > ranks[i]).sum() for i in rows)
    assert larger_before(np.arange(n, dtype=np.int32)).sum() == 0
    assert larger_before(np.arange(n, dtype=np.int32)[::-1].copy()).tolist() == list(range(n))


@pytest.mark.parametrize("highest", [10, 2**8, 2**16, 2**24 - 1, 2**30])
def test_the_radix_order_is_the_stable_order(highest):
    values = np.random.default_rng(1).integers(0, highest + 1, 3000).astype(np.int32)
    values[1000:1500] = values[:500]
    assert stable_order(values).tolist() == np.argsort(values, kind="stable").tolist()


def test_misses_are_those_of_a_simulated_cache_of_any_capacity():
    accesses = (60 * np.random.default_rng(2).random(3000) ** 2).astype(np.int64)
    found = costs.reuse_distances(accesses)
    capacities = [0, 1, 2, 3, 10, 30, 59, 60, 61, 1000]
    assert found.misses(capacities).tolist() == [simulated(accesses.tolist(), c) for c in capacities]
    assert [found.misses(c) for c in capacities] == found.misses(capacities).tolist()
    assert found.misses(np.array([[1, 2], [3, 10]])).shape == (2, 2)
    held, misses = found.curve()
    assert misses.tolist() == [simulated(accesses.tolist(), c) for c in held.tolist()]
    assert (np.diff(misses) < 0).all() and misses[-1] == found.cold
    assert isinstance(found.misses(3), int) and found.accesses == 3000


def test_the_example_of_the_paper():
    assert costs.dmd("abbbca") == pytest.approx(2 + 3**0.5, rel=1e-15)
    found = costs.reuse_distances("abbbca")
    assert (found.cold, found.misses(2), found.misses(3)) == (3, 4, 3)
    assert found.misses_error(2) == 0.0


@pytest.mark.parametrize(
    "accesses",
    [
        [3, 5, 5, 5, 8, 3],
        np.array([3, 5, 5, 5, 8, 3], np.uint8),
        np.array([-128, 127, 127, 127, 0, -128], np.int8),
        np.array([10**15, 0, 0, 0, 5, 10**15]),
        np.array([0.5, 2.5, 2.5, 2.5, 9.0, 0.5]),
        np.array(list("abbbca")),
        [("a", 1), None, None, None, 7, ("a", 1)],
        iter("abbbca"),
    ],
)
def test_data_may_be_anything_hashable(accesses):
    assert costs.dmd(accesses) == pytest.approx(2 + 3**0.5)


def test_a_stream_without_accesses_has_no_distances():
    for accesses in ("", np.array([], int)):
        found = costs.reuse_distances(accesses)
        assert (found.accesses, found.misses(4), found.dmd, found.cold) == (0, 0, 0.0, 0)
        assert found.curve()[1].tolist() == [0] and found.histogram()[1].tolist() == []


def test_the_histogram_counts_by_powers_of_two():
    accesses = np.random.default_rng(3).integers(0, 50, 2000)
    lower, counts = costs.reuse_distances(accesses).histogram()
    distances = np.array([d for d in listed(accesses.tolist()) if d])
    expected = [((low <= distances) & (distances < 2 * low)).sum() for low in lower]
    assert counts.tolist() == expected and lower.tolist() == [1, 2, 4, 8, 16, 32]


def test_lines_are_data_and_capacities_count_words():
    addresses = np.random.default_rng(4).integers(0, 400, 3000)
    found = costs.reuse_distances(addresses, line=64)
    lines = (addresses // 8).tolist()
    assert [found.misses(c) for c in (7, 8, 80, 87)] == [simulated(lines, c) for c in (0, 1, 10, 10)]
    assert found.misses(10, unit="lines") == found.misses(80) and found.line_words == 8
    assert costs.reuse_distances(addresses, line=64, element_bytes=4).line_words == 16
    held, misses = found.curve()
    assert found.misses(held).tolist() == misses.tolist() and (held % 8 == 0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"line": 48}, "line: expected a power of two in bytes, got 48; use 64"),
        ({"line": 4}, "line: expected a multiple of element_bytes=8, got 4"),
        ({"line": 0}, "line: expected a whole number of at least 1"),
        ({"line": 64, "element_bytes": 0}, "element_bytes: expected a whole number"),
        ({"sample": 0}, r"sample: expected None or a share in \(0, 1\], got 0"),
        ({"sample": 1.5}, r"sample: expected None or a share"),
        ({"sample": "few"}, r"sample: expected None or a share"),
    ],
)
def test_settings_out_of_range_are_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        costs.reuse_distances(np.arange(5), **settings)


def test_accesses_of_the_wrong_form_are_errors():
    with pytest.raises(ValueError, match="expected one dimension, got 2"):
        costs.reuse_distances(np.zeros((2, 2), int))
    with pytest.raises(ValueError, match="expected a numpy array of addresses where line is set"):
        costs.reuse_distances("abc", line=64)
    with pytest.raises(TypeError):
        costs.reuse_distances([[1], [1]])


@pytest.mark.parametrize(("capacity", "unit"), [(-1, "words"), (1.5, "words"), ("4", "words"), (4, "bytes")])
def test_capacities_out_of_range_are_errors(capacity, unit):
    with pytest.raises(ValueError, match=r"capacity|unit"):
        costs.reuse_distances("abca").misses(capacity, unit)


def test_a_long_stream_is_an_error_that_names_the_cure(monkeypatch):
    monkeypatch.setattr(reuse, "LIMIT", 1000)
    with pytest.raises(ValueError, match=r"got 1,001; use sample=0.01"):
        costs.reuse_distances(np.zeros(1001, int))
    assert costs.reuse_distances(np.zeros(1001, int), sample=0.5).accesses == pytest.approx(1001)


def test_results_cannot_be_changed():
    found = costs.reuse_distances("abba")
    with pytest.raises(ValueError, match="read-only"):
        found.counts[0] = 7


def test_memory_stays_below_100_bytes_an_access():
    accesses = np.random.default_rng(5).integers(0, 300_000, 1_000_000)
    tracemalloc.start()
    costs.reuse_distances(accesses)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * len(accesses)
