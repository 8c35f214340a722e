"""The phases of `GpCma` on a rippled loss: search, close-up, crossing, and another run."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from lamcts.samplers.gp_cma import GpCma
from lamcts.spaces import Box
from lamcts.testing.search import Search
from lamcts.types import Floats

RIPPLED = Box(-5.0, 5.0, dim=3)


def rastrigin(x: Floats) -> float:
    """Return the loss of a point of the cube: a minimum at 0.53, and others all round it."""
    z = 10 * (x - 0.53)
    return float(np.sum(z * z - 10 * np.cos(2 * np.pi * z) + 10))


def phase(search: Search) -> str:
    progress: Any = search.session.progress  # type: ignore[attr-defined]
    if progress.distribution is None:
        return "start"
    return "crossing" if progress.crossing else "close-up" if progress.close else "search"


def test_a_close_up_is_a_fourth_as_wide_round_the_best_row_and_grows_no_wider() -> None:
    search = Search(GpCma(), RIPPLED, 0, given=1, loss=rastrigin)
    met, before = 0, math.inf
    for _ in range(160):
        was = phase(search)
        numbers = search.ask(1)
        own: Any = search.session.progress  # type: ignore[attr-defined]
        if phase(search) == "close-up" and was == "search":
            met += 1
            assert own.distribution.longest < before / 2
            assert own.distribution.widest >= own.distribution.longest
            assert own.trend.longest <= 2 * before
            rows = np.arange(own.born, len(search.seen))
            rows = rows[np.linalg.norm(own.trend.whiten(search.seen.x[rows]), axis=1) <= 3 * 3**0.5]
            best = search.seen.x[rows[np.argmin(search.seen.y[rows])]]
            assert np.linalg.norm(own.distribution.whiten(best[None])) < 3
        search.tell(numbers)
        if own.distribution is not None:
            before = own.distribution.longest
            assert before <= own.distribution.widest * (1 + 1e-9)
    assert met > 0


def test_a_crossing_changes_one_coordinate_of_the_best_point() -> None:
    search, met = Search(GpCma(), RIPPLED, 0, given=1, loss=rastrigin), 0
    for _ in range(160):
        numbers = search.ask(1)
        if phase(search) == "crossing":
            met += 1
            best = search.seen.x[search.session.incumbent]
            assert np.count_nonzero(search.seen.pending[numbers[0]] != best) == 1
        search.tell(numbers)
    assert met > 5


def test_a_crossing_that_finds_something_is_followed_by_a_close_up_and_another_one_by_the_trend() -> None:
    search, met = Search(GpCma(), RIPPLED, 7, given=1, loss=rastrigin), list[bool]()
    for _ in range(200):
        was = phase(search)
        numbers = search.ask(1)
        own: Any = search.session.progress  # type: ignore[attr-defined]
        if was == "crossing" and phase(search) != "crossing":
            met.append(np.nanmin(search.seen.y) < own.polished)
            assert (phase(search) == "close-up") == met[-1]
            width = own.distribution.longest / own.trend.longest
            assert width == pytest.approx(1 / 16, rel=1e-6) if met[-1] else 1 / 4 < width <= 2
        search.tell(numbers)
    assert set(met) == {True, False}


def test_a_run_that_has_come_to_its_end_is_followed_by_another_elsewhere() -> None:
    search = Search(GpCma(), Box(0.0, 1.0, dim=6), 0, given=1)  # its bowl is solved in some dozens of points
    own: Any = search.session.progress  # type: ignore[attr-defined]
    away = list[float]()
    for _ in range(300):
        born = own.born
        search.go(1, 1)
        if own.born != born:
            assert own.born == len(search.seen) - 1
            away.append(float(np.abs(own.distribution.mean - 0.3).max()))
    assert len(away) >= 2
    assert max(away) > 0.35


def test_each_evaluation_without_progress_counts() -> None:
    search = Search(GpCma(), RIPPLED, 0, given=10, loss=lambda x: 1.0)
    own: Any = search.session.progress  # type: ignore[attr-defined]
    counts = list[int]()
    for _ in range(20):
        search.go(1, 7)
        counts.append(own.since)
    assert {b - a for a, b in pairwise(counts) if b > a} == {7}
    assert counts.count(0) > 1  # another run, another scale
