"""Run methods on problems: every run a process of its own on one thread, one CSV row a run, resumable.

    python -m benchmarks.run --problems ackley-20 swimmer --methods lamcts lamcts@10 cma --seeds table --jobs 2
    python -m benchmarks.run --list                        problems and methods, and what is missing

A method may carry its batch, NAME@BATCH (default 1). Seeds: numbers, spans such as 100-104, `tune` (0-9) or `table`
(100-109). Rows go to results/runs/PROBLEM.csv, curves to PROBLEM.jsonl. A run that has a row is skipped, so a runner
may be killed and started again, and two may work side by side. A run that fails or exceeds its time gets a row that
says so and is not tried again without --retry. Problems on which no decision may rest need --held-out.
"""

import argparse
import math
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import peers, problems
from benchmarks.harness.ledger import RUNS, Ledger
from benchmarks.harness.pool import Pool
from benchmarks.harness.task import Row, Task, seeds_of
from benchmarks.peers import reference
from benchmarks.peers.reference import VARIABLE

GROUPS = {
    "peers": [name for name in peers.PEERS if not name.startswith(("lamcts", "reference"))],
    "ours": ["lamcts", "lamcts@10"],
}


def main() -> None:
    parser = options()
    arguments = parser.parse_args()
    reference.given(arguments.reference)
    if arguments.list or arguments.smoke:
        show() if arguments.list else smoke()
        return
    try:
        tasks = matrix(arguments)
        check(tasks, arguments.held_out)
    except ValueError as error:
        parser.error(str(error))
    until = time.monotonic() + 3600 * arguments.hours
    work(tasks, Pool(arguments.jobs, arguments.timeout, until), Ledger(arguments.out, arguments.retry))


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--methods", nargs="+", default=[], metavar="NAME", help=f"or one of {', '.join(GROUPS)}")
    parser.add_argument("--seeds", nargs="+", default=["table"])
    parser.add_argument("--budget", type=int, help="evaluations a run; default: the problem's own")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--timeout", type=float, default=4 * 3600, metavar="SECONDS", help="for one run")
    parser.add_argument("--hours", type=float, default=math.inf, help="start no run after so many")
    parser.add_argument("--reference", type=Path, metavar="DIR", help="folder with the checkouts TuRBO/ and LaMCTS/")
    parser.add_argument("--held-out", action="store_true", help="the default is frozen: run the held-out problems")
    parser.add_argument("--retry", action="store_true", help="run again what failed")
    parser.add_argument("--out", type=Path, default=RUNS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="every installed peer once, tiny, into a temporary folder")
    return parser


def matrix(arguments: argparse.Namespace) -> list[Task]:
    """Return the runs that were asked for: all methods on one seed and problem stand together."""
    methods = [spec for name in arguments.methods for spec in GROUPS.get(name, [name])]
    if not methods or not arguments.problems:
        raise ValueError("expected --problems and --methods, got none; --list shows both")
    pairs = [method_and_batch(spec) for spec in methods]
    named = [problems.find(name) for name in arguments.problems]
    return [
        Task(method, problem.name, batch, seed, arguments.budget or problem.budget)
        for problem in named
        for seed in seeds_of(arguments.seeds)
        for method, batch in pairs
    ]


def method_and_batch(spec: str) -> tuple[str, int]:
    """Return ("lamcts", 10) of "lamcts@10"."""
    name, _, batch = spec.partition("@")
    peers.find(name)
    if batch and not (batch.isdecimal() and int(batch) > 0):
        raise ValueError(f"expected a method such as 'lamcts@10', got {spec!r}")
    return name, int(batch or 1)


def check(tasks: Sequence[Task], held_out: bool) -> None:
    """Refuse what cannot run, and held-out problems before the default is frozen."""
    for name in sorted({task.problem for task in tasks if problems.find(task.problem).missing}):
        raise ValueError(f"{name}: its objective is not registered in lamcts.objectives yet")
    for name in sorted({task.method for task in tasks if peers.missing(task.method)}):
        raise ValueError(f"{name}: needs pip install {peers.missing(name)}, or 'lamcts[peers]'")
    kept = sorted({task.problem for task in tasks if problems.find(task.problem).held_out})
    if kept and not held_out:
        raise ValueError(f"held out: {', '.join(kept)}; no decision may rest on them; --held-out runs them")


def work(tasks: Sequence[Task], pool: Pool, ledger: Ledger) -> bool:
    """Run what has no row yet; return whether all went well."""
    rows = ledger.rows()
    todo = [task for task in tasks if ledger.lacks(task, rows)]
    print(f"{len(tasks)} runs, {len(tasks) - len(todo)} of them done", flush=True)
    well = []

    def report(task: Task, row: Row) -> None:
        well.append(row["status"] == "ok")
        good = f"best {row.get('best')}, {row.get('own_ms')} ms an evaluation, {row.get('wall_s')} s"
        print(f"[{len(well)}/{len(todo)}] {task}: {good if well[-1] else row['message']}", flush=True)

    try:
        pool.run(todo, ledger, report)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", flush=True)
    return all(well)


def show() -> None:
    """Print problems and methods."""
    for problem in problems.table().values():
        notes = ["held out"] * problem.held_out + ["its objective is not registered"] * problem.missing
        print(f"{problem.name:32} d {problem.dim:5} budget {problem.budget:6}  {', '.join(notes)}".rstrip())
    print()
    for name in peers.all_names():
        lacks = peers.missing(name)
        print(f"{name:32} {peers.find(name).line}" + f"  [needs pip install {lacks}]" * bool(lacks))


def smoke() -> None:
    """Run every method that is installed; SystemExit where one fails."""
    names = [name for name in peers.all_names() if not name.startswith("reference") or VARIABLE in os.environ]
    for name in [name for name in names if peers.missing(name)]:
        print(f"{name}: skipped, {peers.missing(name)} is not installed")
    tasks = [Task(n, "smoke", 4, 0, problems.find("smoke").budget) for n in names if not peers.missing(n)]
    with tempfile.TemporaryDirectory() as folder:
        if not work(tasks, Pool(jobs=2, timeout_seconds=300), Ledger(Path(folder))):
            raise SystemExit("a method failed")


if __name__ == "__main__":
    main()
