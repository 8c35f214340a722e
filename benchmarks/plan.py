"""What to run, in which order, and what it costs: writes benchmarks/plan.csv.

    python -m benchmarks.plan --measure     short timed runs into results/timings, then the plan from them
    python -m benchmarks.plan               the plan from the timings that are there

A run's seconds are the median of those in results/runs. Where none is there yet they are the objective's, counted per
evaluation, and the method's own. From a partial budget those go on from its last evaluations, whose seconds grow as
they did since the initial design (where that cannot be seen, with n). Own time is taken from Ackley at the nearest
dimension that was measured, the references' from own_time.csv. Chunks stand in order of priority; a row that does not
fit into the hours is cut, and says so.
"""

import argparse
import csv
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import ledger, peers, pool, problems, records
from benchmarks.cells import CHUNKS, CUT, PARTIAL, Cell
from benchmarks.ledger import Task

PLAN = Path(__file__).parent / "plan.csv"
TIMINGS = records.RESULTS / "timings"
HOURS, CORES = 10.0, 2
# Seconds an evaluation of objectives that are not measured here yet, as known from elsewhere.
STATED = {
    "lunar": 0.13,
    "rover": 0.001,
    "push": 0.003,
    "halfcheetah": 0.1,
    "walker2d": 0.1,
    "ant": 0.6,
    "humanoid": 1.0,
}
START_SECONDS = 2.0  # of a process, for imports and the warm-up: most methods took 1.6 to 3.5 s of CPU
STEEPEST = 2.0  # power of n: a dense GP's, whose total grows with the third
COLUMNS = (
    "priority", "chunk", "problem", "method", "batch", "seeds", "budget", "seconds_run", "hours", "status", "reason"
)  # fmt: skip


class Cost(NamedTuple):
    """What was measured: evaluations, own seconds at some of them, and the objective's seconds an evaluation."""

    dim: int
    n: list[int]
    own: list[float]
    objective: float

    def own_after(self, budget: int) -> float:
        """Return the own seconds of `budget` evaluations, measured or extrapolated."""
        if budget in self.n:
            return self.own[self.n.index(budget)]
        designed = min(max(2 * self.dim, 10), 100)  # evaluations that cost nothing: they say nothing about later ones
        n, own = np.array([0, *self.n], float), np.array([0.0, *self.own])
        after = n[:-1] >= designed
        middles, rates = ((n[1:] + n[:-1]) / 2)[after], (np.diff(own) / np.diff(n))[after]  # of stretches between marks
        if not len(rates):
            return float(own[-1] * budget / n[-1])
        power = 1.0  # of n, by which an evaluation's seconds grow, where one stretch is all there is
        if len(rates) > 1 and rates[0] > 0 and rates[-1] > 0:
            power = float(np.clip(np.log(rates[-1] / rates[0]) / np.log(middles[-1] / middles[0]), 0, STEEPEST))
        grown = (budget ** (power + 1) - n[-1] ** (power + 1)) / (power + 1) / middles[-1] ** power
        return float(own[-1] + rates[-1] * grown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="time what has no timing yet")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--hours", type=float, default=HOURS, help="of two cores")
    parser.add_argument("--smoke", action="store_true", help="the plan, into a temporary file")
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.jobs)
    out = Path(tempfile.mkdtemp()) / "plan.csv" if arguments.smoke else PLAN
    rows = list(planned(costs(), whole_runs(), arguments.hours))
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for chunk in CHUNKS:
        mine = [row for row in rows if row["chunk"] == chunk.name]
        hours = sum(float(row["hours"] or 0) for row in mine if row["status"] == "run")
        print(f"{chunk.name:20} {hours:6.2f} h, {sum(row['status'] != 'run' for row in mine)} of {len(mine)} rows cut")


def measure(jobs: int) -> None:
    """Time every method at the partial budgets, and every objective under random points."""
    used = {cell.problem for chunk in CHUNKS for cell in chunk.cells}
    tasks = [Task("random", name, 1, 0, 20) for name in sorted(used) if not problems.find(name).missing]
    tasks += [Task(name, problem, batch, 0, n) for (problem, n), names in PARTIAL.items() for name, batch in names]
    done = ledger.rows(TIMINGS)
    tasks = [t for t in tasks if t.key not in done and not peers.missing(t.method)]

    def report(task: Task, row: dict[str, Any]) -> None:
        print(f"{task}: {row.get('own_s', row.get('message'))} s own", flush=True)

    pool.run_all(tasks, jobs, 300, TIMINGS, time.monotonic() + 3600, report, False)


