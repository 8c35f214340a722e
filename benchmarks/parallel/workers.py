"""What do many workers gain and cost? Busy workers, proposals a second, and what points asked for blindly cost.

    python -m benchmarks.parallel.workers [--seeds table] [--only batch refill clock dask]

- "batch": points are asked for k at a time, and all are waited for; "refill": k workers, each of which gets a new point
  when it has ended. The clock is simulated and the optimiser's time does not count: what counts is what the k - 1
  values that are not known yet cost. Functions of 10 dimensions moved by the seed, and Hartmann6.
- "clock": refilled, and the optimiser's CPU seconds pass on the simulated clock: how busy are workers?
- "dask": a Dask cluster on this machine whose threads sleep, beside "loop", Dask's own way to keep workers busy with
  points drawn at random, one after the other.

Durations are heavy-tailed (harness/virtual.py). `busy`: the share of the workers' time spent evaluating up to the last
start; 1 is ideal. `own_ms`: CPU milliseconds an evaluation, of the optimiser, or of the whole driver and the scheduler
beside it where there is Dask: what a machine with nothing else to do keeps up with. `load`: of the machine in the last
minute. Rows go to results/workers.csv, and a table of all is printed.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks import problems
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.harness.virtual import Course, duration, ran

PROBLEMS = ("ackley-10", "rosenbrock-10", "rastrigin-10", "levy-10", "hartmann6")
SIZES = (1, 2, 4, 8, 16, 32, 64)
BUDGET, SHOWN = 200, (50, 100, 200)
WAVES = 12  # evaluations a worker has, where busy workers are measured
QUICK_SECONDS = 0.1  # evaluations that are sooner over than 64 workers can be given new ones


class Case(NamedTuple):
    """One run; `seconds` is the mean of a duration."""

    kind: str
    problem: str
    workers: int
    seconds: float
    budget: int
    seed: int


COLUMNS = (
    *Case._fields, "best", *(f"regret_{n}" for n in SHOWN), "solved_at", "busy", "starts_per_second", "own_ms",
    "load", "versions",
)  # fmt: skip


def main() -> None:
    given = script.parser(__doc__, "workers.csv", "two workers, few evaluations")
    given.add_argument("--seeds", nargs="+", default=["table"])
    given.add_argument("--only", nargs="+", default=KINDS, choices=KINDS)
    given.add_argument("--problems", nargs="+", default=PROBLEMS)
    given.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    given.add_argument("--budget", type=int, default=BUDGET)
    given.add_argument("--seconds", type=float, nargs="+", default=[1.0, 10.0])
    smoke = {"problems": ["hartmann6"], "sizes": [2], "seeds": [0], "budget": 20, "seconds": [0.02]}
    arguments = script.parsed(given, **smoke)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for case in cases(arguments):
        if sheet.wants(case):
            sheet.record(row_of(case, RUNS[case.kind](case)))
    show(sheet.rows())


def cases(given: Any) -> Iterator[Case]:
    """Yield the runs that are asked for; of a size, ours and Dask's alone one after the other."""
    for kind in [kind for kind in given.only if kind in ("batch", "refill")]:
        for k in (1, 8, 32) if kind == "batch" else (8, 32):
            yield from (Case(kind, p, k, 1.0, given.budget, seed) for p in given.problems for seed in given.seeds)
    first, seed = given.problems[0], given.seeds[0]
    for n in given.sizes if "clock" in given.only else ():
        yield from (Case("clock", first, n, seconds, WAVES * n, seed) for seconds in given.seconds)
    for n in given.sizes if "dask" in given.only else ():
        for seconds in (given.seconds[0], *([QUICK_SECONDS] if n == max(SIZES) else [])):
            yield from (Case(kind, first, n, seconds, WAVES * n, seed) for kind in ("loop", "dask"))


def row_of(case: Case, course: Course) -> Row:
    """Return the row of a run."""
    problem = problems.find(case.problem)
    optimum = problem.make(case.seed).optimum
    regrets = course.best - (optimum or 0.0)
    solved = np.flatnonzero(regrets <= problem.target)
    row = case._asdict() | {"best": f"{course.best[-1]:.6g}", "solved_at": int(solved[0]) + 1 if len(solved) else ""}
    row |= {f"regret_{n}": f"{regrets[n - 1]:.4g}" for n in SHOWN if n <= len(regrets)}
    row |= {"busy": f"{course.busy(case.workers):.4f}", "starts_per_second": f"{course.starts_per_second:.4g}"}
    row |= {"own_ms": f"{1e3 * course.own_seconds / case.budget:.4g}"} if course.own_seconds else {}
    row |= {"load": f"{os.getloadavg()[0]:.3g}"}
    return row | {"versions": f"commit {commit()} {versions((*OURS, 'distributed'))}"}


# The simulated clock ------------------------------------------------------------------------------------------------


