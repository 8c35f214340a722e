"""TuRBO: Bayesian optimisation in one trust region (Eriksson et al. 2019, arXiv 1910.01739), inside any region."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Supports
from lamcts.samplers.parts.session import LocalSampler
from lamcts.samplers.parts.trust_region import TrustRegionState
from lamcts.samplers.registry import register
from lamcts.samplers.turbo.session import LENGTH, TurboProgress, TurboSession
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.regions.region import Region
from lamcts.types import is_number, whole_number

MAX_START = 100  # as the largest initial design (optimizer/design.py)


@register("turbo", "trust-region Bayesian optimisation with Thompson sampling; as published by turbo:published")
@dataclass(frozen=True)
class Turbo(LocalSampler):
    """Trust-region Bayesian optimisation with Thompson sampling (TuRBO-1, SCBO).

    The trust region is a box around the best row, shaped by the length scales of a Gaussian process. It doubles after
    successes and halves after failures. All lengths are shares of the cube.

    Parameters
    ----------
    length_min : float, default 2**-10
        The search has converged when the side is below this; tuned. The paper uses 2^-7, which stops too early in
        narrow valleys.
    n_start : int or None, default None
        Number of initial results, including the rows of the region. None is 2 d, or d + 1 for one objective under
        constraints, at most 100. The paper draws 2 d new points at every start.
    descent_share : float, default 0.5
        Share of the posterior samples that are minimised by gradient from the best candidate; tuned. The paper does
        none.

    Notes
    -----
    With constraints, one model of the loss and the violations is sampled. The best candidate that a sample predicts as
    feasible is chosen, else that of the smallest violation. With several objectives, each session minimises one
    weighted value of them. "Tuned" means on seeds 0 to 9.

    References
    ----------
    Eriksson, Pearce, Gardner, Turner and Poloczek (2019), arXiv 1910.01739 (TuRBO).
    Eriksson and Poloczek (2021), arXiv 2002.08526 (SCBO).

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=lamcts.samplers.Turbo(n_start=10), seed=0)
    >>> len(opt.ask(4))
    4
    """

    version: ClassVar[int] = 6  # see lamcts.journal.settings
    supports: ClassVar[Supports] = Supports(constraints=True)
    length_min: float = 2**-10
    n_start: int | None = None
    descent_share: float = 0.5

    @classmethod
    def published(cls) -> "Turbo":
        """Return TuRBO-1 with the settings of arXiv 1910.01739: candidates alone, and an end at 2^-7.

        Differences: failures are counted in evaluations, not in batches. The hyper-parameters are the maximum a
        posteriori under BoTorch's later priors. The model includes nearby rows of other searches.
        """
        return cls(length_min=2**-7, descent_share=0.0)

    @classmethod
    def suited(cls, space: SearchSpace, goals: Goals | None, detail: str) -> "Turbo | None":
        """Return the default settings, or with "published" those of the paper; None for another detail."""
        return cls.published() if detail == "published" else None if detail else cls()

    def __post_init__(self) -> None:
        if not (is_number(self.length_min) and 0 < self.length_min < LENGTH):
            raise ValueError(f"Turbo: expected 0 < length_min < {LENGTH}, got {self.length_min!r}")
        whole_number(self.n_start, "Turbo: n_start", optional=True)
        if not (is_number(self.descent_share) and 0 <= self.descent_share <= 1):
            raise ValueError(f"Turbo: expected descent_share between 0 and 1, got {self.descent_share!r}")

    def classes(self) -> tuple[type[TurboSession], type[TurboProgress]]:
        return TurboSession, TurboProgress

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> TurboProgress:
        rows = region.rows
        n_start = self.n_start
        if n_start is None:
            n_start = min(2 * seen.dim if seen.plain else seen.dim + 1, MAX_START)  # as `optimizer.design`
        n_start = 0 if region.steps and len(rows) else max(0, n_start - len(rows))  # regions of a tree have results
        return TurboProgress(rng, seen.best_row(rows), TrustRegionState(LENGTH, n_start=n_start))
