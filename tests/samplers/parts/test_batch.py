import numpy as np
import pytest

import lamcts
from lamcts.outcomes.observations import Observations
from lamcts.samplers.parts.session import Batch, bisect_into
from lamcts.samplers.quadratic import session
from lamcts.samplers.quadratic.session import distances
from lamcts.spaces import Box, Int, Space
from lamcts.spaces.base import distance
from lamcts.spaces.regions.region import Region, Step
from lamcts.testing.samplers import Ball, Slope

CUBE = Box(np.zeros(2), np.ones(2))
NONE = np.empty(0, np.int64)


def seen_with(x: list[list[float]], y: list[float], source: list[int]) -> Observations:
    seen = Observations(len(x[0]))
    seen.append(np.array(x), np.array(y), np.zeros(len(x)), np.arange(len(x)), np.array(source))
    return seen


def test_a_batch_takes_what_is_inside_fresh_and_new_to_it_while_there_is_room() -> None:
    seen = seen_with([[0.1, 0.1]], [1.0], [-1])
    seen.expect(7, np.array([0.2, 0.2]))
    region = Region(CUBE, (Step(Slope(np.array([-1.0, 0.0]), 0.5), True),), NONE)  # x0 <= 0.5
    batch = Batch(region, seen, 3)
    x = np.array([[0.1, 0.1], [0.2, 0.2], [0.9, 0.1], [0.3, 0.3], [0.3, 0.3], [0.4, 0.4]])
    assert batch.take(x).tolist() == [False, False, False, True, False, True]
    assert batch.missing == 1
    assert batch.take(np.array([[0.4, 0.4], [0.1, 0.9], [0.2, 0.9]])).tolist() == [False, True, False]
    assert not batch.open


def test_a_batch_of_a_spent_space_stays_short() -> None:
    space = Space([Int(0, 1), Int(0, 2)])
    seen = Observations(2)
    batch = Batch(Region(space, (), NONE), seen, 10)
    batch.fill(np.random.default_rng(0))
    assert len(np.unique(batch.x, axis=0)) == len(batch.x) == 6
    assert not batch.open


def test_filling_depends_on_the_state_of_the_generator_alone() -> None:
    """A restored generator has lost the seed sequence that scipy draws from."""
    batches = []
    for bits in (np.random.PCG64(1), np.random.PCG64(2)):
        bits.state = np.random.PCG64(3).state
        batch = Batch(Region(CUBE, (), NONE), Observations(2), 5)
        batch.fill(np.random.Generator(bits))
        batches.append(batch.x)
    assert np.array_equal(*batches)


def test_points_outside_are_pulled_half_way_until_they_are_inside() -> None:
    anchor = np.array([0.5, 0.5])
    region = Region(CUBE, (Step(Ball(anchor, 0.11), True),), NONE)
    pulled = bisect_into(np.array([[0.9, 0.5], [0.55, 0.5], [0.5, 0.1]]), anchor, region)
    np.testing.assert_allclose(pulled, [[0.6, 0.5], [0.55, 0.5], [0.5, 0.4]])


def test_a_point_that_cannot_be_pulled_inside_stays_outside() -> None:
    region = Region(CUBE, (Step(Ball(np.array([0.5, 0.5]), 0.1), True),), NONE)
    assert not region.contains(bisect_into(np.array([[0.9, 0.9]]), np.array([0.8, 0.8]), region)).any()


@pytest.mark.parametrize(("rows", "current", "expected"), [([0, 1, 2, 3], None, 2), ([0, 1], 2, 2), ([1], None, None)])
def test_the_leader_is_the_earliest_of_the_lowest_losses(rows: list[int], current: int, expected: int) -> None:
    seen = seen_with([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3], [0.4, 0.4]], [2.0, np.nan, 1.0, 1.0], [-1, -1, 5, -1])
    assert seen.best_row(rows, current) == expected


@pytest.mark.parametrize("chunk", [1, 3, 7, 2000])
def test_distances_are_squared_euclidean_and_largest_by_coordinate(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "DISTANCE_BLOCK", chunk)
    x = np.random.default_rng(0).random((7, 3))
    seen = seen_with(x.tolist(), [0.0] * 7, [-1] * 7)
    rows, point = np.array([6, 0, 3, 3, 1]), np.array([0.2, 0.9, 0.4])
    squares, largest = distances(seen, rows, point)
    np.testing.assert_allclose(squares, [((x[row] - point) ** 2).sum() for row in rows], rtol=1e-12)
    np.testing.assert_array_equal(largest, [np.abs(x[row] - point).max() for row in rows])
    np.testing.assert_array_equal(seen.x, x)  # which stay as they were


def test_of_no_rows_there_are_no_distances() -> None:
    squares, largest = distances(seen_with([[0.1, 0.1]], [1.0], [-1]), NONE, np.zeros(2))
    assert len(squares) == len(largest) == 0


@pytest.mark.parametrize("options", [{}, {"objectives": ["a", "b"]}, {"constraints": ["g <= 0"]}])
def test_a_second_plate_before_any_value_fills_what_the_first_has_left(options):
    space = {"mix": lamcts.Simplex(["resin", "filler", "solvent"]), "kind": lamcts.Choice(["a", "b"])}
    for seed in range(3):
        opt = lamcts.Optimizer(space, seed=seed, **options)
        plates = [opt.space.encode(trial.point) for _ in range(3) for trial in opt.ask(8)]
        gaps = [distance(x[None], np.array(plates[:i])).min() for i, x in enumerate(plates) if i >= 8]
        assert min(gaps) > 0.1
