"""LU with tournament pivoting on virtual ranks: factors, pivots, growth, solutions."""

import numpy as np
import pytest
import scipy.linalg

from lamcts.movement import linalg

GRIDS = [((1, 1, 1), 8), ((4, 1, 1), 8), ((2, 2, 1), 8), ((4, 4, 2), 8), ((3, 2, 2), 5), ((8, 1, 1), 1), ((2, 3, 4), 3)]


def matrix(kind: str) -> np.ndarray:
    """Return a matrix of a kind that is hard for some LU."""
    rng = np.random.default_rng(7)
    normal = rng.normal(size=(64, 64))
    left, right = (np.linalg.qr(rng.normal(size=(64, 64)))[0] for _ in range(2))
    first = normal.copy()
    first[:16, :16] = 0
    wilkinson = np.tril(-np.ones((40, 40)), -1) + np.eye(40)
    wilkinson[:, -1] = 1
    repeated = normal.copy()
    repeated[20], repeated[:, 5] = repeated[3], 0
    return {
        "random": normal,
        "complex": normal + 1j * rng.normal(size=(64, 64)),
        "ill-conditioned": left * np.logspace(0, -17, 64) @ right,
        "Hilbert": scipy.linalg.hilbert(64),
        "zero first block": first,
        "Wilkinson": wilkinson,
        "permuted": np.eye(64)[rng.permutation(64)],
        "rows of many scales": normal * 10.0 ** rng.integers(-10, 10, size=(64, 1)),
        "tall": rng.normal(size=(100, 37)),
        "wide": rng.normal(size=(37, 100)),
        "rank 20": rng.normal(size=(64, 20)) @ rng.normal(size=(20, 64)),
        "whole numbers of rank 7": (rng.integers(-3, 4, size=(64, 7)) @ rng.integers(-3, 4, size=(7, 64))).astype(
            float
        ),
        "equal rows and a zero column": repeated,
        "few entries": (rng.random((64, 64)) < 0.02).astype(float),
        "ones": np.ones((64, 64)),
        "zeros": np.zeros((64, 64)),
    }[kind]


KINDS = ["random", "complex", "ill-conditioned", "Hilbert", "zero first block", "Wilkinson", "permuted", "tall", "wide"]
KINDS += ["rows of many scales", "rank 20", "whole numbers of rank 7", "equal rows and a zero column", "few entries"]
KINDS += ["ones", "zeros"]


DEAR = ["Wilkinson", "permuted", "rows of many scales", "rank 20", "few entries", "ones", "zeros", "Hilbert"]


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.dear] * (kind in DEAR)) for kind in KINDS])
def test_the_factors_give_the_matrix_back(kind: str) -> None:
    a = matrix(kind)
    for grid, block in GRIDS:
        lu = linalg.lu(a, grid, block)
        assert lu.residual <= 1e-14 * min(a.shape)
        assert sorted(lu.perm) == list(range(len(a)))
        assert np.array_equal(lu.L, np.tril(lu.L)) and np.array_equal(lu.U, np.triu(lu.U))
        assert np.array_equal(np.diagonal(lu.L), np.ones(min(a.shape)))
        assert np.abs(lu.L).max() < 100  # no pivot far smaller than what it eliminates


def test_the_residual_is_not_small_for_other_factors() -> None:
    a = matrix("random")
    lu = linalg.lu(a, (2, 2, 1), 8)
    other = linalg.LU(a, lu.perm[::-1], lu.L, lu.U, lu.words, lu.grid, lu.block)
    assert other.residual > 0.1


@pytest.mark.dear
def test_growth_is_at_most_three_times_that_of_partial_pivoting_on_200_matrices() -> None:
    rng, ratios = np.random.default_rng(3), []
    for _ in range(200):
        a = rng.normal(size=(96, 96)) if rng.random() < 0.7 else rng.uniform(-1, 1, size=(96, 96))
        grid, block = [((6, 1, 1), 16), ((4, 2, 1), 8), ((3, 1, 2), 12)][rng.integers(3)]
        partial = np.abs(scipy.linalg.lu(a)[2]).max() / np.abs(a).max()
        ratios.append(linalg.lu(a, grid, block).growth / partial)
    assert max(ratios) <= 3
    assert np.median(ratios) < 1.3


def test_one_rank_pivots_as_lapack_does() -> None:
    a = matrix("random")
    swaps = scipy.linalg.lu_factor(a)[1]
    order = np.arange(64)
    for i, other in enumerate(swaps):
        order[[i, other]] = order[[other, i]]
    assert np.array_equal(linalg.lu(a, block=64).perm, order)
    assert np.array_equal(linalg.lu(a, block=8).perm, order)


