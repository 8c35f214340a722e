"""Does a step stay cheap as rows pile up? 50 pairs of ask(1) and tell after 1k, 5k, 10k and 20k rows, d = 100.

    python -m benchmarks.growth [--rows 1000 5000 10000 20000]

The rows are those of a real CMA-ES run (library `cma`) on shifted Ackley. Each size runs in a process of its own:
its memory is the peak of that process above what it held once everything was imported. `traced_mb` is by how much the
memory that numpy reports rose inside one pair, at most: no single array was larger. `model_rows` is the size of the
largest factor of a covariance in a pair: the rows in the trust region's model. Before the 50 pairs, 200 evaluations in
batches of 10 bring a trust region to life, so that the pairs measure a live one. Rows go to results/growth.csv.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

import lamcts
from benchmarks import ours, own_time, problems, records

KEY = ("problem", "dim", "rows", "seed")
COLUMNS = (
    *KEY, "tell_points_s", "first_ask_s", "pair_s_median", "pair_s_max", "own_pairs", "model_rows_median",
    "memory_mb", "traced_mb", "best_before", "best_after", "versions",
)  # fmt: skip
PAIRS, WARM, BATCH = 50, 200, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 5000, 10000, 20000])
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--problem", default="ackley")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=records.RESULTS / "growth.csv")
    parser.add_argument("--smoke", action="store_true", help="200 rows in 5 dimensions into a temporary file")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)  # the inner process: rows file, key in JSON
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(measure(Path(arguments.run[0]), **json.loads(arguments.run[1]))))
        return
    if arguments.smoke:
        arguments.rows, arguments.dim, arguments.out = [200], 5, Path(tempfile.mkdtemp()) / "smoke.csv"
    done = records.recorded(arguments.out, KEY)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npz"
        for n in arguments.rows:
            key = dict(zip(KEY, (arguments.problem, arguments.dim, n, arguments.seed), strict=True))
            if tuple(map(str, key.values())) in done:
                continue
            if not file.exists():
                np.savez(file, **evolve(arguments.problem, arguments.dim, max(arguments.rows), arguments.seed))
            command = [sys.executable, "-m", "benchmarks.growth", "--run", str(file), json.dumps(key)]
            row = json.loads(
                subprocess.run(
                    command, capture_output=True, text=True, check=True, env=records.inner_environment()
                ).stdout
            )
            records.append(arguments.out, row, COLUMNS)
            print({name: row[name] for name in COLUMNS if name in row and name != "versions"}, flush=True)


def evolve(problem: str, dim: int, n: int, seed: int) -> dict[str, Any]:
    """Return points [n, dim] and values [n] of a CMA-ES run, in its order."""
    points: list[Any] = []
    objective = problems.shifted(problem, dim)

    class Noted:
        space = objective.space

        def __call__(self, point: Any) -> float:
            points.append(point)
            return objective(point)

    watched = ours.METHODS["pycma"](ours.Task("pycma", problem, dim, 0, seed, n), Noted())
    return {"points": np.array(points), "values": np.array(watched.values)}


def measure(file: Path, problem: str, dim: int, rows: int, seed: int) -> records.Row:
    """Return the row of `PAIRS` pairs after the first `rows` rows of `file`."""
    objective = problems.shifted(problem, dim)
    ours.warm_imports({})
    memory = _peak_mb()
    with np.load(file) as columns:
        points, values = columns["points"][:rows], columns["values"][:rows]
    opt = lamcts.Optimizer(objective.space, seed=seed)
    start = time.process_time()
    opt.tell_points(points, values)
    told, before = time.process_time() - start, opt.best.value
    first = warm_up(opt, objective)
    seconds, sizes = [], []
    for _ in range(PAIRS):
        with own_time.Clock() as clock:
            seconds.append(pair(opt, objective))
        sizes.append(clock.largest)
    own = int(np.count_nonzero(opt.seen.source[rows + WARM : rows + WARM + PAIRS] >= 0))
    peak = _peak_mb() - memory
    tracemalloc.start()
    rises = []
    for _ in range(5):
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        pair(opt, objective)
        rises.append((tracemalloc.get_traced_memory()[1] - held) / 2**20)
    return dict(zip(KEY, (problem, dim, rows, seed), strict=True)) | {
        "tell_points_s": f"{told:.3g}",
        "first_ask_s": f"{first:.3g}",
        "pair_s_median": f"{statistics.median(seconds):.3g}",
        "pair_s_max": f"{max(seconds):.3g}",
        "own_pairs": own,
        "model_rows_median": statistics.median(sizes),
        "memory_mb": f"{peak:.0f}",
        "traced_mb": f"{max(rises):.1f}",
        "best_before": f"{before:.6g}",
        "best_after": f"{opt.best.value:.6g}",
        "versions": records.versions(ours.PACKAGES),
    }


def warm_up(opt: lamcts.Optimizer, objective: Any) -> float:
    """Evaluate `WARM` points in batches; return the CPU seconds of the first ask, which plants the tree."""
    start = time.process_time()
    trials = opt.ask(BATCH)
    first = time.process_time() - start
    for _ in range(WARM // BATCH - 1):
        opt.tell(trials, [objective(trial.point) for trial in trials])
        trials = opt.ask(BATCH)
    opt.tell(trials, [objective(trial.point) for trial in trials])
    return first


def pair(opt: lamcts.Optimizer, objective: Any) -> float:
    """Ask for one trial and tell its value; return the optimiser's own CPU seconds."""
    start = time.process_time()
    (trial,) = opt.ask(1)
    asked = time.process_time()
    value = objective(trial.point)
    back = time.process_time()
    opt.tell(trial, value)
    return time.process_time() - back + asked - start


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux counts kilobytes


if __name__ == "__main__":
    main()
