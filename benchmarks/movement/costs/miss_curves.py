"""Draw the miss curves of a matrix product: as written, with the tile of the lower bound, and with the best found.

    python -m benchmarks.movement.costs.miss_curves --figure docs/misses.png

The product of two matrices of 96 x 96 doubles, in words. The tilings are those of docs/data-movement.md. Prints the
misses of each at 192 words and at 4096 words (32 KiB), and their ratio to the lower bound.
"""

from pathlib import Path

from benchmarks.harness import script
from lamcts import plot
from lamcts.movement import costs

SIZE = 96
TILES = {
    "as written": {},
    "tiles i=12, j=12, k=1": {"i": 12, "j": 12, "k": 1},
    "tiles i=48, j=48, k=1": {"i": 48, "j": 48, "k": 1},
}
MARKS = {"192 words": 192, "32 KiB": 4096}


def main() -> None:
    given = script.parser(__doc__, "misses", "a product of 12, no figure kept")
    given.add_argument("--figure", type=Path, help="file to draw")
    given.add_argument("--size", type=int, default=SIZE)
    found = script.parsed(given, size=48, figure=None)
    nest = costs.kernels.make("matmul", N=found.size)
    curves = {label: nest.tiled(**tiles).reuse_distances() for label, tiles in TILES.items()}
    for name, words in MARKS.items():
        bound = nest.lower_bound(words).loads
        for label, curve in curves.items():
            misses = curve.misses(words)
            print(f"{name:10} {label:22} {misses:10,.0f} misses, {misses / bound:.2f} x the bound {bound:,.0f}")
    figure = plot.misses(curves, levels=MARKS, nest=nest, title=f"Matrix product, N = {found.size}")
    if found.figure:
        figure.savefig(found.figure)


if __name__ == "__main__":
    main()
