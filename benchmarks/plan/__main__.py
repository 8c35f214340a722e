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
from typing import Any

from benchmarks import peers, problems
from benchmarks.harness.ledger import Ledger
from benchmarks.harness.pool import Pool
from benchmarks.harness.task import Row, Task, seeds_of
from benchmarks.plan import COLUMNS, PLAN, TIMINGS
from benchmarks.plan.cells import CHUNKS, CUT, PARTIAL, Cell
from benchmarks.plan.cost import Costs, costs, seconds, whole_runs

HOURS, CORES = 10.0, 2
TIMING_SECONDS = 300  # for one timed run: what takes longer is too slow for the plan


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.plan", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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

    def report(task: Task, row: Row) -> None:
        print(f"{task}: {row.get('own_s', row.get('message'))} s own", flush=True)

    pool = Pool(jobs, TIMING_SECONDS, time.monotonic() + 3600)
    pool.run([t for t in tasks if not peers.missing(t.method)], Ledger(TIMINGS), report)


def planned(found: Costs, ran: dict[Cell, float], hours: float) -> Iterator[dict[str, Any]]:
    """Yield the rows of the plan, the most important first."""
    left = 3600 * hours * CORES
    for priority, chunk in enumerate(CHUNKS, 1):
        for cell in chunk.cells:
            row = {"priority": priority, "chunk": chunk.name, **cell._asdict(), "status": "run", "reason": ""}
            total, more = estimate(cell, found, ran)
            row |= more
            if total > left:
                row |= {"status": "cut", "reason": f"does not fit into {hours:g} hours"}
            else:
                left -= total
            yield row
    for problem, method, reason in CUT:
        yield {"chunk": "left out", "problem": problem, "method": method, "status": "cut", "reason": reason}


def estimate(cell: Cell, found: Costs, ran: dict[Cell, float]) -> tuple[float, dict[str, str]]:
    """Return the seconds of all runs of a cell, 0 where nothing says, and the cells of the row about them."""
    each = ran.get(cell._replace(seeds=""), math.nan)
    if math.isnan(each):
        each = seconds(found, cell.method, cell.batch, cell.problem, cell.budget)
    if math.isnan(each):
        total, more = 0.0, {"seconds_run": "", "hours": "", "reason": "not measured: it needs a package or a checkout"}
    else:
        total = each * len(seeds_of([cell.seeds]))
        more = {"seconds_run": f"{each:.3g}", "hours": f"{total / 3600 / CORES:.4f}"}
    if problems.find(cell.problem).missing:
        more |= {"reason": "its objective's time is not measured here yet: from elsewhere"}
    return total, more


if __name__ == "__main__":
    main()
