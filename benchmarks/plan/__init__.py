"""The plan: what to run, in which order. `benchmarks.plan` writes plan.csv, `benchmarks.run --plan` reads it."""

from pathlib import Path

from benchmarks.harness.sheet import RESULTS, read
from benchmarks.harness.task import Task, seeds_of

PLAN = Path(__file__).parents[1] / "plan.csv"
TIMINGS = RESULTS / "timings"
COLUMNS = (
    "priority", "chunk", "problem", "method", "batch", "seeds", "budget", "seconds_run", "hours", "status", "reason"
)  # fmt: skip


def tasks(path: Path = PLAN) -> list[Task]:
    """Return the runs of the plan, in order: within a chunk, all methods of a seed before the next seed."""
    rows = [row for row in read(path) if row["status"] == "run"]
    if not rows:
        raise ValueError(f"expected rows in {path.name}, got none: `python -m benchmarks.plan --measure` writes it")
    found = [
        (int(row["priority"]), seed, Task(row["method"], row["problem"], int(row["batch"]), seed, int(row["budget"])))
        for row in rows
        for seed in seeds_of([row["seeds"]])
    ]
    return [task for *_, task in sorted(found, key=lambda item: item[:2])]  # rows of one chunk and seed stay in order
