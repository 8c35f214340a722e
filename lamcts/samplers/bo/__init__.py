"""GP-BO: a Gaussian process over the region and log expected improvement maximized inside it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.samplers.bo.session import BoProgress, BoSession
from lamcts.samplers.parts.session import LocalSampler
from lamcts.samplers.registry import register
from lamcts.spaces.regions.region import Region
from lamcts.types import whole_number

N_START = 5  # results to begin with (the default of Ax)


@register("bo", "Gaussian process with expected improvement, for up to some hundred evaluations")
@dataclass(frozen=True)
class GpBo(LocalSampler):
    """Bayesian optimisation with log expected improvement, for up to some hundred evaluations.

    Parameters
    ----------
    candidates : int, default 500
        Candidates for each proposal; untuned. Half are anywhere in the region, half near the incumbent or the front.
    n_start : int, default 5
        Results to begin with, the centre and random points.

    Notes
    -----
    The best candidates climb the slope of the criterion. Pending points count with their predicted losses (kriging
    believer). With constraints, improvement is multiplied by
    the probability of feasibility (Schonlau et al. 1998); before a feasible row, the violation is reduced. With up to
    four objectives the criterion is the exact expected hypervolume improvement. With more it is the improvement along
    random weights (Knowles 2006).

    References
    ----------
    Ament, Daulton, Eriksson, Balandat and Bakshy (2023), arXiv 2310.20708.

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=lamcts.samplers.GpBo(candidates=100), seed=0)
    >>> len(opt.ask(2))
    2
    """

    version: ClassVar[int] = 2  # see lamcts.optimizer.settings
    multi_output: ClassVar[bool] = True
    starts_at_centre: ClassVar[bool] = True
    candidates: int = 500
    n_start: int = N_START

    def __post_init__(self) -> None:
        whole_number(self.candidates, "GpBo: candidates")
        whole_number(self.n_start, "GpBo: n_start", least=0)

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> BoSession:
        missing = max(0, self.n_start - len(region.rows))
        return BoSession(self, region, seen, BoProgress(rng, seen.best_row(region.rows), missing))
