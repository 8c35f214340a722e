"""What LU refuses, and the words with which it does."""

import numpy as np
import pytest
from numpy.linalg import LinAlgError

from lamcts.movement import linalg
from lamcts.movement.linalg.comm import Post, VirtualComm, run_ranks

SQUARE = np.random.default_rng(0).normal(size=(12, 12))


def test_a_singular_matrix_has_factors_and_its_solve_names_the_step() -> None:
    a = SQUARE.copy()
    a[:, 7] = 0
    lu = linalg.lu(a, (2, 2, 1), 3)
    assert lu.residual < 1e-15
    with pytest.raises(LinAlgError, match=r"zero pivot in column 7 \(step 3 of 4\)"):
        lu.solve(np.ones(12))


def test_a_solve_needs_a_square_matrix() -> None:
    with pytest.raises(LinAlgError, match="expected a square matrix, got 12 x 5"):
        linalg.lu(SQUARE[:, :5]).solve(np.ones(12))


@pytest.mark.parametrize("b", [np.ones(11), np.ones((12, 2, 2)), 1.0])
def test_right_hand_sides_have_the_rows_of_the_matrix(b: object) -> None:
    with pytest.raises(ValueError, match=r"b: expected the shape \(12,\) or \(12, k\)"):
        linalg.lu(SQUARE).solve(b)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_entries_are_finite(bad: float) -> None:
    a = SQUARE.copy()
    a[3, 4] = bad
    with pytest.raises(ValueError, match="a: expected finite numbers"):
        linalg.lu(a)


@pytest.mark.parametrize("a", [np.ones(4), np.ones((2, 2, 2)), np.ones((0, 3)), 1.0])
def test_a_matrix_has_rows_and_columns(a: object) -> None:
    with pytest.raises(ValueError, match="a: expected a matrix of one row and column or more"):
        linalg.lu(a)


def test_entries_are_numbers() -> None:
    with pytest.raises(ValueError, match="a: expected numbers, got"):
        linalg.lu([["a", "b"], ["c", "d"]])


@pytest.mark.parametrize("grid", [(2, 2), 4, "best", (1, 2, 3, 4)])
def test_a_grid_has_three_numbers(grid: object) -> None:
    with pytest.raises(ValueError, match=r"grid: expected three whole numbers \(px, py, pz\)"):
        linalg.lu(SQUARE, grid=grid)


@pytest.mark.parametrize("grid", [(0, 1, 1), (1, -1, 1), (1, 1, 1.5)])
def test_the_numbers_of_a_grid_are_positive(grid: object) -> None:
    with pytest.raises(ValueError, match="grid: expected a whole number of at least 1"):
        linalg.lu(SQUARE, grid=grid)


@pytest.mark.parametrize("block", [13, 100])
def test_a_block_fits_into_the_matrix(block: int) -> None:
    with pytest.raises(ValueError, match="block: expected at most 12, the smaller side of the matrix"):
        linalg.lu(SQUARE, block=block)


@pytest.mark.parametrize("block", [0, -1, 2.5, True])
def test_a_block_is_a_positive_whole_number(block: object) -> None:
    with pytest.raises(ValueError, match="block: expected a whole number"):
        linalg.lu(SQUARE, block=block)


def test_a_grid_fits_the_ranks_that_there_are() -> None:
    class Two:
        def Get_size(self) -> int:
            return 2

    with pytest.raises(
        ValueError, match=r"grid: expected px \* py \* pz = 2, the number of ranks, got 2 \* 2 \* 1 = 4"
    ):
        linalg.lu(SQUARE, grid=(2, 2, 1), comm=Two())


def test_a_program_that_waits_for_ever_is_an_error_that_names_the_ranks() -> None:
    post = Post(2)
    comms = [VirtualComm(post, rank, 1) for rank in range(2)]
    with pytest.raises(RuntimeError, match=r"got none for \(source, rank\) in \[\(0, 1\), \(1, 0\)\]"):
        run_ranks(post, [comms[0].receive(1), comms[1].receive(0)])
