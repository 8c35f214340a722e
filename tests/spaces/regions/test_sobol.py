import numpy as np
import pytest

from lamcts.spaces.regions.sobol import MAX_DIMENSIONS, latin_hypercube, sobol


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 64, 100])
def test_any_number_of_points_comes_without_a_warning(n: int) -> None:
    x = sobol(n, 5, rng())
    assert x.shape == (n, 5)
    assert x.dtype == np.float64
    assert ((x >= 0) & (x < 1)).all()


def test_no_point_and_one_dimension_are_fine() -> None:
    assert sobol(0, 3, rng()).shape == (0, 3)
    assert sobol(8, 1, rng()).shape == (8, 1)


def test_points_repeat_with_the_random_numbers_and_change_with_them() -> None:
    assert sobol(20, 4, rng(1)).tolist() == sobol(20, 4, rng(1)).tolist()
    assert sobol(20, 4, rng(1)).tolist() != sobol(20, 4, rng(2)).tolist()
    generator = rng(1)
    assert sobol(20, 4, generator).tolist() != sobol(20, 4, generator).tolist()


def test_sixty_four_points_hit_every_sixty_fourth_of_every_coordinate_once() -> None:
    x = sobol(64, 10, rng())
    assert (np.sort((64 * x).astype(int), axis=0) == np.arange(64)[:, None]).all()


def test_a_prefix_is_a_prefix_of_the_same_sequence() -> None:
    assert sobol(100, 3, rng())[:64].tolist() == sobol(64, 3, rng()).tolist()


def test_a_latin_hypercube_has_one_point_in_every_slice() -> None:
    x = latin_hypercube(30, 7, rng())
    assert (np.sort((30 * x).astype(int), axis=0) == np.arange(30)[:, None]).all()
    assert (x[:, 0] != x[:, 1]).any()
    assert latin_hypercube(0, 3, rng()).shape == (0, 3)


def test_beyond_the_table_of_direction_numbers_a_latin_hypercube_takes_over() -> None:
    x = sobol(4, MAX_DIMENSIONS + 1, rng())
    assert x.shape == (4, MAX_DIMENSIONS + 1)
    assert (np.sort((4 * x).astype(int), axis=0) == np.arange(4)[:, None]).all()


def test_the_table_ends_where_scipy_says() -> None:
    from scipy.stats import qmc

    assert qmc.Sobol.MAXDIM == MAX_DIMENSIONS
