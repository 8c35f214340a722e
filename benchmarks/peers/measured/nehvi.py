"""BoTorch's qLogNEHVI, after its tutorial: a GP for each column, the noisy hypervolume improvement of a whole batch.

It is told the problem's own reference point, which ours are not. The shared design begins, 2 (d + 1) points.
"""

import warnings
from typing import Any

import numpy as np

from benchmarks.harness.measured import MeasuredSearch

RESTARTS, RAW, DRAWS = 10, 512, 128  # the tutorial's


def search(search: MeasuredSearch) -> None:
    import torch

    torch.manual_seed(search.seed)
    x = search.design(min(2 * (search.dim + 1), search.left))
    search.at(x)
    reference = torch.tensor(-search.goals.losses(search.objective.reference))
    while search.left:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that needs more jitter says so
            new = _proposed(search, torch.tensor(x), reference)
        x = np.vstack([x, new])
        search.at(new)


def _proposed(search: MeasuredSearch, x: Any, reference: Any) -> Any:
    """Return the next points [q, d]; the model's columns are -f, then g."""
    import torch
    from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement as LogNehvi
    from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective
    from botorch.optim import optimize_acqf
    from botorch.sampling.normal import SobolQMCNormalSampler

    f, g = search.found
    m = f.shape[1]
    held = [lambda draws, j=j: draws[..., j] for j in range(m, m + g.shape[1])]
    acquisition = LogNehvi(
        model=_fitted(x, torch.tensor(np.hstack([-f, g]))),
        ref_point=reference,
        X_baseline=x,
        sampler=SobolQMCNormalSampler(torch.Size([DRAWS]), seed=search.seed),
        objective=IdentityMCMultiOutputObjective(outcomes=list(range(m))),
        constraints=held or None,
        prune_baseline=True,
    )
    cube = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, search.dim)
    q = min(search.batch, search.left)
    new, _ = optimize_acqf(acquisition, cube, q=q, num_restarts=RESTARTS, raw_samples=RAW, sequential=True)
    return new.detach().numpy()


def _fitted(x: Any, y: Any) -> Any:
    """Return a list of GPs, one for each column of y [n, columns]."""
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from gpytorch.mlls import SumMarginalLogLikelihood

    model = ModelListGP(*[SingleTaskGP(x, y[:, j : j + 1]) for j in range(y.shape[1])])
    fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
    return model