@pytest.mark.parametrize("kind", ["random", "complex", "zero first block", "permuted"])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_solutions_are_those_of_numpy(kind: str, columns: tuple[int, ...]) -> None:
    a = matrix(kind)
    b = np.random.default_rng(1).normal(size=(64, *columns))
    for grid, block in GRIDS[1:4]:
        x = linalg.lu(a, grid, block).solve(b)
        assert x.shape == b.shape
        assert np.allclose(x, np.linalg.solve(a, b), rtol=1e-9, atol=1e-11)


def test_layers_and_grid_columns_change_rounding_alone() -> None:
    a = matrix("random")
    perms = {tuple(linalg.lu(a, (2, py, 1), 8).perm) for py in (1, 2, 3, 8)}
    assert len(perms) == 1  # the tournament has the same ranks along the rows


def test_more_ranks_than_blocks_leave_some_without_work() -> None:
    a = np.random.default_rng(0).normal(size=(9, 9))
    lu = linalg.lu(a, (4, 4, 4), 2)
    assert lu.residual < 1e-15 and sorted(lu.perm) == list(range(9))


def test_whole_numbers_and_lists_are_matrices_too() -> None:
    assert np.allclose(linalg.lu([[0, 2], [4, 1]]).solve([2, 5]), [1, 1])
    assert linalg.lu(np.array([[True, False], [True, True]])).U.dtype == float


@pytest.mark.parametrize("size", [1e300, 1e-300, 5e-324, 0.0])
def test_the_residual_of_numbers_of_any_size_is_that_of_usual_ones(size: float) -> None:
    matrix = np.array([[2.0, 1.0, 3.0], [4.0, -1.0, 1.0], [1.0, 5.0, 2.0]])
    found = linalg.lu(matrix * size)
    assert np.isfinite(found.residual) and found.residual <= (1e-15 if size > 1e-310 else 1.0)


def subnormal(kind: str, number: type) -> np.ndarray:
    """Return a matrix with subnormal numbers, real or complex."""
    rng = np.random.default_rng(2)
    a = rng.normal(size=(24, 24)) + (1j * rng.normal(size=(24, 24)) if number is complex else 0)
    if kind == "whole":
        return a * 2.0**-600 * 2.0**-450
    if kind == "pivot":
        a = np.triu(a)
        a[7, 7] = a[16, 16] = 1e-312
    if kind == "zero and subnormal columns":
        a[:, 4] = 0
    a[:, {"first column": [0], "columns": [5, 6, 17], "zero and subnormal columns": [5]}.get(kind, [])] *= 1e-310
    return a[:, :9] if kind == "columns" else a


@pytest.mark.parametrize("number", [float, complex])
@pytest.mark.parametrize("kind", ["whole", "first column", "columns", "pivot", "zero and subnormal columns"])
def test_subnormal_columns_and_pivots_are_eliminated_as_others(kind: str, number: type) -> None:
    """SciPy's factors are finite; where subnormal numbers follow others, those of some LAPACK are wrong."""
    a = subnormal(kind, number)
    for grid, block in [((1, 1, 1), None), *GRIDS[2:]]:
        lu = linalg.lu(a, grid, None if block is None else min(block, 9))
        assert np.abs(lu.L).max() < 20 and lu.residual < (1e-6 if kind == "whole" else 1e-13)


@pytest.mark.parametrize("number", [float, complex])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_systems_with_subnormal_pivots_are_solved_if_the_solution_is_finite(number: type, columns: tuple) -> None:
    expected = np.random.default_rng(1).normal(size=(24, *columns))
    whole = subnormal("whole", number)
    for grid, block in GRIDS[:3]:
        assert np.allclose(linalg.lu(whole, grid, block).solve(whole @ expected), expected, rtol=1e-3, atol=1e-3)
        for kind, column in (("first column", 0), ("pivot", 7)):
            a = subnormal(kind, number)
            assert np.allclose(linalg.lu(a, grid, block).solve(a[:, column]), np.eye(24)[column], atol=1e-6)


def test_masked_and_sparse_matrices_and_what_is_no_communicator_are_refused() -> None:
    from scipy.sparse import eye

    with pytest.raises(ValueError, match=r"expected a matrix without a mask, got a masked array; fill it"):
        linalg.lu(np.ma.masked_array(np.eye(3), mask=np.eye(3, dtype=bool)))
    with pytest.raises(ValueError, match=r"expected a dense matrix, got a sparse one; take scipy.sparse.linalg.splu"):
        linalg.lu(eye(3))
    with pytest.raises(ValueError, match=r"comm: expected a communicator of mpi4py, .* got 3"):
        linalg.lu(np.eye(3), comm=3)
