"""Standings that are kept as rows come are those of all rows ranked anew."""

import numpy as np
import pytest

from lamcts.outcomes.constrained_rank import (
    CHECKED,
    FAILED,
    OK,
    RERANK_ROWS,
    ViolationRanks,
    constrained_rank,
    feasible,
    violation_ranks,
)
from lamcts.outcomes.observations import Observations


def made(rng, n, m, c):
    """Return f, g, kind of n rows, with ties and gaps."""
    f = rng.integers(0, 6, (n, m)).astype(float)
    g = np.where(rng.random((n, c)) < 0.1, np.nan, rng.integers(-6, 4, (n, c)))
    kind = rng.choice([OK, FAILED, CHECKED], n, p=[0.8, 0.1, 0.1])
    f[kind != OK] = np.nan
    return f, g, kind


@pytest.mark.parametrize(
    "sizes", [[1] * 40, [3, 1, 0, 7, 1], [RERANK_ROWS + 1, 1, 1, RERANK_ROWS + 30, 2], [RERANK_ROWS]]
)
@pytest.mark.parametrize("c", [0, 1, 5])
def test_violations_that_come_in_parts_are_ranked_as_all_at_once(sizes, c):
    rng, ranks, seen = np.random.default_rng(0), ViolationRanks(c), np.empty((0, c))
    for k in sizes:
        g = np.where(rng.random((k, c)) < 0.1, np.nan, rng.integers(-3, 4, (k, c)))
        ranks.append(g)
        seen = np.vstack([seen, g])
        assert np.array_equal(ranks.totals, violation_ranks(seen))


def test_rows_wait_until_they_are_asked_for():
    rng = np.random.default_rng(1)
    ranks, g = ViolationRanks(3), rng.standard_normal((RERANK_ROWS + 5, 3))
    for row in g:
        ranks.append(row[None])
    assert np.array_equal(ranks.totals, violation_ranks(g))


@pytest.mark.parametrize(("m", "c"), [(1, 1), (1, 4), (2, 0), (2, 3), (3, 1)])
def test_what_observations_keep_is_what_all_rows_come_to(m, c):
    rng = np.random.default_rng(2)
    seen = Observations(2, losses=m, constraints=c)
    for k in [1, 1, 5, 0, 80, 1, 1, 1, 60, 2]:
        f, g, kind = made(rng, k, m, c)
        none = np.zeros(k, np.int64)
        seen.append(rng.random((k, 2)), f, np.zeros(k), none, none, g, kind)
        assert np.array_equal(seen.y, constrained_rank(seen.f, seen.g, seen.kind), equal_nan=True)
        assert np.array_equal(seen.feasible, feasible(seen.g, seen.kind))
