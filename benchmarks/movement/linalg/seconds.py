"""How much more CPU time than Dask's own LU, which pivots inside blocks alone, does ours take on the same Dask array?

    python -m benchmarks.movement.linalg.seconds [--sizes 512 1024 2048] [--chunks 8] [--repeats 5]

All run in one process on one thread, in turn within each repeat; a time is the least CPU time of the repeats, graph and
factors included. `ratio` is relative to `dask.array.linalg.lu`. The goal: at most 3.
Rows go to results/lu_seconds.csv.
"""

import time
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

KEY = ("N", "chunks", "method")
COLUMNS = (*KEY, "cpu_seconds", "ratio", "versions")
Array = np.ndarray


def main() -> None:
    given = script.parser(__doc__, "lu_seconds.csv", "one small matrix")
    given.add_argument("--sizes", type=int, nargs="+", default=[512, 1024, 2048])
    given.add_argument("--chunks", type=int, default=8, help="chunks a side")
    given.add_argument("--repeats", type=int, default=5)
    arguments = script.parsed(given, sizes=[64], repeats=1)
    dask.config.set(scheduler="sync")
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for row in measured(sheet, arguments.sizes, arguments.chunks, arguments.repeats):
        sheet.record(row)


def measured(sheet: Sheet, sizes: list[int], chunks: int, repeats: int) -> Iterator[Row]:
    """Yield the rows of each size that is not there yet."""
    for size, _, _ in sheet.missing((size, chunks, "Dask") for size in sizes):
        a = np.random.default_rng(size).normal(size=(size, size))
        array = da.from_array(a, chunks=-(-size // chunks))
        methods: dict[str, Callable[[], object]] = {
            "SciPy": lambda a=a: scipy.linalg.lu(a),
            "lamcts": lambda array=array: ours(array),
            "Dask": lambda array=array: dask.compute(*da.linalg.lu(array)),
        }
        times = [{name: timed(run) for name, run in methods.items()} for _ in range(repeats)]
        least = {name: min(one[name] for one in times) for name in methods}
        for name, seconds in least.items():
            yield {
                "N": size,
                "chunks": chunks,
                "method": name,
                "cpu_seconds": f"{seconds:.4g}",
                "ratio": f"{seconds / least['Dask']:.3g}",
                "versions": versions(("lamcts", "numpy", "scipy", "dask")),
            }


def ours(array: object) -> object:
    """Compute the factors."""
    found = linalg.lu(array)
    return dask.compute(found.perm, found.L, found.U)


def timed(run: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    began = time.process_time()
    run()
    return max(time.process_time() - began, 1e-9)


if __name__ == "__main__":
    main()
