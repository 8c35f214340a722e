"""Does a step stay cheap in a long run with constraints, or with two objectives? Time and memory by evaluations.

    python -m benchmarks.constrained.long_runs [--evaluations 20000]

Two runs with default settings, in batches of 10: Ackley in 10 dimensions with two constraints, and ZDT1 in 10 with two
objectives. Every tenth of the run is a row: CPU milliseconds an evaluation of `ask` and of `tell` in that tenth, the
longest single `ask`, the memory of the process above what it held at the start, and the number of points on the front
(1 with one objective). Each run has a process of its own. Rows go to results/long_runs.csv.

`--told` instead tells random points, then asks for ten points one at a time: in wide spaces with constraints and two
objectives, with `mixed_gp` too, and with a fidelity. It prints the mean CPU milliseconds of an ask and its tell.
"""

import multiprocessing
import resource
import time

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import OURS, versions
from lamcts import objectives

CASES = {"constraints": ("ackley-constrained", 10), "objectives": ("zdt1", 10)}
TOLD = (  # what, parameters, points told, sampler
    ("fidelity", 4, 300, "auto"), ("fidelity", 4, 20000, "auto"),
    ("constraint", 100, 500, "auto"), ("constraint", 300, 1000, "quadratic"), ("constraint", 300, 1000, "auto"),
    ("constraint", 1000, 2000, "quadratic"),
    ("two objectives", 100, 500, "auto"), ("two objectives", 300, 1000, "mixed_gp"),
    ("two objectives", 300, 1000, "auto"),
)  # fmt: skip
BATCH, PARTS = 10, 10
KEY = ("case", "problem", "dim", "evaluations")
COLUMNS = (*KEY, "ask_ms", "tell_ms", "ask_ms_max", "memory_mb", "front", "versions")


def main() -> None:
    given = script.parser(__doc__, "long_runs.csv", "two runs of 200 evaluations")
    given.add_argument("--evaluations", type=int, default=20000)
    given.add_argument("--told", action="store_true", help="ask after told points; no rows")
    arguments = script.parsed(given, evaluations=200)
    if arguments.told:
        for case in TOLD:
            print(*case, f"{after_told(*case):.0f} ms", flush=True)
        return
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


def after_told(what: str, dim: int, n: int, sampler: str) -> float:
    """Return the mean CPU milliseconds of ten asks and tells after `n` random points."""
    space = {f"x{i}": lamcts.Float(-1, 1) for i in range(dim)}
    space |= {"epochs": lamcts.Fidelity(1, 9)} if what == "fidelity" else {}
    columns = {"constraint": {"constraints": ["c <= 0"]}, "two objectives": {"objectives": ["a", "b"]}}.get(what, {})
    opt = lamcts.Optimizer(space, seed=0, sampler=sampler, **columns)

    def value(point: dict[str, float]) -> float | list[float]:
        x = np.array([point[f"x{i}"] for i in range(dim)])
        loss = float(x @ x) + 1 / point.get("epochs", 1)
        more = {"constraint": 0.3 - x[0], "two objectives": float(((x - 0.5) ** 2).sum())}.get(what)
        return loss if more is None else [loss, float(more)]

    points = [opt.space.decode(x) for x in opt.space.sample(n, np.random.default_rng(0))]
    opt.tell_points(points, [value(point) for point in points])
    began = time.process_time()
    for _ in range(10):
        (trial,) = opt.ask()
        opt.tell(trial, value(trial.point))
    return 100 * (time.process_time() - began)


def memory_mb() -> float:
    """Return the largest resident memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