def simulated(case: Case) -> Course:
    objective = problems.find(case.problem).make(case.seed)
    opt = lamcts.Optimizer(objective.space, seed=case.seed)
    how = {"wait_for_all": case.kind == "batch", "own": case.kind == "clock"}
    return ran(opt, objective, case.workers, case.budget, case.seconds, **how)


# Dask ---------------------------------------------------------------------------------------------------------------


class Sleeping:
    """An objective that takes its time, and writes down when it did."""

    def __init__(self, objective: Any, mean_seconds: float, file: Path) -> None:
        self.objective, self.mean_seconds, self.file = objective, mean_seconds, file

    def __call__(self, point: Any, seed: int) -> float:
        begin, loss = time.monotonic(), float(self.objective(point))  # one clock for all processes of a machine
        time.sleep(duration(self.mean_seconds, seed))
        with self.file.open("a") as file:
            file.write(f"{begin} {time.monotonic()} {loss!r}\n")
        return loss


def on_dask(case: Case) -> Course:
    """Return the course of a run on a cluster whose threads sleep, all in one process beside this one."""
    from distributed import Client

    objective = problems.find(case.problem).make(case.seed)
    here: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        tempfile.TemporaryDirectory() as folder,
        Client(n_workers=1, processes=True, threads_per_worker=case.workers, **here) as client,
    ):
        run = with_ours if case.kind == "dask" else with_none
        run(Sleeping(objective, 0.01, Path(folder, "warm")), objective.space, client, case.workers, case.seed)
        f = Sleeping(objective, case.seconds, Path(folder, "spans"))
        since = time.process_time()
        run(f, objective.space, client, case.budget, case.seed)
        own = time.process_time() - since
        told = np.loadtxt(f.file, ndmin=2)
    return Course([(begin, end) for begin, end, _ in told], told[:, 2].tolist(), own)


def with_ours(f: Any, space: Any, client: Any, budget: int, seed: int) -> None:
    lamcts.minimize(f, space, budget=budget, seed=seed, executor=client, progress=False)


def with_none(f: Any, space: Any, client: Any, budget: int, seed: int) -> None:
    """Keep the workers busy with points drawn at random: the floor of what Dask costs."""
    from distributed import as_completed

    points = space.sample(budget, np.random.default_rng(seed))
    left = iter([(space.decode(x), i) for i, x in enumerate(points)])
    workers = sum(client.nthreads().values())
    futures = [client.submit(f, *next(left), pure=False) for _ in range(min(workers, budget))]
    ended = as_completed(futures, with_results=True)
    for _ in ended:
        if (job := next(left, None)) is not None:
            ended.add(client.submit(f, *job, pure=False))


RUNS = {"batch": simulated, "refill": simulated, "clock": simulated, "loop": on_dask, "dask": on_dask}
KINDS = ("batch", "refill", "clock", "dask")


# Tables -------------------------------------------------------------------------------------------------------------


def show(rows: list[dict[str, str]]) -> None:
    """Print medians over seeds: regrets by problem, then how busy the workers were."""
    print("| problem | way | " + " | ".join(f"after {n}" for n in SHOWN) + " | solved at | busy |")
    print("| --- " * (len(SHOWN) + 4) + "|")
    ways = dict.fromkeys((r["problem"], r["kind"], r["workers"]) for r in rows if r["kind"] in ("batch", "refill"))
    for problem, kind, workers in sorted(ways, key=lambda way: way[0]):
        mine = [r for r in rows if (r["problem"], r["kind"], r["workers"]) == (problem, kind, workers)]
        regrets = [_median([r[f"regret_{n}"] or "nan" for r in mine]) for n in SHOWN]
        solved = _median([r["solved_at"] or "inf" for r in mine])
        busy = _median([r["busy"] for r in mine])
        print(f"| {problem} | {kind} of {workers} | {' | '.join(regrets)} | {solved} | {busy} |")
    print("\n| mean s | workers | clock | dask | loop | dask, starts a second | loop | dask, own ms | loop | load |")
    print("| --- " * 10 + "|")
    for seconds, workers in dict.fromkeys((r["seconds"], r["workers"]) for r in rows if r["kind"] in ("clock", "dask")):
        found = {r["kind"]: r for r in rows if (r["seconds"], r["workers"]) == (seconds, workers)}
        busy = [found.get(kind, {}).get("busy", "") for kind in ("clock", "dask", "loop")]
        rest = ("starts_per_second", "own_ms")
        rates = [found.get(kind, {}).get(name, "") for name in rest for kind in ("dask", "loop")]
        load = [found.get("dask", {}).get("load", "")]
        print(f"| {seconds} | {workers} | {' | '.join([*busy, *rates, *load])} |")


def _median(texts: list[str]) -> str:
    return f"{statistics.median(map(float, texts)):.3g}"


if __name__ == "__main__":
    main()
