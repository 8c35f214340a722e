"""How large do entries of U get, and how far are the factors from the matrix, next to Dask's own LU and to SciPy's?

    python -m benchmarks.movement.linalg.growth [--sizes 256 1024] [--seeds 100-102]

Matrices are normal, uniform, normal with a first block of zeros, or ill-conditioned (condition 1e14). Methods: SciPy
(partial pivoting), `dask.array.linalg.lu` (pivots inside blocks), ours on the same Dask array in eight chunks a side,
and ours on virtual ranks. `growth` is the largest entry of U relative to the matrix, `residual` the Frobenius norm of
P A - L U relative to that of A, `largest_l` the largest entry of L. `message` holds the error of a method that failed.
Rows go to results/lu_growth.csv.
"""

from collections.abc import Callable, Iterator

import dask
import dask.array as da
import numpy as np
import scipy.linalg

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.movement import linalg

KEY = ("matrix", "N", "method", "seed")
COLUMNS = (*KEY, "growth", "residual", "largest_l", "message", "versions")
Array = np.ndarray
Factors = tuple[Array, Array, Array]  # the permuted matrix, L and U


def main() -> None:
    given = script.parser(__doc__, "lu_growth.csv", "one small matrix of each kind")
    script.many(given, "100-102")
    given.add_argument("--sizes", type=int, nargs="+", default=[256, 1024])
    arguments = script.parsed(given, seeds=[0], sizes=[64])
    dask.config.set(scheduler="sync")
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for row in measured(sheet, arguments.sizes, arguments.seeds):
        sheet.record(row)


def measured(sheet: Sheet, sizes: list[int], seeds: list[int]) -> Iterator[Row]:
    """Yield the rows that are not there yet."""
    keys = ((kind, size, method, seed) for kind in MATRICES for size in sizes for seed in seeds for method in METHODS)
    for kind, size, method, seed in sheet.missing(keys):
        a = MATRICES[kind](np.random.default_rng(seed), size)
        row = {"matrix": kind, "N": size, "method": method, "seed": seed}
        try:
            permuted, lower, upper = METHODS[method](a)
        except np.linalg.LinAlgError as error:
            row |= {"message": str(error)}
        else:
            residual = np.linalg.norm(permuted - lower @ upper) / np.linalg.norm(a)
            row |= {"growth": f"{np.abs(upper).max() / np.abs(a).max():.4g}", "residual": f"{residual:.3g}"}
            row |= {"largest_l": f"{np.abs(lower).max():.4g}"}
        yield row | {"versions": versions(("lamcts", "numpy", "scipy", "dask"))}


def zero_first_block(rng: np.random.Generator, size: int) -> Array:
    a = rng.normal(size=(size, size))
    a[: size // 8, : size // 8] = 0
    return a


def ill_conditioned(rng: np.random.Generator, size: int) -> Array:
    left, right = (np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(2))
    return (left * np.logspace(0, -14, size)) @ right


MATRICES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, size: rng.normal(size=(size, size)),
    "uniform": lambda rng, size: rng.uniform(-1, 1, size=(size, size)),
    "zero first block": zero_first_block,
    "ill-conditioned": ill_conditioned,
}


def by_scipy(a: Array) -> Factors:
    p, lower, upper = scipy.linalg.lu(a)
    return p.T @ a, lower, upper


def by_dask(a: Array) -> Factors:
    p, lower, upper = dask.compute(*da.linalg.lu(da.from_array(a, chunks=len(a) // 8)))
    return p.T @ a, lower, upper


def by_ours(a: Array) -> Factors:
    found = linalg.lu(da.from_array(a, chunks=len(a) // 8))
    perm, lower, upper = dask.compute(found.perm, found.L, found.U)
    return a[perm], lower, upper


def by_ranks(a: Array) -> Factors:
    found = linalg.lu(a, grid=(4, 4, 2), block=16)
    return a[found.perm], found.L, found.U


METHODS: dict[str, Callable[[Array], Factors]] = {
    "SciPy": by_scipy,
    "Dask": by_dask,
    "lamcts, Dask array": by_ours,
    "lamcts, 4 x 4 x 2 ranks": by_ranks,
}


if __name__ == "__main__":
    main()
