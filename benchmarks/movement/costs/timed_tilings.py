"""Does a search of 60 compiled tilings come within 5 % of the best of a grid of 500?

    python -m benchmarks.movement.costs.timed_tilings [--size 256] [--seeds 0-4]

Tilings of a matrix product, compiled and timed: CPU seconds, the least of seven runs. The grid has the six orders,
untiled and with 83 random triples of tiles out of 1, 2, 4, ..., the size. It is timed once, and its ten best in turns
with the best tiling of each search, because the least of 500 noisy times is too good.
`over` is its time over that of the best of the grid, minus 1. Rows go to results/timed_tilings.csv.
"""

import itertools
from typing import Any

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import commit, versions
from lamcts import objectives

KEY = ("size", "seed", "budget")
COLUMNS = (*KEY, "grid_points", "grid_ms", "found_ms", "over", "untiled_ms", "point", "versions")
TRIPLES = 83  # with six orders: about 500 points
FINAL = 10  # points of the grid that are timed once more
ROUNDS = 5  # of the last timing, in turns


def main() -> None:
    given = script.parser(__doc__, "timed_tilings.csv", "a search of 8 and a grid of 12 on a product of 16")
    script.many(given, "0-4")
    given.add_argument("--size", type=int, default=256)
    given.add_argument("--budget", type=int, default=60)
    given.add_argument("--triples", type=int, default=TRIPLES)
    found = script.parsed(given, seeds=[0], size=16, budget=8, triples=2)
    sheet = Sheet(found.out, KEY, COLUMNS)
    missing = sheet.missing((found.size, seed, found.budget) for seed in found.seeds)
    if not missing:
        return
    f = objectives.make("tiling", nest="matmul", size=found.size, measure="seconds")
    points = grid(found.size, found.triples)
    best = [point for _, point in sorted(((f(point), i) for i, point in enumerate(points)))[:FINAL]]
    for size, seed, budget in missing:
        row = measure(f, [points[i] for i in best], int(seed), int(budget))
        sheet.record({"size": size, "seed": seed, "budget": budget, "grid_points": len(points)} | row)


def grid(size: int, triples: int) -> list[dict[str, Any]]:
    """Return the six orders untiled, and with random triples of tiles that are powers of two."""
    sizes = [2**i for i in range(size.bit_length()) if 2**i <= size]
    draws = np.random.default_rng(0).choice(sizes, (triples, 3))
    tiles = [(size, size, size), *map(tuple, draws.tolist())]
    return [
        {"order": order, **dict(zip(("tile_i", "tile_j", "tile_k"), each, strict=True))}
        for order in itertools.permutations("ijk")
        for each in tiles
    ]


def measure(f: Any, finalists: list[dict[str, Any]], seed: int, budget: int) -> Row:
    """Search, and time what it found in turns with the best of the grid."""
    found = lamcts.minimize(f, f.space, budget=budget, seed=seed).x
    size = f.nest.sizes["N"]
    untiled = {"order": ("i", "j", "k"), "tile_i": size, "tile_j": size, "tile_k": size}
    times = np.array([[f(point) for point in (found, untiled, *finalists)] for _ in range(ROUNDS)]).min(0)
    row = {"grid_ms": times[2:].min(), "found_ms": times[0], "untiled_ms": times[1]}
    cells: Row = {name: f"{1000 * seconds:.4g}" for name, seconds in row.items()}
    cells |= {"over": f"{times[0] / times[2:].min() - 1:.3f}", "point": str(found)}
    return cells | {"versions": f"commit {commit()} {versions(('lamcts', 'numpy'))}"}


if __name__ == "__main__":
    main()
