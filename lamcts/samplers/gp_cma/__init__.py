"""`GpCma`: surrogate-assisted CMA-ES, the default for real parameters."""

from dataclasses import dataclass
from typing import ClassVar

from lamcts.samplers.base import Supports
from lamcts.samplers.gp_cma.session import GpCmaProgress, GpCmaSession
from lamcts.samplers.parts.session import LocalSampler
from lamcts.samplers.registry import register
from lamcts.types import is_number

__all__ = ["GpCma"]


@register("gp_cma", "CMA-ES on a Gaussian-process surrogate, for real parameters and one objective")
@dataclass(frozen=True)
class GpCma(LocalSampler):
    """Covariance matrix adaptation on a Gaussian-process surrogate, with Thompson sampling.

    For real parameters and one objective without constraints; the default there.

    Parameters
    ----------
    sigma : float, default 0.3
        First step size, as a share of the cube's width (Hansen 2016, arXiv 1604.00772, appendix B.1).

    Notes
    -----
    A normal distribution is the search distribution, the trust region and the metric of the model. The model ranks
    generations of CMA-ES, three for ten evaluations. Then Thompson sampling chooses a batch among draws of the
    distribution. A run that stalls or converges is followed by a run from a uniform point, which models its own
    evaluations. Closest relatives: DTS-CMA-ES (Bajer, Pitra and Holena 2019) and lq-CMA-ES (Hansen 2019).

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=lamcts.samplers.GpCma(sigma=0.2), seed=0)
    >>> len(opt.ask(2))
    2
    """

    version: ClassVar[int] = 6  # see lamcts.journal.settings
    supports: ClassVar[Supports] = Supports(centre=True)
    sigma: float = 0.3

    def __post_init__(self) -> None:
        if not (is_number(self.sigma) and 0 < self.sigma <= 1):
            raise ValueError(f"GpCma: expected a share of the cube's width in (0, 1] for sigma, got {self.sigma!r}")

    def classes(self) -> tuple[type[GpCmaSession], type[GpCmaProgress]]:
        return GpCmaSession, GpCmaProgress
