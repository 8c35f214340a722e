"""Descent on quadratic models of a loss and its constraints: fast along narrow valleys and boundaries.

A trust-region method of the kind of Powell's (COBYLA 1994, NEWUOA 2006), with a Bayesian polynomial as interpolation.
All nearby rows are used, and results may be late or missing. Further points of a batch descend posterior samples. The
first box is the cube, where the model is the trend of all rows. In a narrow box the model is a Taylor polynomial.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Supports
from lamcts.samplers.parts.session import LocalSampler
from lamcts.samplers.parts.trust_region import TrustRegionState
from lamcts.samplers.quadratic.session import LENGTH_MAX, QuadraticProgress, QuadraticSession
from lamcts.samplers.registry import register
from lamcts.spaces.regions.region import Region

RESTART_SIDE = 0.25  # share of the first side for a search from a draw: half the cube, as COBYLA


@register("quadratic", "trust-region descent on a quadratic model")
@dataclass(frozen=True)
class Quadratic(LocalSampler):
    """Trust-region descent on quadratic models, of the kind of COBYLA and NEWUOA (Powell 1994, 2006).

    Each step goes to the minimum of a quadratic model of the loss within a box around the best row, where models of the
    constraints satisfy them by a margin. The box grows after successes and shrinks after failures.

    Notes
    -----
    The models use the nearest rows within eight times the box: at least 2 d + 1, as NEWUOA, and at most (d + 1)(d + 2),
    twice the unknowns of a quadratic polynomial, from 10 d to 500.

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=lamcts.samplers.Quadratic(), seed=0)
    >>> len(opt.ask(4))
    4
    """

    version: ClassVar[int] = 6  # see lamcts.journal.settings
    supports: ClassVar[Supports] = Supports(constraints=True)

    def classes(self) -> tuple[type[QuadraticSession], type[QuadraticProgress]]:
        return QuadraticSession, QuadraticProgress

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> QuadraticProgress:
        best = seen.best_row(region.rows)
        box = TrustRegionState(LENGTH_MAX)
        if best is None:  # no rows, or another search has converged: the next optimum should differ
            box.length *= RESTART_SIDE
        elif reach := float(np.abs(seen.x[region.rows] - seen.x[best]).max()):  # the box contains the rows
            box.length = min(4 * reach, LENGTH_MAX)
        since = len(seen) if best is None else 0
        return QuadraticProgress(rng, best, box, best, since)
