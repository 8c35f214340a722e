"""SciPy's global and derivative-free local methods.

Local ones start at the best point of the initial design, and again anywhere when they have converged; differential
evolution takes the design as its population, dual annealing its best point.
"""

import warnings

import numpy as np

from benchmarks.harness.search import Search

RADIUS = 0.25  # first step of COBYLA and COBYQA in the unit cube: their default, 1, is the whole of it


def dual_annealing(search: Search) -> None:
    from scipy import optimize

    rng, start = search.rng(), search.start()
    while search.left:
        optimize.dual_annealing(search, [(0, 1)] * search.dim, maxiter=10**6, maxfun=10**8, x0=start, rng=rng)
        start = rng.random(search.dim)


def differential_evolution(search: Search) -> None:
    from scipy import optimize

    rng, population = search.rng(), search.initial()
    while search.left:
        optimize.differential_evolution(
            search, [(0, 1)] * search.dim, init=population, maxiter=10**6, polish=False, rng=rng
        )
        population = rng.random(population.shape)


def local(search: Search, method: str) -> None:
    """Powell, COBYLA or COBYQA."""
    from scipy import optimize

    rng, start = search.rng(), search.start()
    options = {
        "Powell": {"maxfev": 10**8, "maxiter": 10**8},
        "COBYLA": {"maxiter": 10**8, "rhobeg": RADIUS},
        "COBYQA": {"maxfev": 10**8, "maxiter": 10**8, "initial_tr_radius": RADIUS},
    }[method]
    while search.left:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a run that stalls is told so, and starts again
            optimize.minimize(search, start, method=method, bounds=[(0, 1)] * search.dim, options=options)
        start = np.asarray(rng.random(search.dim))
