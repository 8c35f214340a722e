from collections import Counter

import numpy as np

from lamcts.observations import Observations
from lamcts.samplers.parts import starts
from lamcts.samplers.parts.lineage import Course, Kind, Lineage
from lamcts.samplers.parts.valleys import telling
from lamcts.samplers.uniform import Uniform
from lamcts.types import Floats


def ended(bests: list[tuple[Kind, float]], spread: int = 0) -> tuple[Observations, list[Lineage]]:
    """Return lineages of five rows each, the lowest of which is their last, and points that were spread out."""
    n, rng = 5 * len(bests), np.random.default_rng(0)
    y = np.concatenate([[best + 4, best + 3, best + 2, best + 1, best] for _, best in bests] + [np.full(spread, 50.0)])
    seen = Observations(3)
    x = rng.random((n + spread, 3))
    seen.append(x, y, np.full(len(y), np.nan), np.arange(len(y)), np.zeros(len(y), np.int64))
    lineages = [Lineage(Uniform(), seen, Course(kind=kind)) for kind, _ in bests]
    for k, one in enumerate(lineages):
        one.own.take(np.arange(5 * k, 5 * k + 5))
    return seen, lineages


def often(lineages: list[Lineage], fails: int) -> Counter[Kind]:
    rng = np.random.default_rng(1)
    return Counter(starts.kind(lineages, fails, rng) for _ in range(200))


# Kinds --------------------------------------------------------------------------------------------------------------


def test_the_trend_comes_first_until_it_has_failed_twice() -> None:
    _, lineages = ended([("anywhere", 9.0), ("trend", 8.0), ("trend", 7.0)])
    assert often(lineages, 1) == {"trend": 200}
    assert {*often(lineages, 2)} == {"trend", "kick", "anywhere"}


def test_what_lineages_end_at_decides_how_the_next_one_begins() -> None:
    begun: list[tuple[Kind, float]] = [
        ("trend", 8.0),
        ("trend", 7.0),
        ("kick", 6.0),
        ("anywhere", 1.0),
        ("anywhere", 2.0),
    ]
    _, lineages = ended([("anywhere", 9.0), *begun])
    assert starts.ranks(lineages) == {"trend": [0.0, 0.25], "kick": [0.5], "anywhere": [1.0, 0.75]}
    found = often(lineages, 5)
    assert found["anywhere"] > found["kick"] > found["trend"] > 0


def test_lineages_that_end_alike_share_their_ranks() -> None:
    _, lineages = ended([("anywhere", 9.0), ("trend", 3.0), ("kick", 3.0)])
    assert starts.ranks(lineages) == {"trend": [0.5], "kick": [0.5], "anywhere": []}


def test_a_kick_goes_as_far_as_the_nearest_other_valley() -> None:
    seen, lineages = ended([("anywhere", 9.0), ("trend", 3.0), ("trend", 5.0)])

    def lowest(k: int) -> Floats:
        return seen.x[lineages[k].incumbent]

    nearest = min(np.linalg.norm(lowest(k) - lowest(1)) for k in (0, 2))
    ways = [starts.kicked(lineages, 1, np.random.default_rng(seed)) - lowest(1) for seed in range(9)]
    assert max(np.linalg.norm(way) for way in ways) <= nearest * (1 + 1e-9)
    assert max(np.linalg.norm(way) for way in ways) > nearest * 0.99
    alone = starts.kicked(lineages[:1], 0, np.random.default_rng(0))
    assert 0 < np.linalg.norm(alone - lowest(0)) <= starts.KICK * np.sqrt(3) + 1e-9


# Rows of the trend --------------------------------------------------------------------------------------------------


def test_of_other_valleys_the_lowest_row_tells_the_trend_and_of_the_best_and_of_spread_points_all() -> None:
    seen, lineages = ended([("anywhere", 9.0), ("trend", 3.0), ("trend", 5.0)], spread=4)
    rows, bottoms = telling(seen, lineages, 1, enough=5)
    assert rows.tolist() == [*range(10), 14, *range(15, 19)]  # the first went all the way down: it keeps its rows
    assert rows[bottoms].tolist() == [4, 9, 14]
    assert rows[telling(seen, lineages, 1, enough=6)[1]].tolist() == [9]
