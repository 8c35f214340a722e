"""Searches that learn nothing: the yardstick for all others."""

import numpy as np

from benchmarks.harness.search import Search


def uniform(search: Search) -> None:
    """Uniform draws from the seed alone: what `random` was when results/shifted.csv was made."""
    search.first()
    search.many(search.objective.space.sample(search.left, np.random.default_rng(search.seed)))


def sobol(search: Search) -> None:
    """The initial design, gone on with to the end."""
    search.many(search.initial(search.budget))
