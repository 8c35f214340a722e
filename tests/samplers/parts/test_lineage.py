from types import SimpleNamespace

import numpy as np
import pytest

from lamcts.observations import Observations
from lamcts.samplers.parts.lineage import Course, Lineage
from lamcts.samplers.parts.own_rows import OwnRows
from lamcts.samplers.uniform import Uniform


@pytest.mark.parametrize(
    ("losses", "pace"),
    [
        ([10.0] * 4 + [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0], "moving"),
        ([10.0] * 4 + [9.0, 8.0, 7.0, 6.0, 5.9, 5.8, 5.7, 5.6], "slow"),
        ([10.0] * 4 + [9.0, 8.0, 7.0, 6.0, 5.99, 5.98, 5.97, 5.96], "still"),
        ([10.0] * 4 + [9.0, 8.0, 7.0, 6.0, 5.999, 5.999, 5.999, 5.999], "stuck"),
        ([10.0] * 4 + [6.0] * 8, "stuck"),
        ([10.0] * 4 + [9.0, 8.0, 7.0, 6.0], "moving"),  # too few results to tell
    ],
)
def test_the_pace_of_a_search_is_told_by_its_last_two_windows(losses: list[float], pace: str) -> None:
    n, seen = len(losses), Observations(2)
    seen.append(np.full((n, 2), 0.5), np.array(losses), np.full(n, np.nan), np.arange(n), np.zeros(n, np.int64))
    one = Lineage(Uniform(), seen, Course())
    one.own.take(np.arange(n))
    assert one.pace(4, good=40.0, first=100.0) == pace


@pytest.mark.parametrize(
    ("leapt", "way", "pace"), [(3.0, 0.1, "moving"), (6.0, 0.1, "slow"), (np.inf, 0.1, "slow"), (3.0, 0.001, "slow")]
)
def test_a_search_that_finds_valleys_along_parameters_moves(leapt: float, way: float, pace: str) -> None:
    losses = [10.0] * 4 + [9.0, 8.0, 7.0, 6.0, 5.9, 5.8, 5.7, 5.6]
    n, seen = len(losses), Observations(2)
    x = 0.5 + way * np.arange(n)[:, None] / n * np.array([1.0, 0.0])
    seen.append(x, np.array(losses), np.full(n, np.nan), np.arange(n), np.zeros(n, np.int64))
    one = Lineage(Uniform(), seen, Course())
    one.own.take(np.arange(n))
    one.session = SimpleNamespace(leapt=leapt, done=False)  # type: ignore[assignment]
    assert one.pace(4, good=40.0, first=100.0) == pace


def test_a_lineage_reaches_as_far_as_gains_that_shrink_go_on_to() -> None:
    seen, y = Observations(2), np.array([8.0, 8.0, 4.0, 4.0, 2.0, 2.0])
    seen.append(np.full((6, 2), 0.5), y, np.full(6, np.nan), np.arange(6), np.zeros(6, np.int64))
    one = Lineage(Uniform(), seen, Course([0.5, 0.5]))
    one.own.take(np.arange(4))
    assert one.reach(2) == -np.inf
    one.own.take(np.arange(4, 6))
    assert one.reach(2) == pytest.approx(-1.0)  # 2 - 0.6 (2 + 0.6 (2 + ...: 1/2 would be the least that it is held to


def test_own_rows_are_numbered_anew_and_what_is_known_is_known_of_all() -> None:
    seen = Observations(2)
    x = np.random.default_rng(0).random((4, 2))
    seen.append(x, np.array([3.0, np.nan, 1.0, 2.0]), np.full(4, np.nan), np.arange(4), np.zeros(4, np.int64))
    own = OwnRows(seen)
    assert own.take(np.array([1, 3])).tolist() == [0, 1]
    assert (own.best, own.number(own.best), own.good.tolist()) == (1, 3, [1])
    assert own.unseen(x).tolist() == [False] * 4
    assert own.distinct == 4
