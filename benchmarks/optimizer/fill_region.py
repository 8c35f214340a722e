"""Are draws inside deep regions quick, inside, and well spread?

    python -m benchmarks.optimizer.fill_region [--dims 5 20 100 500] [--seeds 3]

A tree of exactly `depth` splits grows over random rows of shifted Ackley; good and bad sides are taken in turn, so that
the region is too small. Each way of `lamcts.spaces.regions.fill` draws 1000 points there. `seconds` are of
CPU, one thread. `away` is the median distance from a point to the nearest row inside, `own` that from a row to the
next row: points should be as far from the rows as the rows are from each other, not heaped on them. `inside` is the
share of points inside, asked of the region afterwards; anything below 1 is a defect.
Rows go to results/fill_region.csv.
"""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks import problems
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.outcomes.observations import Observations
from lamcts.spaces.regions.fill import fill
from lamcts.spaces.regions.region import Region
from lamcts.tree import KMeansSvm, LatentTree

KEY = ("how", "kernel", "dim", "depth", "rows", "seed")
COLUMNS = (
    *KEY, "splits", "rows_inside", "supports", "points", "used", "acceptance", "seconds", "inside", "away",
    "own", "versions",
)  # fmt: skip
SHOWN = (
    "how", "kernel", "dim", "rows", "splits", "rows_inside", "supports", "used", "seconds", "inside", "away", "own",
)  # fmt: skip
WAYS, KERNELS = ("auto", "walk", "boxes"), ("rbf", "linear")
WANTED = 1000
LEAST_INSIDE = 5  # rows, so that their own distances mean something


def main() -> None:
    given = script.parser(__doc__, "fill_region.csv", "3 dimensions, depth 4, 1 seed")
    given.add_argument("--dims", type=int, nargs="+", default=[5, 20, 100, 500])
    given.add_argument("--depth", type=int, default=10)
    given.add_argument("--rows", type=int, nargs="+", default=[5000, 20000])
    given.add_argument("--seeds", type=int, default=3, help="how many")
    arguments = script.parsed(given, dims=[3], depth=4, rows=[300], seeds=1)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    print(*(f"{name[:10]:>10}" for name in SHOWN))
    for dim, n, seed, kernel in product(arguments.dims, arguments.rows, range(arguments.seeds), KERNELS):
        keys = [(how, kernel, dim, arguments.depth, n, seed) for how in WAYS]
        for row in measured(sheet.missing(keys)):
            sheet.append(row)
            print(*(f"{row[name]:>10}" for name in SHOWN))


def measured(keys: list[Any]) -> Iterator[Row]:
    """Yield the rows of keys that share a region."""
    if keys:
        region, seen = deep_region(*keys[0][1:])
        yield from (measure(region, seen, key) for key in keys)


def deep_region(kernel: str, dim: int, depth: int, n: int, seed: int) -> tuple[Region, Observations]:
    """Return a region `depth` splits deep (fewer where rows run out) and the rows seen."""
    objective = problems.shifted("ackley", dim)
    x = np.random.default_rng(seed).random((n, dim))
    y = objective.many(np.array([objective.space.decode(row) for row in x]))
    seen, unclaimed = Observations(dim), np.full(n, -1)
    seen.append(x, y, np.full(n, np.nan), unclaimed, unclaimed)
    tree = LatentTree(height=depth, splitter=KMeansSvm(kernel=kernel))
    node, steps = tree.incremental(objective.space, seen, seed).root(), ()
    while node.kids:
        turn = len(steps) % 2
        wanted = turn if len(node.kids[turn].rows) >= LEAST_INSIDE * 2 ** (depth - len(steps) - 1) else 1 - turn
        if len(node.kids[wanted].rows) < LEAST_INSIDE:
            break
        steps, node = (*steps, node.steps()[wanted]), node.kids[wanted]
    return node.region(steps), seen


def measure(region: Region, seen: Observations, key: tuple[str, str, int, int, int, int]) -> Row:
    """Return the record of one draw."""
    fill(region, 1, np.random.default_rng(0), seen, key[0])  # imports are not timed
    start = time.process_time()
    drawn = fill(region, WANTED, np.random.default_rng(key[-1]), seen, key[0])
    seconds = time.process_time() - start
    rows = seen.x[region.rows]
    row = dict(zip(KEY, key, strict=True)) | {"splits": len(region.steps)}
    supports = sum(len(getattr(split, "support", ())) for split, _ in region.steps)
    row |= {"rows_inside": len(rows), "supports": supports, "points": len(drawn.x), "used": drawn.how}
    row |= {"acceptance": f"{drawn.acceptance:.4f}", "seconds": f"{seconds:.3f}"}
    row |= {"inside": float(region.contains(drawn.x).mean()) if len(drawn.x) else ""}
    row |= {"away": f"{np.median(cdist(drawn.x, rows).min(1)):.4f}" if len(drawn.x) else ""}
    row |= {"own": f"{np.median(np.sort(cdist(rows, rows), axis=1)[:, 1]):.4f}"}
    return row | {"versions": versions(["numpy", "scipy", "scikit-learn"])}


if __name__ == "__main__":
    main()
