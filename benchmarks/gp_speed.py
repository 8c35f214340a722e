"""How fast is the closed-form Gaussian process beside gpytorch's? CPU seconds of one fit and one posterior.

Both fit the same loss from the same start with 20 steps of L-BFGS, then give mean and variance at 500 points. gpytorch
computes with Cholesky factors, exactly as ours does, on one thread.

    python -m benchmarks.gp_speed [--smoke] [--out benchmarks/results/gp_speed.csv]
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import torch

from lamcts.models import torch_gp
from lamcts.models.fit import Prior, fit
from lamcts.models.gp import Posterior
from lamcts.models.scale import Scale

STEPS, POINTS = 20, 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="one tiny case, to see that the script runs")
    parser.add_argument("--out", type=Path, help="CSV to write")
    options = parser.parse_args()
    torch.set_num_threads(1)
    cases = [(50, 20)] if options.smoke else [(n, d) for d in (20, 100) for n in (50, 100, 200, 500, 1000)]
    measure(10, 2, repeats=1)  # loads what loads late
    rows = [measure(n, d, repeats=1 if options.smoke else 3) for n, d in cases]
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def measure(n: int, d: int, repeats: int) -> dict[str, float]:
    """Return the best CPU times of both routes for `n` rows of `d` coordinates, and print them."""
    rng = np.random.default_rng(0)
    x, points = rng.random((n, d)), rng.random((POINTS, d))
    y = np.sin(4 * x[:, : d // 4]).sum(1) + 0.05 * rng.standard_normal(n)
    z = Scale.of(y).down(y)
    prior = Prior()
    start = prior.mode(d)
    times: dict[str, list[float]] = {"ours": [], "gpytorch": []}
    for _ in range(repeats):
        began = time.process_time()
        ours, _ = fit(x, z, start, prior, STEPS)
        mine = Posterior(x, z, ours).moments(points)
        times["ours"].append(time.process_time() - began)
        began = time.process_time()
        theirs, _ = torch_gp.fit(x, z, start, prior, STEPS)
        other = torch_gp.TorchPosterior(x, z, theirs).moments(points)
        times["gpytorch"].append(time.process_time() - began)
    gap = max(float(np.abs(a - b).max()) for a, b in zip(mine, other, strict=True))
    mine_s, other_s = min(times["ours"]), min(times["gpytorch"])
    print(f"n {n:5} d {d:4}: ours {mine_s:7.3f} s, gpytorch {other_s:7.3f} s", end="")
    print(f", {other_s / mine_s:5.1f} x; largest difference {gap:.0e}")
    return {
        "rows": n,
        "dim": d,
        "ours_cpu_seconds": round(mine_s, 5),
        "gpytorch_cpu_seconds": round(other_s, 5),
        "times_faster": round(other_s / mine_s, 2),
        "largest_difference": float(f"{gap:.1e}"),
    }


if __name__ == "__main__":
    main()
