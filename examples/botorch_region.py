"""BoTorch's Gaussian process and Thompson sampling, inside the region that our tree selects (pip install botorch)."""

import sys
import warnings

import numpy as np

import lamcts
from lamcts.objectives import make
from lamcts.spaces.regions import draw

try:
    with warnings.catch_warnings():  # of what BoTorch imports
        warnings.simplefilter("ignore")
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.generation import MaxPosteriorSampling
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood
except ModuleNotFoundError as error:
    print(f"BoTorch is not installed ({error}): nothing to show")
    sys.exit()

torch.manual_seed(0)
rng, f = np.random.default_rng(0), make("ackley", dim=6)
opt = lamcts.Optimizer(f.space, seed=0, n_init=30)
tree = lamcts.LatentTree().incremental(f.space, opt.seen)  # grows with the evaluations
for trial in opt.ask(30):
    opt.tell(trial, f(trial.point))
warnings.simplefilter("ignore")  # of a fit that is not perfect
for _ in range(10):
    x = torch.tensor(draw(tree.select(rng), 500, rng, opt.seen).x)  # where the tree leads to, in the unit cube
    seen, y = torch.tensor(np.array(opt.seen.x)), -torch.tensor(np.array(opt.seen.y))[:, None]
    model = SingleTaskGP(seen, (y - y.mean()) / y.std())
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        points = [f.space.decode(row) for row in MaxPosteriorSampling(model)(x, num_samples=4).numpy()]
    opt.tell_points(points, [f(point) for point in points])
print(f"best of {len(opt.seen)}: {opt.best.value:.3f}; the region has {len(tree.select(rng).rows)} of them inside")
