"""CMA-ES of the library `cma`, with restarts.

bipop: restarts in doubled populations (Auger and Hansen 2005), and as many evaluations again in small populations from
small steps (Hansen 2009). Its covariance is diagonal from `diagonal` dimensions on: in 1,000 the full one would not fit
into memory. lq: helped by a model of all rows, linear to quadratic (Hansen 2019). Their first run starts at the best
point of the initial design, later ones anywhere. Population and stopping rules are the library's.
"""

import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.harness.search import Floats, Search
from lamcts.study.peers import DIAGONAL, SIGMA, pycma_options

RESTARTS = 10**6  # more than any budget has room for


def plain(search: Search) -> None:
    """From a uniform point; a run that ends starts again elsewhere, in a population of the same size."""
    import cma

    search.first()
    rng = np.random.default_rng(search.seed)
    while search.left:
        strategy = cma.CMAEvolutionStrategy(rng.uniform(size=search.dim), SIGMA, pycma_options(rng))
        while not strategy.stop():
            x = strategy.ask()
            strategy.tell(x, list(search.many(x)))


def bipop(search: Search, diagonal: int = DIAGONAL) -> None:
    import cma

    rng = search.rng()
    options, places = pycma_options(rng) | {"CMA_diagonal": search.dim >= diagonal}, starts(search, rng)
    np.random.seed(search.seed)  # noqa: NPY002 -- small populations and steps come from the global generator
    _again(search, lambda: cma.fmin2(search, places, SIGMA, dict(options), restarts=RESTARTS, bipop=True))


def lq(search: Search) -> None:
    import cma

    rng = search.rng()
    options, places = pycma_options(rng), starts(search, rng)
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
