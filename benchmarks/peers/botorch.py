"""BoTorch's SingleTaskGP with the logarithm of the expected improvement (qLogEI), after its tutorials.

Initial design: ours. Rows are standardised by the model's outcome transform. For up to some hundred evaluations.
"""

import warnings

from benchmarks.harness.search import Search

RESTARTS, RAW = 10, 512  # of the acquisition's optimiser, as in BoTorch's closed-loop tutorial


def log_ei(search: Search) -> None:
    import torch
    from botorch.acquisition import qLogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(search.seed)
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, search.dim)
    x = torch.tensor(search.initial(), dtype=torch.double)  # [n, d]
    y = -torch.tensor(search.many(x.numpy()), dtype=torch.double)[:, None]  # [n, 1], higher is better
    while search.left:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that needs more jitter says so
            model = SingleTaskGP(x, y)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            acquisition = qLogExpectedImprovement(model, best_f=y.max())
            q = min(search.batch, search.left)
            new, _ = optimize_acqf(acquisition, bounds, q=q, num_restarts=RESTARTS, raw_samples=RAW)
        new = new.detach()
        values = -torch.tensor(search.many(new.numpy()), dtype=torch.double)[:, None]
        x, y = torch.cat([x, new]), torch.cat([y, values])
