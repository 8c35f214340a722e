"""A descent in a box."""

import numpy as np
import pytest

from lamcts.models.lbfgsb import lowest
from lamcts.types import Floats

MIDDLE, STEEP = np.array([0.3, 0.9, 0.5]), np.array([1.0, 10.0, 100.0])


def bowl(x: Floats) -> tuple[float, Floats]:
    return float(STEEP @ (x - MIDDLE) ** 2), 2 * STEEP * (x - MIDDLE)


def test_it_ends_at_the_lowest_point_of_the_box() -> None:
    point, value = lowest(bowl, np.zeros(3), np.zeros(3), np.full(3, 0.6), 60)
    np.testing.assert_allclose(point, [0.3, 0.6, 0.5], atol=1e-5)
    assert value == pytest.approx(0.9)


def test_where_nothing_can_move_the_point_stays() -> None:
    fixed = np.array([0.25, 0.5, 0.5])
    assert lowest(bowl, np.zeros(3), fixed, fixed, 5)[0].tolist() == fixed.tolist()


def test_steps_are_bounded() -> None:
    few, many = (lowest(bowl, np.zeros(3), np.zeros(3), np.ones(3), steps)[1] for steps in (1, 60))
    assert few > many
