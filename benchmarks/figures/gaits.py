"""Thesis figure 5.5, from our runs: which method finds the better linear policy for MuJoCo's gaits?

    python -m benchmarks.figures.gaits [--out DIR] [--problems NAME ...] [--seeds table] [--runs DIR] [--smoke]

Best return that the search has seen (a mean of few episodes: the incumbents' fresh episodes are in the tables) against
evaluations. Reads results/runs, runs nothing. The dotted line is the threshold of the thesis's table 5.2.
"""

from benchmarks.figures.comparison import Comparison, main

FIGURE = Comparison(
    "gaits",
    "Linear policies for MuJoCo's gaits",
    ("swimmer", "hopper", "walker2d", "halfcheetah", "ant", "humanoid"),
    3,
    "best return seen",
)

if __name__ == "__main__":
    main(FIGURE, __doc__)
