"""Thesis figure 5.7, from our runs: all methods on the four functions of the thesis, in 20 and 100 dimensions.

    python -m benchmarks.figures.synthetic [--out DIR] [--rotated] [--seeds table] [--runs DIR] [--smoke]

Regret of the best so far against evaluations, on a logarithmic scale. Every function is moved by the run's seed (in the
thesis the optima lie where many methods start), with `--rotated` turned as well. Reads results/runs, runs nothing.
"""

from benchmarks import problems
from benchmarks.figures.comparison import Comparison, main

FIGURE = Comparison(
    "synthetic",
    "Four functions, shifted",
    tuple(f"{name}-{dim}" for dim in (20, 100) for name in problems.NAMES),
    4,
)

if __name__ == "__main__":
    main(FIGURE, __doc__)
