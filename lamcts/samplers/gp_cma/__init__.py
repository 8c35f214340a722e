"""`GpCma`: surrogate-assisted CMA-ES, the default for real parameters."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.gp_cma.session import GpCmaProgress, GpCmaSession
from lamcts.samplers.parts.session import LocalSampler
from lamcts.samplers.registry import register

__all__ = ["GpCma"]


@register("gp_cma", "CMA-ES on a Gaussian-process surrogate, for real parameters and one objective")
@dataclass(frozen=True)
class GpCma(LocalSampler):
    """Covariance matrix adaptation on a Gaussian-process surrogate, with Thompson sampling.

    One normal distribution is the search's belief, its trust region and the metric of its model. The model ranks
    generations of CMA-ES, three for ten evaluations; then a batch is drawn from the distribution by Thompson sampling.
    A run that stalls or converges is followed by another from a uniform point, which models its own evaluations.
    Closest relatives: DTS-CMA-ES (Bajer, Pitra and Holena 2019) and lq-CMA-ES (Hansen 2019). For real parameters and
    one loss.

    sigma: first step size (0.3; share of the cube); Hansen 2016 (arXiv 1604.00772, appendix B.1).
    """

    relocates: ClassVar[bool] = True
    starts_at_centre: ClassVar[bool] = True
    sigma: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.sigma <= 1:
            raise ValueError(f"GpCma: expected a share of the cube's width in (0, 1] for sigma, got {self.sigma!r}")

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> GpCmaSession:
        return GpCmaSession(self, region, seen, GpCmaProgress(rng, seen.best_row(region.rows)))
