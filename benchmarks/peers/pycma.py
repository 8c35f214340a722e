"""CMA-ES of the library `cma`, with restarts.

ipop: each in a doubled population (Auger and Hansen 2005). bipop: besides, as many evaluations again in small
populations from small steps (Hansen 2009). lq: as ipop, helped by a model of all rows, linear to quadratic (Hansen
2019). Their first run starts at the best point of the initial design, later ones anywhere. Population and stopping
rules are the library's. From `DIAGONAL` dimensions on its covariance is diagonal: in full it would not fit into memory.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.search import Floats, Search

SIGMA = 0.3  # of the unit cube: the library's own advice, a third to a fifth of the range
DIAGONAL = 1000
RESTARTS = 10**6  # more than any budget has room for


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


def bipop(search: Search) -> None:
    import cma

    rng = search.rng()
    options, places = library_options(rng) | {"CMA_diagonal": search.dim >= DIAGONAL}, starts(search, rng)
    np.random.seed(search.seed)  # noqa: NPY002 -- small populations and steps come from the global generator
    _again(search, lambda: cma.fmin2(search, places, SIGMA, dict(options), restarts=RESTARTS, bipop=True))


def lq(search: Search) -> None:
    import cma

    rng = search.rng()
    options, places = library_options(rng), starts(search, rng)
    np.random.seed(search.seed)  # noqa: NPY002 -- the models' own draws come from there
    _again(search, lambda: cma.fmin_lq_surr2(search, places, SIGMA, dict(options), restarts=RESTARTS))


def starts(search: Search, rng: np.random.Generator) -> Callable[[], Floats]:
    """Evaluate the initial design and return a function that gives its best point, and then points anywhere."""
    given = iter([search.start()])
    return lambda: next(given, rng.random(search.dim))


def _again(search: Search, run: Callable[[], object]) -> None:
    while search.left:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()


def library_options(rng: np.random.Generator) -> dict[str, Any]:
    """Return the library's options for draws from `rng` inside the unit cube."""
    # The library seeds numpy's global generator unless it is given draws, and no seed.
    return {"bounds": [0, 1], "verbose": -9, "seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape)}
