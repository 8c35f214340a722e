"""Does less data movement mean less time? Tilings of a compiled matrix product, by their traffic and by the clock.

    python -m benchmarks.movement.costs.movement_and_time [--size 320]

27 tilings: tiles of 8, 40 or 160 iterations in each loop, in the order i, k, j, so that the inner loop is vectorised.
Seconds are CPU time, the least of seven runs. The data movement distance (dmd) and the misses are exact, the latter of
a fully associative LRU memory with lines of 64 bytes at the capacities of first and second-level caches.
Prints Spearman's rank correlation of each with the seconds: 1 where less traffic always takes less time.
Rows go to results/movement_and_time.csv.
"""

import itertools

import numpy as np
from scipy.stats import spearmanr

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts.movement import costs

KEY = ("size", "tile_i", "tile_j", "tile_k")
MEASURES = ("dmd", "misses_32KiB", "misses_1MiB", "inner_length")
COLUMNS = (*KEY, "seconds", *MEASURES, "versions")
TILES = (8, 40, 160)
LINE = 64  # bytes


def main() -> None:
    given = script.parser(__doc__, "movement_and_time.csv", "eight tilings of a product of 16")
    given.add_argument("--size", type=int, default=320)
    given.add_argument("--tiles", type=int, nargs="+", default=list(TILES))
    found = script.parsed(given, size=16, tiles=[4, 16])
    sheet = Sheet(found.out, KEY, COLUMNS)
    nest = costs.kernels.make("matmul", N=found.size)
    for size, i, j, k in sheet.missing((found.size, *tiles) for tiles in itertools.product(found.tiles, repeat=3)):
        tiling = nest.tiled("ikj", i=i, j=j, k=k)
        distances = tiling.reuse_distances(LINE)
        row = dict(zip(KEY, (size, i, j, k), strict=True)) | {"seconds": f"{costs.seconds(tiling):.5g}"}
        row |= {"dmd": f"{distances.dmd:.6g}", "inner_length": j}
        row |= {f"misses_{name}": distances.misses(costs.words(name)) for name in ("32KiB", "1MiB")}
        sheet.record(row | {"versions": versions(("lamcts", "numpy", "scipy"))})
    report(sheet, found.size)


def report(sheet: Sheet, size: int) -> None:
    """Print the rank correlation of each measure with the seconds."""
    rows = [row for row in sheet.rows() if row["size"] == str(size)]
    columns = {name: np.array([float(row[name]) for row in rows]) for name in ("seconds", *MEASURES)}
    fastest = columns["seconds"].min()
    for name in MEASURES:
        least = columns["seconds"][columns[name].argmin()]
        correlation = spearmanr(columns[name], columns["seconds"])[0]
        print(
            f"{name:14} correlation with seconds {correlation:+.2f}; its least takes {least / fastest:.2f} x the best"
        )


if __name__ == "__main__":
    main()
