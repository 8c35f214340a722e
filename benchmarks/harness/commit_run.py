"""One run for `compare_commits.py`, started by path: `python -P commit_run.py DIM BATCH BUDGET SEED`.

It imports nothing of the benchmarks, and of the package only what every commit has; PYTHONPATH says whose that is.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy, which would ask the machine

import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402

import lamcts  # noqa: E402


def main(dim: int, batch: int, budget: int, seed: int) -> None:
    run(2, 4, 48, 0)  # loads what loads late
    seconds, best = run(dim, batch, budget, seed)
    print(json.dumps({"ms": 1e3 * seconds / budget, "best": best, "package": lamcts.__file__}))


def run(dim: int, batch: int, budget: int, seed: int) -> tuple[float, float]:
    """Return the CPU seconds inside the optimiser, and the best value."""
    opt = lamcts.Optimizer(lamcts.Box(-5.0, 10.0, dim=dim), seed=seed)
    centre = np.random.default_rng([seed, dim]).uniform(-2.0, 7.0, dim)
    seconds = 0.0
    for _ in range(0, budget, batch):
        began = time.process_time()
        trials = opt.ask(batch)
        seconds += time.process_time() - began
        values = [ackley(trial.point - centre) for trial in trials]
        began = time.process_time()
        opt.tell(trials, values)
        seconds += time.process_time() - began
    return seconds, opt.best.value


def ackley(z: np.ndarray) -> float:
    """Return Ackley's function, whose optimum is at 0."""
    ridge = -20 * np.exp(-0.2 * np.sqrt(np.mean(z**2)))
    return float(ridge - np.exp(np.mean(np.cos(2 * np.pi * z))) + 20 + np.e)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
