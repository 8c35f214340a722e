"""Descent on quadratic models of a loss and its constraints: fast along narrow valleys and boundaries.

A trust-region method of the kind of Powell's (COBYLA 1994, NEWUOA 2006), with a Bayesian polynomial as interpolation.
Every row nearby counts, and results may be late or missing. Further points of a batch descend posterior samples. The
box begins over the whole cube, where the model is the trend of all rows, and ends narrow, as a Taylor polynomial.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import MultiOutputSupport
from lamcts.samplers.parts.session import LocalSampler
from lamcts.samplers.parts.trust_region import TrustRegionState, check_sides
from lamcts.samplers.quadratic.session import LENGTH_MAX, QuadraticProgress, QuadraticSession
from lamcts.samplers.registry import register
from lamcts.spaces.regions.region import Region
from lamcts.types import whole_number

# Tuned: on seeds 0 to 9, as benchmarks/notes/portfolio.md tells.
MAX_ROWS = 500  # in the model: a step in 6000 dimensions stays below a second
MIN_ROWS_PER_DIM = 10  # for each parameter: what the model had before it was given the rows of a whole curvature
RESTART_SIDE = 0.25  # of the first side, where a search begins from a draw: as COBYLA's half cube (untuned)


@register("quadratic", "trust-region descent on a quadratic model")
@dataclass(frozen=True)
class Quadratic(LocalSampler):
    """Trust-region descent on quadratic models, of the kind of COBYLA and NEWUOA (Powell 1994, 2006).

    Each step goes to the minimum of a quadratic model of the loss within a box around the best row, where models of the
    constraints satisfy them by a margin. The box grows after successes and shrinks after failures.

    Parameters
    ----------
    length : float, default 2.0
        First side of the box, as a share of the cube; untuned. 2 covers the cube from any point.
    length_min : float, default 1e-9
        The search has converged when the side is below this share of the cube; tuned.
    failure_tolerance : int, default 3
        Evaluations in a row without improvement before the side halves; tuned.
    rows : int or None, default None
        Largest number of rows in the model, the nearest first; tuned. None is (d + 1)(d + 2), twice the unknowns of a
        quadratic polynomial, from 10 d to 500. NEWUOA keeps 2 d + 1.

    Notes
    -----
    The models use rows within eight times the box, at least 2 d + 1. "Tuned" means on seeds 0 to 9, see
    benchmarks/notes/portfolio.md.

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=lamcts.samplers.Quadratic(rows=40), seed=0)
    >>> len(opt.ask(4))
    4
    """

    version: ClassVar[int] = 2  # see lamcts.optimizer.settings
    multi_output: ClassVar[MultiOutputSupport] = "constraints"
    length: float = 2.0
    length_min: float = 1e-9
    failure_tolerance: int = 3
    rows: int | None = None

    def __post_init__(self) -> None:
        check_sides("Quadratic", self.length_min, self.length, LENGTH_MAX)
        whole_number(self.failure_tolerance, "Quadratic: failure_tolerance")
        whole_number(self.rows, "Quadratic: rows", optional=True)

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> QuadraticSession:
        best, box = seen.best_row(region.rows), TrustRegionState(self.length)
        if best is None:  # nothing known, or all of it searched: the next optimum should be another
            box.length *= RESTART_SIDE
        since = len(seen) if best is None else 0
        return QuadraticSession(self, region, seen, QuadraticProgress(rng, best, box, best, since))

    def most_rows(self, d: int, within: int) -> int:
        """Return the number of rows in the model of `d` parameters, of which `within` are within reach."""
        most = self.rows or min(max(MIN_ROWS_PER_DIM * d, (d + 1) * (d + 2)), MAX_ROWS)
        return min(most, max(2 * d + 1, within))
