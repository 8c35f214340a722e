"""Sampled reuse distances: their error covers the exact numbers."""

import numpy as np
import pytest

from lamcts.movement import costs
from lamcts.movement.costs.reuse import PARTS, hashed, sampled_distances

DATA = 40_000
CAPACITIES = [100, 1000, 5000, 20_000]


def skewed(n, seed=0):
    """Return accesses of which few data have most."""
    return (DATA * np.random.default_rng(seed).random(n) ** 3).astype(np.int64)


def test_the_error_covers_the_exact_misses():
    accesses = skewed(100_000)
    exact = costs.reuse_distances(accesses)
    off = []
    for seed in range(20):
        found = sampled_distances([accesses], DATA, 0.1, seed=seed)
        off.append([(found.misses(c) - exact.misses(c)) / found.misses_error(c) for c in CAPACITIES])
    off = np.abs(off)
    assert (off < 2).mean() > 0.8 and (off < 4).mean() > 0.95  # normal: 0.95 and 1
    assert off.mean() > 0.3  # an error ten times too large would cover everything


def test_a_sample_of_everything_is_exact():
    accesses = skewed(20_000)
    exact, found = costs.reuse_distances(accesses), costs.reuse_distances(accesses, sample=1.0)
    held = [0, 1, 2, *CAPACITIES]
    assert found.misses(held).tolist() == exact.misses(held).tolist()
    assert found.dmd == pytest.approx(exact.dmd) and found.cold == exact.cold
    assert len(found.samples) == PARTS and found.misses_error(100) > 0


def test_accesses_and_cold_misses_are_exact():
    accesses = skewed(20_000)
    found = costs.reuse_distances(accesses, sample=0.05)
    assert found.accesses == pytest.approx(len(accesses)) and found.cold == len(np.unique(accesses))
    assert found.misses(0) == pytest.approx(len(accesses)) and found.misses(10**9) == found.cold


def test_pieces_and_lines_do_not_change_a_sample():
    accesses = skewed(20_000)
    whole = costs.reuse_distances(accesses, sample=0.2)
    parts = sampled_distances(np.array_split(accesses, 7), int(accesses.max()) + 1, 0.2)
    assert whole.dmd == pytest.approx(parts.dmd)
    lines = costs.reuse_distances(accesses, sample=0.2, line=64)
    assert lines.misses(800) == lines.misses(100, unit="lines") and lines.misses_error(800) > 0


def test_a_nest_may_be_sampled():
    product = costs.kernels.make("matmul", N=40)
    exact, found = product.reuse_distances(), product.reuse_distances(sample=0.5)
    error = found.misses_error(500)
    assert 0 < error < 0.2 * exact.misses(500) and abs(found.misses(500) - exact.misses(500)) < 5 * error


def test_hashes_are_uniform_and_differ_by_seed():
    first, second = hashed(100_000, 0), hashed(100_000, 1)
    counts = np.bincount((first * 20).astype(int), minlength=20)
    assert counts.min() > 4600 and counts.max() < 5400 and first.min() >= 0 and first.max() < 1
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.02
