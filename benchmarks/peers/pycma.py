"""CMA-ES of the library `cma` with restarts in a doubled population (Auger and Hansen 2005, IPOP).

The first run of `ipop` starts at the best point of the initial design, later ones anywhere. Population and stopping
rules are the library's. From `DIAGONAL` dimensions on its covariance is diagonal: in full it would not fit into memory.
"""

import warnings
from typing import Any

import numpy as np

from benchmarks.harness.search import Search

SIGMA = 0.3  # of the unit cube: the library's own advice, a third to a fifth of the range
DIAGONAL = 1000


def plain(search: Search) -> None:
    """From a uniform point; a run that ends starts again elsewhere, in a population of the same size."""
    import cma

    search.first()
    rng = np.random.default_rng(search.seed)
    while search.left:
        strategy = cma.CMAEvolutionStrategy(rng.uniform(size=search.dim), SIGMA, library_options(rng))
        while not strategy.stop():
            x = strategy.ask()
            strategy.tell(x, list(search.many(x)))


def ipop(search: Search) -> None:
    import cma

    rng = search.rng()
    options = library_options(rng) | {"CMA_diagonal": search.dim >= DIAGONAL}
    start, population = search.start(), None
    while search.left:
        if population:
            options["popsize"] = population
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            strategy = cma.CMAEvolutionStrategy(start, SIGMA, options)
        while not strategy.stop():
            x = strategy.ask()
            strategy.tell(x, list(search.many(x)))
        start, population = rng.random(search.dim), 2 * strategy.popsize


def library_options(rng: np.random.Generator) -> dict[str, Any]:
    """Return the library's options for draws from `rng` inside the unit cube."""
    # The library seeds numpy's global generator unless it is given draws, and no seed.
    return {"bounds": [0, 1], "verbose": -9, "seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape)}
