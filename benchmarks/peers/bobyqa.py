"""Py-BOBYQA with `seek_global_minimum` (Cartis, Roberts and Sheridan-Methven 2022): quadratic models in trust regions,
which are moved and widened when one has converged. It starts at the best point of the initial design, and again
anywhere when it has given up. First radius and all else as the library has them.

The library is under the GPL: nothing of ours depends on it, and who wants this peer installs it by hand.
"""

import warnings

import numpy as np

from benchmarks.harness.search import Search


def seek(search: Search) -> None:
    import pybobyqa

    rng, start = search.rng(), search.start()
    box = np.zeros(search.dim), np.ones(search.dim)
    np.random.seed(search.seed)  # noqa: NPY002 -- its random directions come from the global generator
    while search.left:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of budgets that are nearly used up
            pybobyqa.solve(search, start, bounds=box, maxfun=search.left, seek_global_minimum=True, do_logging=False)
        start = rng.random(search.dim)
