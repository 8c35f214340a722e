"""How fast is the closed-form Gaussian process beside gpytorch's? CPU seconds of one fit and one posterior.

Both fit the same loss from the same start with 20 steps of L-BFGS, then give mean and variance at 500 points. gpytorch
computes with Cholesky factors, exactly as ours does, on one thread.

    python -m benchmarks.optimizer.gp_speed [--rows 50 100 200 500 1000] [--dims 20 100]

Rows go to results/gp_speed.csv.
"""

import time
from itertools import product

import numpy as np
import torch

from benchmarks.harness import script
from benchmarks.harness.search import Floats
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from lamcts.models import torch_gp
from lamcts.models.coding import Inputs
from lamcts.models.fit import fit
from lamcts.models.output_transforms import Scale
from lamcts.models.posterior import Posterior
from lamcts.models.priors import local_prior

STEPS, POINTS = 20, 500
KEY = ("rows", "dim")
COLUMNS = (*KEY, "ours_cpu_seconds", "gpytorch_cpu_seconds", "times_faster", "largest_difference")


def main() -> None:
    given = script.parser(__doc__, "gp_speed.csv", "one tiny case, to see that the script runs")
    given.add_argument("--rows", type=int, nargs="+", default=[50, 100, 200, 500, 1000])
    given.add_argument("--dims", type=int, nargs="+", default=[20, 100])
    given.add_argument("--repeats", type=int, default=3)
    arguments = script.parsed(given, rows=[50], dims=[20], repeats=1)
    torch.set_num_threads(1)
    measure(10, 2, repeats=1)  # loads what loads late
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for n, d in sheet.missing((n, d) for d, n in product(arguments.dims, arguments.rows)):
        sheet.record(measure(n, d, arguments.repeats))


def measure(n: int, d: int, repeats: int) -> Row:
    """Return the best CPU times of both routes for `n` rows of `d` coordinates, and how far apart they end."""
    rng = np.random.default_rng(0)
    x, points = rng.random((n, d)), Inputs.of(rng.random((POINTS, d)))
    y = np.sin(4 * x[:, : d // 4]).sum(1) + 0.05 * rng.standard_normal(n)
    z = Scale.of(y).down(y)[:, None]
    rows = Inputs.of(x)
    best = {"ours": np.inf, "gpytorch": np.inf}
    found = {}
    for _ in range(repeats):
        for name, route in ROUTES.items():
            began = time.process_time()
            found[name] = route(rows, z, points)
            best[name] = min(best[name], time.process_time() - began)
    gap = max(float(np.abs(a - b).max()) for a, b in zip(*found.values(), strict=True))
    return {
        "rows": n,
        "dim": d,
        "ours_cpu_seconds": round(best["ours"], 5),
        "gpytorch_cpu_seconds": round(best["gpytorch"], 5),
        "times_faster": round(best["gpytorch"] / best["ours"], 2),
        "largest_difference": float(f"{gap:.1e}"),
    }


def _ours(rows: Inputs, z: Floats, points: Inputs) -> tuple[Floats, ...]:
    fitted, _ = fit(rows, z, local_prior(rows.numbers.shape[1]), iterations=STEPS)
    return Posterior(rows, z, fitted).moments(points)


def _gpytorch(rows: Inputs, z: Floats, points: Inputs) -> tuple[Floats, ...]:
    prior = local_prior(rows.numbers.shape[1])
    fitted, _ = torch_gp.fit(rows, z, prior, prior.mode, STEPS)
    return torch_gp.TorchPosterior(rows, z, fitted).moments(points)


ROUTES = {"ours": _ours, "gpytorch": _gpytorch}


if __name__ == "__main__":
    main()
