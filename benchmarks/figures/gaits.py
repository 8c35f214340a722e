"""Thesis figure 5.5, from our runs: which method finds the better linear policy for MuJoCo's gaits?

    python -m benchmarks.figures.gaits [--out DIR] [--problems NAME ...] [--seeds table] [--runs DIR] [--smoke]

Best return that the search has seen (a mean of few episodes: the incumbents' fresh episodes are in the tables) against
evaluations. States are standardised by ARS's statistics (NAME-ars), as in the thesis, but for the swimmer's. Reads
results/runs, runs nothing. The dotted line is the threshold of the thesis's table 5.2.
"""

from benchmarks.figures.comparison import Comparison, main

FIGURE = Comparison(
    "gaits",
    "Linear policies for MuJoCo's gaits",
    ("swimmer", "hopper-ars", "walker2d-ars", "halfcheetah-ars", "ant-ars", "humanoid-ars"),
    3,
    "best return seen",
)

if __name__ == "__main__":
    main(FIGURE, __doc__)
