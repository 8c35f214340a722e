"""LU of Dask arrays: the results of SciPy, where Dask's own LU pivots inside blocks alone."""

import numpy as np
import pytest
import scipy.linalg
from numpy.linalg import LinAlgError

from lamcts.movement import linalg

dask = pytest.importorskip("dask", reason="dask is not installed: pip install '.[dask]'")
da = pytest.importorskip("dask.array", reason="dask is not installed: pip install '.[dask]'")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def drawn(rng: np.random.Generator) -> np.ndarray:
    """Return a matrix: regular, with a zero first block, singular, tall or wide."""
    m, n = rng.integers(5, 40, size=2)
    kind = rng.integers(5)
    if kind == 0:
        return rng.normal(size=(m, n))
    a = rng.normal(size=(m, m))
    if kind == 1:
        a[: m // 3, : m // 3] = 0
    if kind == 2:
        a[:, rng.integers(m)] = 0
    if kind == 3:
        a = rng.normal(size=(m, m // 2)) @ rng.normal(size=(m // 2, m))
    return a


@pytest.mark.dear
def test_200_matrices_have_the_products_and_solutions_of_scipy() -> None:
    rng, solved, refused = np.random.default_rng(11), 0, 0
    for _ in range(200):
        a = drawn(rng)
        m, n = a.shape
        chunks = tuple(int(rng.integers(2, side + 1)) for side in a.shape)
        lu = linalg.lu(da.from_array(a, chunks=chunks), block=int(rng.integers(1, min(m, n) + 1)))
        perm, lower, upper = dask.compute(lu.perm, lu.L, lu.U)
        p, other_lower, other_upper = scipy.linalg.lu(a)
        assert sorted(perm) == list(range(m)) and lower.shape == other_lower.shape and upper.shape == other_upper.shape
        ours = np.empty_like(a)
        ours[perm] = lower @ upper
        assert np.abs(ours - p @ other_lower @ other_upper).max() <= 1e-10
        if m != n:
            continue
        b = rng.normal(size=m)
        if not np.diagonal(upper).all():
            assert np.linalg.matrix_rank(a) < m
            with pytest.raises(LinAlgError, match=r"zero pivot in column \d+ \(step"):
                lu.solve(b).compute()
            refused += 1
        elif np.linalg.cond(a) < 1e4:
            assert np.abs(lu.solve(b).compute() - scipy.linalg.solve(a, b)).max() <= 1e-10
            solved += 1
    assert solved > 40 and refused > 15


def test_a_regular_matrix_with_a_zero_first_block_which_dask_refuses() -> None:
    a = np.random.default_rng(0).normal(size=(64, 64))
    a[:16, :16] = 0
    array = da.from_array(a, chunks=16)
    with pytest.raises(LinAlgError, match="singular"):
        da.linalg.lu(array)[2].compute()
    lu = linalg.lu(array)
    assert lu.residual < 1e-14 and lu.growth < 20


def test_rows_that_dask_leaves_in_their_blocks_are_pivots_here() -> None:
    a = np.random.default_rng(1).normal(size=(256, 256))
    array = da.from_array(a, chunks=32)
    theirs = np.abs(da.linalg.lu(array)[2].compute()).max() / np.abs(a).max()
    partial = np.abs(scipy.linalg.lu(a)[2]).max() / np.abs(a).max()
    assert theirs > 3 * partial
    assert linalg.lu(array).growth <= 2 * partial


def test_nothing_is_computed_until_a_result_is_needed() -> None:
    blocks = []

    def seen(block: np.ndarray) -> np.ndarray:
        blocks.append(block.shape)
        return block

    array = da.from_array(np.eye(12) * 2, chunks=4).map_blocks(seen, dtype=float, meta=np.empty((0, 0)))
    x = linalg.lu(array).solve(np.ones(12))
    assert blocks == []
    assert np.allclose(x.compute(), 0.5) and len(blocks) == 9


def test_right_hand_sides_may_be_dask_arrays_of_any_chunks_and_threads_may_compute() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(50, 50)), rng.normal(size=(50, 3))
    lu = linalg.lu(da.from_array(a, chunks=(17, 20)), block=9)
    with dask.config.set(scheduler="threads"):
        x = lu.solve(da.from_array(b, chunks=(13, 2))).compute()
    assert np.allclose(x, np.linalg.solve(a, b), atol=1e-10)
    whole = linalg.lu(a, grid=(1, 1, 1), block=9)
    assert lu.growth == pytest.approx(whole.growth, rel=0.5)


def test_complex_and_whole_numbers() -> None:
    rng = np.random.default_rng(4)
    a = rng.normal(size=(20, 20)) + 1j * rng.normal(size=(20, 20))
    assert np.allclose(linalg.lu(da.from_array(a, chunks=7)).solve(a.sum(1)).compute(), 1)
    whole = da.from_array(np.array([[0, 2], [4, 1]]), chunks=1)
    assert np.allclose(linalg.lu(whole).solve([2, 5]).compute(), 1)


@pytest.mark.parametrize("size", [1, 3])
def test_matrices_with_subnormal_pivots_are_factorised_and_solved(size: int) -> None:
    rng = np.random.default_rng(5)
    a, expected = rng.normal(size=(20, 20)), rng.normal(size=(20, size)).squeeze()
    small = a * 2.0**-600 * 2.0**-440
    found = linalg.lu(da.from_array(small, chunks=6))
    assert found.residual < 1e-8
    assert np.allclose(found.solve(small @ expected).compute(), expected, rtol=1e-3, atol=1e-3)
    a[:, 4] *= 1e-310
    found = linalg.lu(da.from_array(a, chunks=(4, 7)))
    assert found.residual < 1e-14 and np.abs(found.L).max().compute() < 20
    assert np.allclose(found.solve(a[:, 4]).compute(), np.eye(20)[4], atol=1e-6)


def test_bad_input() -> None:
    array = da.from_array(np.eye(6), chunks=2)
    with pytest.raises(ValueError, match="grid, comm: expected none with a Dask array"):
        linalg.lu(array, grid=(3, 1, 1))
    with pytest.raises(ValueError, match="block: expected at most 6"):
        linalg.lu(array, block=7)
    with pytest.raises(ValueError, match="a: expected a matrix of known size"):
        linalg.lu(array[0])
    with pytest.raises(ValueError, match="a: expected a matrix of known size"):
        linalg.lu(array[array[:, 0] > 0])
    with pytest.raises(LinAlgError, match="expected a square matrix, got 6 x 4"):
        linalg.lu(array[:, :4]).solve(np.ones(6))
    with pytest.raises(ValueError, match="b: expected the shape"):
        linalg.lu(array).solve(np.ones(5))
    with pytest.raises(ValueError, match="a: expected finite numbers"):
        linalg.lu(da.from_array(np.full((4, 4), np.nan), chunks=2)).U.compute()
