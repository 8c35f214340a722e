"""How many lookups a second does each table of architectures give?

    python -m benchmarks.neural.nas.lookups [--tables nasbench101 nasbench201 ...] [--folder DIR] [--points 3000]

The tables are looked for in --folder, else in the folder that LAMCTS_DATA names. Points are networks of the table,
others for each measurement, since hashes are remembered. "load" reads the table from its file, once; "call" is the
objective at a point, "key" what a search asks to know whether it has seen a network, "canonical" and "neighbours" (all
of a point) what moves and models ask. A cell is the best of --repeats, in CPU seconds of the process.
Rows go to results/lookups.csv.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts import objectives
from lamcts.neural.nas import formats

# All tables that are objectives.
NAMES = ("nasbench101", "nasbench201", "nasbench-macro", "transnas", "nasbench-graph")
KEY = ("table", "what", "points")
COLUMNS = (*KEY, "rows", "per_second", "microseconds", "versions")
NEIGHBOURS_OF = 20  # points, of each some tens of neighbours


def main() -> None:
    given = script.parser(__doc__, "lookups.csv", "a made-up table of one kind, 50 points")
    given.add_argument("--tables", nargs="+", default=NAMES, choices=NAMES)
    given.add_argument("--folder", type=Path, help="where the tables are; default: LAMCTS_DATA")
    given.add_argument("--points", type=int, default=3000)
    given.add_argument("--repeats", type=int, default=3)
    arguments = script.parsed(given, tables=["nasbench-macro"], points=50, repeats=1)
    folder = made_up() if arguments.smoke else arguments.folder
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for name in arguments.tables:
        for row in measured(sheet, name, folder, arguments.points, arguments.repeats):
            sheet.append(row)
            script.tell(sheet, row)


def measured(sheet: Sheet, name: str, folder: Path | None, points: int, repeats: int) -> Iterable[Row]:
    """Yield the rows of one table that are not there yet."""
    counts = {"call": points, "key": points, "canonical": points, "neighbours": NEIGHBOURS_OF}
    wanted = sheet.missing((name, what, count) for what, count in ({"load": 1} | counts).items())
    if not wanted:
        return
    began = time.process_time()
    f: Any = objectives.make(name, table=folder)
    f(f.cell(0))  # what is made at the first call is part of "load"
    best = {"load": time.process_time() - began}
    space, rng = f.architectures, np.random.default_rng(0)
    ways = {
        "call": f,
        "key": space.key,
        "canonical": space.canonical,
        "neighbours": lambda p: list(space.neighbours(p)),
    }
    for what, count in counts.items():
        draws = [[f.cell(int(row)) for row in rng.integers(len(f), size=count)] for _ in range(repeats)]
        best[what] = min(timed(ways[what], drawn) for drawn in draws) / count
    for _, what, count in wanted:
        row = {"table": name, "what": what, "points": count, "rows": len(f)}
        row |= {"per_second": f"{1 / best[what]:.0f}", "microseconds": f"{1e6 * best[what]:.3g}"}
        yield row | {"versions": versions(("lamcts", "numpy"))}


def timed(way: Callable[[Any], Any], points: list[Any]) -> float:
    """Return the CPU seconds that `way` takes for the points."""
    began = time.process_time()
    for point in points:
        way(point)
    return max(time.process_time() - began, 1e-9)  # a clock of coarse steps may not have moved


def made_up() -> Path:
    """Return a new folder with a table of NAS-Bench-Macro in which all values are made up."""
    folder = Path(tempfile.mkdtemp())
    ops = np.array(list(product(range(3), repeat=8)), np.int8)
    values = np.linspace(50, 90, len(ops))
    np.savez(os.fspath(folder / formats.MACRO.file), ops=ops, test_acc=np.column_stack([values] * 3))
    return folder


if __name__ == "__main__":
    main()
