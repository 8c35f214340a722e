"""Does a step stay cheap in a long run with constraints, or with two objectives? Time and memory by evaluations.

    python -m benchmarks.constrained.long_runs [--evaluations 20000]

Two runs with default settings, in batches of 10: Ackley in 10 dimensions with two constraints, and ZDT1 in 10 with two
objectives. Every tenth of the run is a row: CPU milliseconds an evaluation of `ask` and of `tell` in that tenth, the
longest single `ask`, the memory of the process above what it held at the start, and the number of points on the front
(1 with one objective). Each run has a process of its own. Rows go to results/long_runs.csv.
"""

import multiprocessing
import resource
import time

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import OURS, versions
from lamcts import objectives

CASES = {"constraints": ("ackley-constrained", 10), "objectives": ("zdt1", 10)}
BATCH, PARTS = 10, 10
KEY = ("case", "problem", "dim", "evaluations")
COLUMNS = (*KEY, "ask_ms", "tell_ms", "ask_ms_max", "memory_mb", "front", "versions")


def main() -> None:
    given = script.parser(__doc__, "long_runs.csv", "two runs of 200 evaluations")
    given.add_argument("--evaluations", type=int, default=20000)
    arguments = script.parsed(given, evaluations=200)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for case, (name, dim) in CASES.items():
        if not sheet.missing([(case, name, dim, arguments.evaluations)]):
            continue
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            for row in pool.apply(measure, (case, name, dim, arguments.evaluations)):
                sheet.record(row)


def measure(case: str, name: str, dim: int, evaluations: int) -> list[Row]:
    """Return a row for each tenth of a run."""
    f = objectives.make(name, dim=dim)
    opt = lamcts.Optimizer(f.space, seed=0, objectives=f.objectives, constraints=f.constraints or None)
    start, total, rows = memory_mb(), 0, []
    for part in range(1, PARTS + 1):
        ask, tell, longest, done = 0.0, 0.0, 0.0, 0
        while total < part * evaluations // PARTS:
            began = time.process_time()
            trials = opt.ask(BATCH)
            asked = time.process_time()
            values = [f(trial.point) for trial in trials]
            evaluated = time.process_time()
            opt.tell(trials, values)
            ask, tell = ask + asked - began, tell + time.process_time() - evaluated
            longest, done, total = max(longest, asked - began), done + len(trials), total + len(trials)
        rows.append({
            "case": case, "problem": name, "dim": dim, "evaluations": total,
            "ask_ms": round(1e3 * ask / done, 2), "tell_ms": round(1e3 * tell / done, 2),
            "ask_ms_max": round(1e3 * longest, 1), "memory_mb": round(memory_mb() - start, 1),
            "front": len(opt.front) if len(f.objectives) > 1 else 1, "versions": versions(OURS),
        })  # fmt: skip
    return rows


def memory_mb() -> float:
    """Return the largest resident memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
