"""GP-BO: a Gaussian process over the region and log expected improvement maximized inside it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamcts.models.fit import Prior
from lamcts.models.local import ModelBudget
from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.bo.session import BoProgress, BoSession
from lamcts.samplers.parts.session import LocalSampler
from lamcts.samplers.registry import register
from lamcts.types import whole_number

MOST_START = 50  # results to begin with (untuned)
PRIOR, MODEL_BUDGET = Prior(), ModelBudget()


@register("bo", "Gaussian process with expected improvement, for up to some hundred evaluations")
@dataclass(frozen=True)
class GpBo(LocalSampler):
    """Bayesian optimisation with log expected improvement, for up to some hundred evaluations.

    Parameters
    ----------
    n_start : int or None, default None
        Results to begin with, the rows of the region included; untuned. None is d + 1, at most 50.
    candidates : int, default 500
        Candidates for each proposal; untuned. Half are anywhere in the region, half near the incumbent or the front.
    local_search_rounds : int, default 10
        Rounds of shrinking random moves from the best candidates; untuned. Ament et al. climb the gradient instead.
    prior : Prior, default Prior()
        Priors of length scales and noise (Hvarfner et al. 2024).
    model_budget : ModelBudget, default ModelBudget()
        Rows of the model and work of its fits.

    Notes
    -----
    Pending points count with their predicted losses (kriging believer). With constraints, improvement is multiplied by
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

    several: ClassVar[bool] = True
    n_start: int | None = None
    candidates: int = 500
    local_search_rounds: int = 10
    prior: Prior = PRIOR
    model_budget: ModelBudget = MODEL_BUDGET

    def __post_init__(self) -> None:
        whole_number(self.n_start, "GpBo: n_start", optional=True)
        whole_number(self.candidates, "GpBo: candidates")
        whole_number(self.local_search_rounds, "GpBo: local_search_rounds", least=0)

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> BoSession:
        n_start = min(seen.dim + 1, MOST_START) if self.n_start is None else self.n_start
        missing = max(0, n_start - len(region.rows))
        return BoSession(self, region, seen, BoProgress(rng, seen.best_row(region.rows), missing))
