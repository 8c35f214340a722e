"""What does the optimiser itself cost? CPU seconds inside ask and tell, one thread, beside the two predecessors.

    python -m benchmarks.own_time [--reference DIR] [--dims 20 100] [--seeds 0 1 2]

Ours in batches of 10 stands beside TuRBO-1 in batches of 10, ours one by one beside LaMCTS (to 500 evaluations at
d = 20, to 300 at d = 100). The floor is what the Cholesky factorisations and triangular solves of our own run cost:
the same run again, with a clock round LAPACK's and BLAS's routines. Runs of ours and of the reference alternate, since
the load of a shared machine drifts. Rows go to results/own_time.csv.
"""

import argparse
import functools
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import ours, problems, records, references

COLUMNS = (*records.COLUMNS, "floor_s", "floor_calls")
ROUTINES = {"lapack": ("dpotrf", "dpotrs", "dpotri", "dtrtrs", "dtrtri"), "blas": ("dtrsm", "dtrsv")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path, help="folder with the checkouts TuRBO/ and LaMCTS/")
    parser.add_argument("--dims", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--problems", nargs="+", default=problems.NAMES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=records.RESULTS / "own_time.csv")
    parser.add_argument("--smoke", action="store_true", help="one short run of each kind into a temporary file")
    arguments = parser.parse_args()
    budgets = {dim: {10: 1000, 1: 500 if dim < 100 else 300} for dim in arguments.dims}  # [dim][batch]
    if arguments.smoke:
        arguments.problems, arguments.seeds, budgets = ["ackley"], [0], {4: {10: 60, 1: 50}}
        arguments.out = Path(tempfile.mkdtemp()) / "smoke.csv"
    for dim, by_batch in budgets.items():
        for seed in arguments.seeds:
            for problem in arguments.problems:
                for batch, budget in by_batch.items():
                    task = ours.Task("lamcts", problem, dim, batch, seed, budget)
                    if task.key not in records.recorded(arguments.out):
                        _report(arguments.out, measure(task))
                    if arguments.reference:
                        method = {10: "turbo", 1: "lamcts"}[batch]
                        references.run(arguments.reference, method, problem, dim, seed, budget, arguments.out, COLUMNS)


def measure(task: ours.Task) -> records.Row:
    """Return the row of one run, and of the same run again under the clock."""
    row = ours.run(task)
    clock = Clock()
    with clock:
        again = ours.run(task)
    if again["best"] != row["best"]:
        raise RuntimeError(f"expected the same run twice from seed {task.seed}, got {row['best']} and {again['best']}")
    return row | {"floor_s": f"{clock.seconds:.4g}", "floor_calls": clock.calls}


class Clock:
    """Counts the calls of SciPy's Cholesky and triangular routines, and their CPU seconds, while it is entered."""

    def __init__(self) -> None:
        self.seconds, self.calls, self.largest = 0.0, 0, 0

    def __enter__(self) -> "Clock":
        import scipy.linalg.blas
        import scipy.linalg.lapack

        self._kept: list[tuple[Any, str, Any]] = []
        for module, names in ((scipy.linalg.lapack, ROUTINES["lapack"]), (scipy.linalg.blas, ROUTINES["blas"])):
            for name in names:
                routine = getattr(module, name)
                self._kept.append((module, name, routine))
                setattr(module, name, functools.partial(self._timed, routine, 1 if name in ("dtrsm",) else 0))
        return self

    def __exit__(self, *error: object) -> None:
        for module, name, routine in self._kept:
            setattr(module, name, routine)

    def _timed(self, routine: Any, matrix: int, *arguments: Any, **settings: Any) -> Any:
        start = time.process_time()
        result = routine(*arguments, **settings)
        self.seconds += time.process_time() - start
        self.calls += 1
        if len(arguments) > matrix:
            self.largest = max(self.largest, len(arguments[matrix]))
        return result


def _report(out: Path, row: records.Row) -> None:
    records.append(out, row, COLUMNS)
    name = f"{row['method']} {row['problem']}-{row['dim']} batch {row['batch']} seed {row['seed']}"
    print(f"{name}: best {row['best']}, {row['own_ms']} ms an evaluation, floor {row['floor_s']} s", flush=True)


if __name__ == "__main__":
    main()
