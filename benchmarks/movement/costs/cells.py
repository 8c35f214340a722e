"""Does the traffic between the operations of a network cell tell its latency?

    python -m benchmarks.movement.costs.cells --write  # the columns that lamcts ships for all 15,625 cells
    python -m benchmarks.movement.costs.cells          # rank correlations with the latencies of 27 devices

The graph of a cell has a map for each operation on a path from input to output and one for each addition. `io_maps` is
the least number of maps that a memory of few maps loads again or stores, averaged over memories of 3 to 8 maps;
`operations` counts the operations. Rows go to results/cell_costs.csv: Spearman's rank correlation of each cost with the
measured latency, the median over devices, and the share of the variance of the logarithm of the latency that a linear
fit explains (R^2). Needs the tables of NAS-Bench-201 in the folder LAMCTS_DATA.
"""

import itertools
import os
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

import lamcts.neural.nas
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts import objectives
from lamcts.movement import costs
from lamcts.movement.costs.spills import CAPACITIES

FILE = Path(lamcts.neural.nas.__file__).with_name("nasbench201_io.npz")
SPACE = lamcts.neural.nas.NasBench201()
COLUMNS = ("cost", "devices", "median_spearman", "least_spearman", "r2", "versions")
Floats = NDArray[np.float64]


def main() -> None:
    given = script.parser(__doc__, "cell_costs.csv", "the costs of some cells")
    given.add_argument("--write", action="store_true", help="write the columns")
    found = script.parsed(given)
    if found.smoke:
        print([cost(cell) for cell in [(0, 1, 2, 3, 4, 2), (3, 3, 3, 3, 3, 3)]])
    elif found.write:
        cells = np.array(list(itertools.product(range(5), repeat=6)))
        columns = np.zeros((5**6, 2), np.uint8)
        columns[cells @ 5 ** np.arange(6)] = [cost(tuple(cell)) for cell in cells.tolist()]
        np.savez_compressed(FILE, io_maps=columns[:, 0] / len(CAPACITIES), operations=columns[:, 1])
        print(f"written to {FILE.name}: {FILE.stat().st_size:,} bytes")
    else:
        correlate(Sheet(found.out, ("cost",), COLUMNS))


def cost(numbers: tuple[int, ...]) -> tuple[int, int]:
    """Return the spills of a cell, summed over the capacities, and its operations."""
    nodes, edges, inputs = SPACE.graphs(SPACE.point(numbers))["cell"]
    graph = tuple(map(tuple, costs.cell(nodes, edges, inputs)))
    return spilled(graph), sum(len(read) == 1 for read in graph)


@cache
def spilled(graph: tuple[tuple[int, ...], ...]) -> int:
    return sum(costs.least_spills(graph, capacity).total for capacity in CAPACITIES)


def correlate(sheet: Sheet) -> None:
    """Write and print how each cost ranks the latencies."""
    folder = os.environ["LAMCTS_DATA"]
    f = objectives.make("nasbench201", table=folder, latency=folder)
    latencies = np.array([values for name, values in f.others.items() if name.endswith("_measured_ms")])  # [27, N]
    good = np.isfinite(latencies).all(0)
    logs = np.log(latencies[:, good])
    measures: dict[str, list[str]] = {
        "io_maps": ["io_maps"], "operations": ["operations"], "mflops": ["mflops"],
        "mflops, io_maps": ["mflops", "io_maps"],
        "mflops, operations": ["mflops", "operations"], "all three": ["mflops", "operations", "io_maps"],
    }  # fmt: skip
    for name, columns in measures.items():
        values = np.array([np.asarray(f.others[column], float)[good] for column in columns])
        found = [float(spearmanr(values[0], row)[0]) for row in logs] if len(columns) == 1 else []
        row = {
            "cost": name, "devices": len(logs), "r2": f"{np.median([explained(values, row) for row in logs]):.2f}",
            "median_spearman": f"{np.median(found):.2f}" if found else "",
            "least_spearman": f"{min(found):.2f}" if found else "", "versions": versions(("lamcts", "numpy", "scipy")),
        }  # fmt: skip
        if sheet.missing([(name,)]):
            sheet.append(row)
        sheet.show(row)


def explained(columns: Floats, target: Floats) -> float:
    """Return the R^2 of a linear fit, columns [k, n]."""
    design = np.vstack([columns, np.ones(len(target))]).T
    residual = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return float(1 - residual.var() / target.var())


if __name__ == "__main__":
    main()
