"""Which method gets how far? Shifted Ackley, Rosenbrock, Rastrigin and Levy, d = 20, 1000 evaluations, 10 seeds.

    python -m benchmarks.optimizer.shifted [--jobs 2] [--seeds 0-9] [--methods lamcts random] [--rotated]
    python -m benchmarks.optimizer.shifted --reference DIR --seeds 0-2     the published TuRBO and LaMCTS, as they are

All functions are moved by one fixed vector. Batches of 10 for all methods that take batches. DIR holds git checkouts of
uber-research/TuRBO and facebookresearch/LaMCTS as DIR/TuRBO and DIR/LaMCTS: benchmarks/peers/reference.py has licences
and set-up. Rows go to results/shifted.csv.
"""

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import problems
from benchmarks.harness import measure as one_run
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Curve, Result, Row, Task
from benchmarks.peers import reference

RANDOM = "uniform"  # the method behind "random": it draws from another stream than the runner's method of that name
METHODS = ("lamcts", "lamcts turbo, no tree", "lamcts cma, no tree", "pycma", "random")
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
        method = RANDOM if self.method == "random" else self.method
        return Task(method, problems.reference(self.problem, self.dim), self.batch, self.seed, self.budget)


COLUMNS = (
    *Case._fields, "best", *(f"best_{m}" for m in SHOWN), "own_s", *(f"own_s_{m}" for m in SHOWN), "own_ms", "versions",
)  # fmt: skip


def main() -> None:
    given = script.parser(__doc__, "shifted.csv", "every method once, small")
    script.many(given, "0-9")
    given.add_argument("--methods", nargs="+", default=METHODS, metavar="NAME")
    given.add_argument("--problems", nargs="+", default=problems.NAMES)
    given.add_argument("--rotated", action="store_true", help="turn every problem about its optimum")
    given.add_argument("--dim", type=int, default=20)
    given.add_argument("--batch", type=int, default=10)
    given.add_argument("--budget", type=int, help="default: 1000; of the published LaMCTS 500, or 300 from d = 100")
    given.add_argument("--reference", type=Path, metavar="DIR", help="run the checkouts in DIR instead of --methods")
    arguments = script.parsed(given, problems=["ackley"], seeds=[0], dim=4, budget=60)
    reference.given(arguments.reference)
    names = [name + "-rotated" * arguments.rotated for name in arguments.problems]
    methods = [(name, arguments.batch, arguments.budget or 1000) for name in arguments.methods]
    if arguments.reference:
        budgets = {batch: arguments.budget or budget_of(batch, arguments.dim) for batch in REFERENCES}
        methods = [(name, batch, budgets[batch]) for batch, name in REFERENCES.items()]
    cases = [
        Case(method, name, arguments.dim, batch, seed, budget)
        for seed in arguments.seeds
        for name in names
        for method, batch, budget in methods
    ]
    record(cases, arguments.out, arguments.jobs)


def budget_of(batch: int, dim: int) -> int:
    """Return the usual budget; one at a time, the published LaMCTS takes a second or more for each evaluation."""
    return 1000 if batch > 1 else 300 if dim >= 100 else 500


def record(cases: list[Case], out: Path, jobs: int = 1, columns: tuple[str, ...] = COLUMNS) -> None:
    """Run the cases that have no row in `out` yet."""
    script.record(cases, Sheet(out, Case._fields, columns), "benchmarks.optimizer.shifted:measure", jobs)


def measure(**fields: Any) -> Result:
    """Return the row of the case with these fields."""
    case = Case(**fields)
    return row_of(case, *one_run.measure(**case.task._asdict())), None


def row_of(case: Case, run: Row, curve: Curve) -> Row:
    """Return the row of a case from its run."""
    row = {name: run[name] for name in run if name in COLUMNS} | case._asdict()
    own = dict(zip(one_run.marks_within(case.budget), curve["own_s"], strict=True))
    row |= {f"own_s_{m}": own[m] for m in SHOWN if m in own}
    return row | {"versions": f"commit {run['commit']} {run['versions']}"}


if __name__ == "__main__":
    main()
