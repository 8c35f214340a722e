"""How many accesses a second do exact reuse distances take, compared with one stable argsort of the same trace?

    python -m benchmarks.movement.costs.reuse [--lengths 100000 1000000 10000000] [--repeats 5]

The argsort is the floor of every method that sorts a trace to find the previous access to each datum. Traces: random
accesses to a tenth as many data, a matrix product in the order i, j, k, and a 3 x 3 convolution of an image. Seconds
are CPU seconds of the process, the least of --repeats, all measured in turn. Bytes are the peak of what numpy allocates
for the distances, without the trace itself. "nest" measures a nest from its text to its distances, without its steady
state. Rows go to results/reuse.csv.
"""

import math
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.movement import costs
from lamcts.types import Rows

TRACES = ("random", "matmul", "convolution")
KEY = ("trace", "length")
COLUMNS = (
    *KEY,
    "accesses",
    "data",
    "per_second",
    "argsort_per_second",
    "nest_per_second",
    "bytes_an_access",
    "versions",
)


def main() -> None:
    given = script.parser(__doc__, "reuse.csv", "traces of 2,000 accesses")
    given.add_argument("--traces", nargs="+", default=TRACES, choices=TRACES)
    given.add_argument("--lengths", nargs="+", type=int, default=[10**5, 10**6, 10**7], help="accesses, about")
    given.add_argument("--repeats", type=int, default=5)
    arguments = script.parsed(given, lengths=[2000], repeats=1)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for trace, length in sheet.missing((t, n) for n in arguments.lengths for t in arguments.traces):
        sheet.record(measured(trace, length, arguments.repeats))


def measured(trace: str, length: int, repeats: int) -> Row:
    """Return the row of one trace."""
    nest = nest_of(trace, length)
    addresses = random_accesses(length) if nest is None else nest.addresses().astype(np.int64)
    ways: dict[str, Callable[[], object]] = {
        "per_second": lambda: costs.reuse_distances(addresses),
        "argsort_per_second": lambda: np.argsort(addresses, kind="stable"),
    }
    if nest is not None:
        ways["nest_per_second"] = lambda: nest.reuse_distances(steady=False)
    best = dict.fromkeys(ways, math.inf)
    for _ in range(repeats):
        best = {name: min(best[name], seconds(way)) for name, way in ways.items()}
    row = {"trace": trace, "length": length, "accesses": len(addresses), "data": len(np.unique(addresses))}
    row |= {name: f"{len(addresses) / spent:.0f}" for name, spent in best.items()}
    row |= {"bytes_an_access": f"{peak_bytes(ways['per_second']) / len(addresses):.1f}"}
    return row | {"versions": versions(("lamcts", "numpy"))}


def nest_of(trace: str, length: int) -> costs.Nest | None:
    """Return a kernel of about `length` accesses, None for the random trace."""
    if trace == "matmul":
        return costs.kernels.make("matmul", N=round((length / 4) ** (1 / 3)))
    if trace == "convolution":
        return costs.kernels.make("conv2d", N=round(math.sqrt(length / 36)) + 2, k=3)
    return None


def random_accesses(length: int) -> Rows:
    """Return uniform accesses to a tenth as many data."""
    return np.random.default_rng(0).integers(0, length // 10, length)


def seconds(way: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    began = time.process_time()
    way()
    return max(time.process_time() - began, 1e-9)  # a clock of coarse steps may not have moved


def peak_bytes(way: Callable[[], object]) -> int:
    """Return the peak of what one call allocates."""
    tracemalloc.start()
    way()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


if __name__ == "__main__":
    main()
