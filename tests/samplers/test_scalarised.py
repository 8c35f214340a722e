"""Several columns as one number."""

import numpy as np

from lamcts.observations import Observations
from lamcts.samplers.parts.one_number import scale_of


def test_a_lone_feasible_row_leaves_no_unit_of_its_own() -> None:
    def number(factor: float) -> np.ndarray:
        seen = Observations(1, constraints=1)
        none, f = np.zeros(3, np.int64), np.array([[3.0], [5.0], [11.0]]) * factor
        seen.append(np.array([[0.1], [0.2], [0.3]]), f, np.zeros(3), none, none, np.array([[-1.0], [1.0], [2.0]]))
        scale = scale_of(seen, np.ones(1))
        return scale.of(f - factor, np.full((3, 1), -1.0), none)

    assert np.array_equal(number(1.0), number(8.0)) and np.array_equal(number(1.0), number(2.0**-30))


def test_rows_that_are_all_equal_have_the_unit_of_their_size() -> None:
    seen, none = Observations(1, losses=2), np.zeros(1, np.int64)
    seen.append(np.array([[0.5]]), np.array([[3.0, 0.0]]), np.zeros(1), none, none)
    assert scale_of(seen, np.ones(2)).spread == [4.0, 1.0]
