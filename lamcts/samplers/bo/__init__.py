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
    """Log expected improvement (arXiv 2310.20708) by candidates and polishing; for up to some hundred evaluations.

    Pending points count as if their losses had come out as expected (kriging believer), which spreads a batch.

    With constraints it is improvement times the chance that all are kept (Schonlau et al. 1998), and until a row keeps
    them by how much less is broken; with up to four objectives the expected hypervolume improvement, exactly; with more
    the improvement along random weights (Knowles 2006). Processes: models/multi_output.py.

    n_start: results to begin with, those that the region has among them (None: d + 1, at most 50; results); untuned.
    candidates: points looked at for each proposal, half of them anywhere in the region, half near the incumbent, or
        rows of the front (500; points); untuned; paper: the thesis (5.3) draws all round the rows inside.
    local_search_rounds: rounds of shrinking moves from the best of the candidates (10; rounds); untuned; paper: the
        thesis takes the best candidate as it is, Ament et al. climb the gradient.
    prior: of the model's length scales and noise (Prior(); see there); Hvarfner et al. 2024.
    model_budget: rows in the model, and the work of its fits (ModelBudget(); see there).
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