def costs() -> dict[tuple[str, int], list[Cost]]:
    """Return what was measured by method and batch; objectives stand under their problem's name and batch 0."""
    found: dict[tuple[str, int], list[Cost]] = {}
    curves = ledger.curves(TIMINGS)
    for key, row in ledger.rows(TIMINGS).items():
        if row["status"] == "ok":
            n, own = [m for m in ledger.MARKS if m <= int(row["evaluations"])], curves[key]["own_s"]
            if n[-1] != int(row["evaluations"]):
                n, own = [*n, int(row["evaluations"])], [*own, float(row["own_s"])]
            cost = Cost(int(row["dim"]), n, own, float(row["objective_s"]) / int(row["evaluations"]))
            found.setdefault((row["method"], int(row["batch"])), []).append(cost)
            found.setdefault((row["problem"], 0), []).append(cost)
    for row in records.read(records.RESULTS / "own_time.csv"):
        if row["method"].startswith("reference"):
            marks = [m for m in records.MARKS if row[f"own_s_{m}"]]
            cost = Cost(int(row["dim"]), marks, [float(row[f"own_s_{m}"]) for m in marks], 0.0)
            found.setdefault((row["method"], int(row["batch"])), []).append(cost)
    return found


def whole_runs() -> dict[Cell, float]:
    """Return the median seconds of the runs of a cell in results/runs; the cells name no seeds."""
    found: dict[Cell, list[float]] = {}
    for row in ledger.rows(ledger.RUNS).values():
        if row["status"] == "ok":
            cell = Cell(row["problem"], row["method"], int(row["batch"]), "", int(row["budget"]))
            found.setdefault(cell, []).append(float(row["own_s"]) + float(row["objective_s"]))
    return {cell: START_SECONDS + float(np.median(runs)) for cell, runs in found.items()}


def seconds(found: dict[tuple[str, int], list[Cost]], method: str, batch: int, problem: str, budget: int) -> float:
    """Return the seconds of one run as extrapolated, nan where nothing comparable was measured."""
    dim = problems.find(problem).dim
    mine = found.get((method, batch)) or found.get((method, 10 if batch == 1 else 1))
    objective = found.get((problem, 0)) or found.get((problem.removesuffix("-rotated"), 0))
    if not mine:
        return math.nan
    nearest = min(mine, key=lambda cost: (abs(math.log(cost.dim / dim)), -cost.n[-1]))
    own = nearest.own_after(budget) * max(dim / nearest.dim, 1.0)  # beyond what was measured: linear in d at least
    return START_SECONDS + own + budget * (objective[0].objective if objective else STATED.get(problem, 0.0))


def planned(found: dict[tuple[str, int], list[Cost]], ran: dict[Cell, float], hours: float) -> Iterator[dict[str, Any]]:
    """Yield the rows of the plan, the most important first."""
    left = 3600 * hours * CORES
    for priority, chunk in enumerate(CHUNKS, 1):
        for cell in chunk.cells:
            row = {"priority": priority, "chunk": chunk.name, **cell._asdict(), "status": "run", "reason": ""}
            row |= {"seconds_run": "", "hours": ""}
            each = ran.get(cell._replace(seeds=""), math.nan)
            if math.isnan(each):
                each = seconds(found, cell.method, cell.batch, cell.problem, cell.budget)
            total = each * len(_span(cell.seeds))
            if math.isnan(each):
                row |= {"reason": "not measured: it needs a package or a checkout"}
                total = 0.0
            else:
                row |= {"seconds_run": f"{each:.3g}", "hours": f"{total / 3600 / CORES:.4f}"}
            if problems.find(cell.problem).missing:
                row |= {"reason": "its objective's time is not measured here yet: from elsewhere"}
            if total > left:
                row |= {"status": "cut", "reason": f"does not fit into {hours:g} hours"}
            else:
                left -= total
            yield row
    for problem, method, reason in CUT:
        yield {"chunk": "left out", "problem": problem, "method": method, "status": "cut", "reason": reason}


def tasks(path: Path = PLAN) -> list[Task]:
    """Return the runs of the plan, in order: within a chunk, all methods of a seed before the next seed."""
    rows = [row for row in records.read(path) if row["status"] == "run"]
    if not rows:
        raise ValueError(f"expected rows in {path.name}, got none: `python -m benchmarks.plan --measure` writes it")
    found = [
        (
            int(row["priority"]),
            seed,
            i,
            Task(row["method"], row["problem"], int(row["batch"]), seed, int(row["budget"])),
        )
        for i, row in enumerate(rows)
        for seed in _span(row["seeds"])
    ]
    return [task for *_, task in sorted(found, key=lambda item: item[:3])]


def _span(seeds: str) -> range:
    low, _, high = seeds.partition("-")
    return range(int(low), int(high or low) + 1)


if __name__ == "__main__":
    main()
