"""TuRBO: Bayesian optimisation in one trust region (Eriksson et al. 2019, arXiv 1910.01739), inside any region."""

from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np

from lamcts.models.fit import Prior
from lamcts.models.local import ModelBudget
from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.base import Scope
from lamcts.samplers.parts.session import LocalSampler
from lamcts.samplers.parts.trust_region import TrustRegionState, check_sides
from lamcts.samplers.registry import register
from lamcts.samplers.turbo.session import TurboProgress, TurboSession
from lamcts.types import whole_number

MOST_START = 100  # as the largest initial design (optimizer/design.py)
PRIOR, MODEL_BUDGET = Prior(length_location=0.7), ModelBudget()  # shorter lengths than the prior's own (untuned)


@register("turbo", "trust-region Bayesian optimisation with Thompson sampling")
@dataclass(frozen=True)
class Turbo(LocalSampler):
    """A box round the best row, shaped by the length scales of a Gaussian process, grows on success, halves on failure.

    The paper is Eriksson et al. 2019 (arXiv 1910.01739), with its authors' code. Lengths are shares of the cube, and
    that of the box is the geometric mean of its sides. "Tuned": on seeds 0 to 9, as benchmarks/README.md tells. The
    portfolio takes `Turbo(length_min=2**-7, descent_share=1.0)` for its base (`registry.py`).

    With constraints one model of the loss and of all excesses is drawn from (SCBO, Eriksson and Poloczek 2021, arXiv
    2002.08526): among candidates drawn feasible the best, else the one least broken. With several objectives a draw is
    worth the volume that it adds to the front, and the box stands round rows of the front in turn
    (turbo/front.py); with two, some points are those that are expected to add most (turbo/acquisition.py).

    length: the box's at first (0.8; share of the cube); paper: the same.
    length_min: the search has converged when the box is below it (2^-10; share of the cube); tuned: at 2^-7 it gave up
        valleys that it was still going down; paper: 2^-7.
    length_max: the box's at most (1.6; share of the cube); paper: the same.
    success_tolerance: batches in a row that improve before the box doubles (3; batches); paper: the same, but an
        improvement is one of 1e-3 of |f|, not of the spread of the best rows.
    failure_tolerance: evaluations of one box in a row that do not before it halves (None: max(4, d); evaluations);
        paper: max(4 / q, d / q) batches of q points, rounded up.
    n_start: results to begin with, those that the region has among them (None: 2 d, of one loss under constraints
        d + 1, at most 100; results); the most is untuned; paper: 2 d, drawn anew at every start, where a region of the
        tree that has rows begins from these.
    descent_share: of the draws, how many are followed down their slope from the best candidate, while the others stay
        at it (0.5; share); tuned: all of them exploit the model too much, none is far slower on Ackley; paper: none.
    scope: where it looks once it has found its place ("space"; of three). "space": across the whole space; the tree
        then says where it begins and, when it has converged, where it begins again. "incumbent", as in the thesis 5.3:
        it stays in the tree's region round the incumbent. "selected": the tree selects its region, and so which search
        goes on, anew at each ask. Measured: "incumbent" was better on none of 11 problems, and worse on four.
    prior: of the model's length scales and noise (Prior(length_location=0.7); see there); untuned; paper: none, but
        length scales stay within [0.005, 2] and the noise within [5e-4, 0.2] of the losses' variance.
    model_budget: rows in the model, and the work of its fits (ModelBudget(); see there); paper: all rows of the search,
        and 50 steps of Adam from the same start at every batch.
    """

    several: ClassVar[bool] = True
    length: float = 0.8
    length_min: float = 2**-10
    length_max: float = 1.6
    success_tolerance: int = 3
    failure_tolerance: int | None = None
    n_start: int | None = None
    descent_share: float = 0.5
    scope: Scope = "space"
    prior: Prior = PRIOR
    model_budget: ModelBudget = MODEL_BUDGET

    def __post_init__(self) -> None:
        check_sides("Turbo", self.length_min, self.length, self.length_max)
        whole_number(self.success_tolerance, "Turbo: success_tolerance")
        whole_number(self.failure_tolerance, "Turbo: failure_tolerance", optional=True)
        whole_number(self.n_start, "Turbo: n_start", optional=True)
        if self.scope not in get_args(Scope):
            raise ValueError(f"Turbo: expected a scope of {', '.join(get_args(Scope))}, got {self.scope!r}")
        if not 0 <= self.descent_share <= 1:
            raise ValueError(f"Turbo: expected descent_share between 0 and 1, got {self.descent_share!r}")

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> TurboSession:
        usual = 2 * seen.dim if seen.plain or seen.f.shape[1] > 1 else seen.dim + 1  # as `optimizer.design`
        n_start = min(usual, MOST_START) if self.n_start is None else self.n_start
        rows = region.rows
        missing = 0 if region.steps and len(rows) else max(0, n_start - len(rows))  # a region of a tree is known ground
        progress = TurboProgress(rng, seen.best_row(rows), TrustRegionState(self.length, start=missing))
        return TurboSession(self, region, seen, progress)
