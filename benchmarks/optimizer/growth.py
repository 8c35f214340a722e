"""Does a step stay cheap as rows pile up? 50 pairs of ask(1) and tell after 1k, 5k, 10k and 20k rows, d = 100.

    python -m benchmarks.optimizer.growth [--rows 1000 5000 10000 20000]

The rows are those of a real CMA-ES run (library `cma`) on shifted Ackley. Each size runs in a process of its own:
its memory is the peak of that process above what it held once everything was imported. `traced_mb` is by how much the
memory that numpy reports rose inside one pair, at most: no single array was larger. `model_rows` is the size of the
largest factor of a covariance in a pair: the rows in the trust region's model. Before the 50 pairs, 200 evaluations in
batches of 10 bring a trust region to life, so that the pairs measure a live one. Rows go to results/growth.csv.
"""

import resource
import statistics
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks import peers, problems
from benchmarks.harness import measure as one_run
from benchmarks.harness import script
from benchmarks.harness.clock import Clock
from benchmarks.harness.search import Search
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result, Row, Task
from benchmarks.harness.versions import OURS, versions

KEY = ("problem", "dim", "rows", "seed")
COLUMNS = (
    *KEY, "tell_points_s", "first_ask_s", "pair_s_median", "pair_s_max", "own_pairs", "model_rows_median",
    "memory_mb", "traced_mb", "best_before", "best_after", "versions",
)  # fmt: skip
PAIRS, WARM, BATCH = 50, 200, 10


class Size(NamedTuple):
    """One run after `rows` rows of `file`."""

    file: str
    problem: str
    dim: int
    rows: int
    seed: int


def main() -> None:
    given = script.parser(__doc__, "growth.csv", "200 rows in 5 dimensions")
    given.add_argument("--rows", type=int, nargs="+", default=[1000, 5000, 10000, 20000])
    given.add_argument("--dim", type=int, default=100)
    given.add_argument("--problem", default="ackley")
    given.add_argument("--seed", type=int, default=0)
    arguments = script.parsed(given, rows=[200], dim=5)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    keys = sheet.missing((arguments.problem, arguments.dim, n, arguments.seed) for n in arguments.rows)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npz"
        if keys:
            np.savez(file, **evolve(arguments.problem, arguments.dim, max(arguments.rows), arguments.seed))
        script.record([Size(str(file), *key) for key in keys], sheet, "benchmarks.optimizer.growth:measure", 1)


def evolve(problem: str, dim: int, n: int, seed: int) -> dict[str, Any]:
    """Return points [n, dim] and values [n] of a CMA-ES run, in its order."""
    points: list[Any] = []
    objective = problems.shifted(problem, dim)

    class Noted:
        space, x0, maximize = objective.space, None, False

        def __call__(self, point: Any, *, seed: int | None = None) -> float:
            points.append(point)
            return objective(point)

    search = Search(Noted(), seed, n)
    one_run.go(peers.load("pycma"), search)
    return {"points": np.array(points), "values": np.array(search.values)}


def measure(**fields: Any) -> Result:
    """Return the row of `PAIRS` pairs after the first rows of a file, and what came before them."""
    size = Size(**fields)
    objective = problems.shifted(size.problem, size.dim)
    one_run.warm(Task("lamcts", "smoke", 4, 0, 0))
    memory = _peak_mb()
    opt, row = told(size, objective)
    row |= clocked(opt, objective)
    row |= {"own_pairs": int(np.count_nonzero(opt.seen.source[size.rows + WARM : size.rows + WARM + PAIRS] >= 0))}
    row |= {"memory_mb": f"{_peak_mb() - memory:.0f}", "traced_mb": f"{traced(opt, objective):.1f}"}
    row |= {"best_after": f"{opt.best.value:.6g}", "versions": versions(OURS)}
    return {name: getattr(size, name) for name in KEY} | row, None


def told(size: Size, objective: Any) -> tuple[lamcts.Optimizer, Row]:
    """Return an optimiser that was told the rows and is under way, and what that cost."""
    with np.load(size.file) as columns:
        points, values = columns["points"][: size.rows], columns["values"][: size.rows]
    opt = lamcts.Optimizer(objective.space, seed=size.seed)
    start = time.process_time()
    opt.tell_points(points, values)
    row = {"tell_points_s": f"{time.process_time() - start:.3g}", "best_before": f"{opt.best.value:.6g}"}
    return opt, row | {"first_ask_s": f"{warm_up(opt, objective):.3g}"}


def clocked(opt: lamcts.Optimizer, objective: Any) -> Row:
    """Return the seconds of `PAIRS` pairs, and the median size of their models."""
    seconds, sizes = [], []
    for _ in range(PAIRS):
        with Clock() as clock:
            seconds.append(pair(opt, objective))
        sizes.append(clock.largest)
    row = {"pair_s_median": f"{statistics.median(seconds):.3g}", "pair_s_max": f"{max(seconds):.3g}"}
    return row | {"model_rows_median": statistics.median(sizes)}


def traced(opt: lamcts.Optimizer, objective: Any) -> float:
    """Return by how many MB the memory that numpy reports rises inside a pair, at most."""
    tracemalloc.start()
    rises = []
    for _ in range(5):
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        pair(opt, objective)
        rises.append((tracemalloc.get_traced_memory()[1] - held) / 2**20)
    return max(rises)


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
