"""The augmented Lagrangian of the library `cma` (fmin_con2): round the first point of the design, then anywhere."""

import warnings

from benchmarks.harness.measured import MeasuredSearch
from benchmarks.peers.measured.remembered import Remembered
from lamcts.study.peers import SIGMA, pycma_options


def augmented(search: MeasuredSearch) -> None:
    import cma

    rng, start = search.rng(), search.design(1)[0]
    while search.left:
        told = Remembered(search)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cma.fmin_con2(told.loss, start, SIGMA, constraints=told.excess, options=pycma_options(rng))
        start = rng.random(search.dim)
