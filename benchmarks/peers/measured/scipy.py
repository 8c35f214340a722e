"""SciPy's COBYLA and COBYQA, which model f and each constraint: from the first point of the design, then anywhere.

Steps begin at a tenth of the unit cube, as in `lamcts.study.peers` with constraints, and end where the method's own
rule says. COBYQA first moves a start that is nearer to a side of the cube than its steps are long.
"""

import warnings
from typing import Any

import numpy as np

from benchmarks.harness.measured import MeasuredSearch
from benchmarks.peers.measured.remembered import Remembered
from lamcts.study.peers import BOUNDED_RADIUS

TOLERANCE = 0.0  # by how much a constraint may be broken: what a row calls feasible breaks none
LAST = 1e-6  # radius of the last steps; the usual 1e-4 (COBYLA) ends a percent above the goals that we measure by
OPTIONS: dict[str, dict[str, Any]] = {
    "COBYLA": {"maxiter": 10**8, "rhobeg": BOUNDED_RADIUS, "tol": LAST, "catol": TOLERANCE},
    "COBYQA": {"maxfev": 10**8, "maxiter": 10**8, "initial_tr_radius": BOUNDED_RADIUS, "feasibility_tol": TOLERANCE},
}


def local(search: MeasuredSearch, method: str) -> None:
    from scipy import optimize

    rng, start = search.rng(), search.design(1)[0]
    while search.left:
        told = Remembered(search)
        held = optimize.NonlinearConstraint(told.excess, -np.inf, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a run that stalls is told so, and starts again
            optimize.minimize(
                told.loss,
                start,
                method=method,
                bounds=[(0, 1)] * search.dim,
                constraints=[held],
                options=OPTIONS[method],
            )
        start = rng.random(search.dim)
