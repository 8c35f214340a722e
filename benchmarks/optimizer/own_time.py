"""What does the optimiser itself cost? CPU seconds inside ask and tell, one thread, beside the two predecessors.

    python -m benchmarks.optimizer.own_time [--reference DIR] [--dims 20 100] [--seeds 0-2]

Ours in batches of 10 stands beside TuRBO-1 in batches of 10, ours one by one beside LaMCTS (to 500 evaluations at
d = 20, to 300 at d = 100). The floor is what the Cholesky factorisations and triangular solves of our own run cost:
the same run again, with a clock round LAPACK's and BLAS's routines. Runs of ours and of the reference alternate, since
the load of a shared machine drifts. Rows go to results/own_time.csv.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import problems
from benchmarks.harness import measure as one_run
from benchmarks.harness import script
from benchmarks.harness.clock import Clock
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Curve, Result, Row, Task
from benchmarks.peers import reference

REFERENCES = {10: "reference TuRBO-1", 1: "reference LaMCTS-TuRBO"}  # by the batch that they take
SHOWN = (100, 200, 300, 500, 1000)  # numbers of evaluations at which the best and the seconds are kept


class Case(NamedTuple):
    """One run; its fields are the key of its row."""

    method: str
    problem: str
    dim: int
    batch: int
    seed: int
    budget: int

    @property
    def task(self) -> Task:
        """The same as the harness has it."""
        return Task(self.method, problems.reference(self.problem, self.dim), self.batch, self.seed, self.budget)


COLUMNS = (
    *Case._fields, "best", *(f"best_{m}" for m in SHOWN), "own_s", *(f"own_s_{m}" for m in SHOWN), "own_ms", "versions",
    "floor_s", "floor_calls",
)  # fmt: skip


def main() -> None:
    given = script.parser(__doc__, "own_time.csv", "one short run of each kind")
    given.add_argument("--seeds", nargs="+", default=["0-2"])
    given.add_argument("--reference", type=Path, help="folder with the checkouts TuRBO/ and LaMCTS/")
    given.add_argument("--dims", type=int, nargs="+", default=[20, 100])
    given.add_argument("--problems", nargs="+", default=problems.NAMES)
    given.add_argument("--budget", type=int, help="default: 1000; one at a time 500, or 300 from d = 100")
    arguments = script.parsed(given, problems=["ackley"], seeds=[0], dims=[4], budget=60)
    reference.given(arguments.reference)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for dim, seed, problem, batch in in_turn(arguments.dims, arguments.seeds, arguments.problems):
        ours = Case("lamcts", problem, dim, batch, seed, arguments.budget or budget_of(batch, dim))
        script.record([ours], sheet, "benchmarks.optimizer.own_time:measure", 1)
        if arguments.reference:
            theirs = ours._replace(method=REFERENCES[batch])
            script.record([theirs], sheet, "benchmarks.optimizer.own_time:measure_once", 1)


def in_turn(dims: list[int], seeds: list[int], names: list[str]) -> Iterator[tuple[int, int, str, int]]:
    """Yield dimension, seed, problem and batch, the batch changing first."""
    yield from ((dim, seed, name, batch) for dim in dims for seed in seeds for name in names for batch in REFERENCES)


def budget_of(batch: int, dim: int) -> int:
    """Return the usual budget; one at a time, the published LaMCTS takes a second or more for each evaluation."""
    return 1000 if batch > 1 else 300 if dim >= 100 else 500


def measure_once(**fields: Any) -> Result:
    """Return the row of one run."""
    case = Case(**fields)
    return row_of(case, *one_run.measure(**case.task._asdict())), None


def measure(**fields: Any) -> Result:
    """Return the row of one run, and of the same run again under the clock."""
    case = Case(**fields)
    task = case.task
    one_run.warm(task)
    row, curve = one_run.told(task, one_run.searched(task))
    with Clock() as clock:
        again, _ = one_run.told(task, one_run.searched(task))
    if again["best"] != row["best"]:
        raise RuntimeError(f"expected the same run twice from seed {case.seed}, got {row['best']} and {again['best']}")
    floor = {"floor_s": f"{clock.seconds:.4g}", "floor_calls": clock.calls}
    return row_of(case, row, curve) | floor, None


def row_of(case: Case, run: Row, curve: Curve) -> Row:
    """Return the row of a case from its run."""
    row = {name: run[name] for name in run if name in COLUMNS} | case._asdict()
    own = dict(zip(one_run.marks_within(case.budget), curve["own_s"], strict=True))
    row |= {f"own_s_{m}": own[m] for m in SHOWN if m in own}
    return row | {"versions": f"commit {run['commit']} {run['versions']}"}


if __name__ == "__main__":
    main()
