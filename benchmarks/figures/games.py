"""Thesis figure 5.6, from our runs: the lander and the rover; and the pushing hands, which the thesis does not have.

    python -m benchmarks.figures.games [--out DIR] [--problems NAME ...] [--seeds table] [--runs DIR] [--smoke]

Best value that the search has seen (the lander's on its training terrains) against evaluations. Reads results/runs,
runs nothing. The dotted line is the problem's target (benchmarks/problems.py).
"""

from benchmarks.figures.comparison import Comparison, main

FIGURE = Comparison(
    "games", "Lunar lander, rover trajectory, robot pushing", ("lunar", "rover", "push"), 3, "best reward seen"
)

if __name__ == "__main__":
    main(FIGURE, __doc__)
