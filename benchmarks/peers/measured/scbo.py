"""SCBO (Eriksson and Poloczek 2021) of BoTorch's parts, as in its tutorial: a trust region, and draws of all models.

One exact GP for the objective and one for each constraint, Matern 5/2 with a length-scale a parameter, outcomes
standardised. Candidates are Sobol points of the region round the best point, a part of their coordinates moved;
constrained Thompson sampling takes what a draw says is feasible and best. When the region is spent it starts anew.
Departures from the tutorial: the design is the shared one, constraints are told through bilog (as in the paper), a fit
that ends with a warning is taken as it is.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness.measured import MeasuredSearch, Outcome

FIRST = 10  # points to start with, each time; the tutorial's
LONGEST, SHORTEST = 1.6, 0.5**7  # of the region's side; TuRBO's, and where it starts: 0.8
SUCCESSES = 10  # in a row until it doubles; the tutorial's (3 in the paper)
CANDIDATES, MOVED = 2000, 20  # points, at least; coordinates that each moves, about


@dataclass
class _Box:
    """The trust region's side, and how it went since it last changed."""

    failures: int  # in a row until it halves
    side: float = 0.8
    good: int = 0
    bad: int = 0

    def told(self, better: bool) -> None:
        self.good, self.bad = (self.good + 1, 0) if better else (0, self.bad + 1)
        if self.good == SUCCESSES:
            self.side, self.good = min(2 * self.side, LONGEST), 0
        elif self.bad == self.failures:
            self.side, self.bad = self.side / 2, 0


def search(search: MeasuredSearch) -> None:
    import torch

    torch.manual_seed(search.seed)
    rng, x = search.rng(), search.design(FIRST)
    while search.left:
        _run(search, x)
        x = rng.random((FIRST, search.dim))


def _run(search: MeasuredSearch, x: Any) -> None:
    box, told = _Box(math.ceil(max(4 / search.batch, search.dim / search.batch))), search.at(x)
    while box.side >= SHORTEST and search.left:
        new = _proposed(x, told, box.side, search)
        found = search.at(new)
        box.told(_better(found, told))
        x, told = np.vstack([x, new]), Outcome(np.vstack([told.f, found.f]), np.vstack([told.g, found.g]))


def _merit(told: Outcome) -> tuple[Any, Any]:
    """Return the total violation and the loss of each row, by which rows compare in this order, [n] each."""
    violation = np.maximum(told.g, 0).sum(1)
    return violation, np.where(violation > 0, np.inf, told.f[:, 0])


def _best(told: Outcome) -> int:
    violation, loss = _merit(told)
    return int(np.lexsort((loss, violation))[0])


def _better(found: Outcome, told: Outcome) -> bool:
    """Return whether the best found beats the best told, by a thousandth of its loss where both are feasible."""
    (v, f), (w, h) = [tuple(part[_best(rows)] for part in _merit(rows)) for rows in (found, told)]
    return bool(v < w or (v == w == 0 and f < h - 1e-3 * abs(h)))


def _proposed(x: Any, told: Outcome, side: float, search: MeasuredSearch) -> Any:
    """Return the next points [batch, d], in the order of columns [-f, g] of the models."""
    import torch
    from botorch.generation.sampling import ConstrainedMaxPosteriorSampling
    from botorch.models.model_list_gp_regression import ModelListGP

    rows = torch.tensor(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that needs more jitter says so
        objective = _fitted(rows, torch.tensor(-told.f))
        bilog = np.sign(told.g) * np.log1p(np.abs(told.g))  # [n, c]
        held = [_fitted(rows, torch.tensor(column[:, None])) for column in bilog.T]
        candidates = _candidates(rows[_best(told)], side, search)
        sampling = ConstrainedMaxPosteriorSampling(objective, ModelListGP(*held), replacement=False)
        with torch.no_grad():
            return sampling(candidates, num_samples=min(search.batch, search.left)).numpy()


def _candidates(centre: Any, side: float, search: MeasuredSearch) -> Any:
    """Return points of the region [candidates, d], of which each moves a part of the centre's coordinates."""
    import torch
    from torch.quasirandom import SobolEngine

    d = search.dim
    n = min(5000, max(CANDIDATES, 200 * d))
    low, high = (centre - side / 2).clamp(0, 1), (centre + side / 2).clamp(0, 1)
    spread = SobolEngine(d, scramble=True, seed=int(torch.randint(2**31, (1,)))).draw(n).double()
    moved = torch.rand(n, d) <= min(MOVED / d, 1.0)
    none = ~moved.any(1)
    moved[none, torch.randint(d, (int(none.sum()),))] = True
    return torch.where(moved, low + (high - low) * spread, centre)


def _fitted(x: Any, y: Any) -> Any:
    """Return a GP of rows x [n, d] and outcomes y [n, 1], with the tutorial's bounds."""
    from botorch.exceptions import ModelFittingError
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms.outcome import Standardize
    from botorch.optim.fit import fit_gpytorch_mll_scipy
    from gpytorch.constraints import Interval
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.mlls import ExactMarginalLogLikelihood

    kernel = MaternKernel(nu=2.5, ard_num_dims=x.shape[1], lengthscale_constraint=Interval(0.005, 4.0))
    noise = GaussianLikelihood(noise_constraint=Interval(1e-8, 1e-3))
    model = SingleTaskGP(x, y, covar_module=ScaleKernel(kernel), likelihood=noise, outcome_transform=Standardize(1))
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    try:
        fit_gpytorch_mll(likelihood)
    except ModelFittingError:  # the line search ended at a bound: where it ended is taken
        fit_gpytorch_mll_scipy(likelihood)
    return model.eval()
