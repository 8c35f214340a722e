"""How near to the lower bound do tilings come?

    python -m benchmarks.movement.costs.best_tilings

Exact misses of the best tilings that we know, next to both lower bounds: `loads`, which holds for the sizes at hand,
and `daap`, the bound of the paper, which is exact for large sizes. The tiles of the products and of MTTKRP follow from
the bound: the output and one input stay, the other inputs stream. Those of the convolution were found by a search of
120 evaluations. Rows go to results/best_tilings.csv.
"""

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts.movement import costs

KEY = ("kernel", "sizes", "memory")
COLUMNS = (*KEY, "order", "tiles", "misses", "loads", "daap", "ratio_loads", "ratio_daap", "versions")
Case = tuple[str, dict[str, int], int, str, dict[str, int]]
CASES: list[Case] = [
    ("matmul", {"N": 48}, 192, "ijk", {"i": 12, "j": 12, "k": 1}),
    ("matmul", {"N": 96}, 192, "ijk", {"i": 12, "j": 12, "k": 1}),
    ("mttkrp", {"N": 32, "R": 64}, 1300, "rijk", {"i": 8, "j": 8, "k": 1, "r": 64}),
    ("mttkrp", {"N": 64, "R": 128}, 1300, "rijk", {"i": 8, "j": 8, "k": 1, "r": 64}),
    (
        "conv_layer",
        {"F": 8, "C": 4, "N": 12, "k": 3},
        128,
        "cjifxy",
        {"f": 8, "c": 1, "i": 1, "j": 4, "y": 3, "x": 3},
    ),
]


def main() -> None:
    given = script.parser(__doc__, "best_tilings.csv", "the first two products")
    found = script.parsed(given)
    sheet = Sheet(found.out, KEY, COLUMNS)
    for kernel, sizes, memory, order, tiles in CASES[: 2 if found.smoke else None]:
        told = " ".join(f"{name}={size}" for name, size in sizes.items())
        if not sheet.missing([(kernel, told, memory)]):
            continue
        nest = costs.kernels.make(kernel, **sizes)
        misses, bound = nest.tiled(order, **tiles).reuse_distances().misses(memory), nest.lower_bound(memory)
        row = dict(zip(KEY, (kernel, told, memory), strict=True)) | {
            "order": order,
            "tiles": " ".join(f"{name}={size}" for name, size in tiles.items()),
            "misses": misses,
            "loads": f"{bound.loads:.0f}",
            "daap": f"{bound.daap:.0f}",
            "ratio_loads": f"{misses / bound.loads:.3f}",
            "ratio_daap": f"{misses / bound.daap:.3f}",
            "versions": versions(("lamcts", "numpy", "scipy")),
        }
        sheet.record(row)


if __name__ == "__main__":
    main()
