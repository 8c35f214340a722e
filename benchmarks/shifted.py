"""Which method gets how far? Shifted Ackley, Rosenbrock, Rastrigin and Levy, d = 20, 1000 evaluations, 10 seeds.

    python -m benchmarks.shifted [--jobs 2] [--seeds 0 1 2] [--methods lamcts random] [--rotated]

Batches of 10 for everybody who takes batches. Rows go to results/shifted.csv, beside those of references.py.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks import ours, problems, records

METHODS = ("lamcts", "lamcts turbo, no tree", "lamcts cma, no tree", "pycma", "random")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=[*ours.SETTINGS, *ours.METHODS])
    parser.add_argument("--problems", nargs="+", default=problems.NAMES)
    parser.add_argument("--rotated", action="store_true", help="turn every problem about its optimum")
    parser.add_argument("--dim", type=int, default=20)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10))
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=records.RESULTS / "shifted.csv")
    parser.add_argument("--smoke", action="store_true", help="every method once, small, into a temporary file")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.problems, arguments.seeds, arguments.dim, arguments.budget = ["ackley"], [0], 4, 60
        arguments.out = Path(tempfile.mkdtemp()) / "smoke.csv"
    names = [name + "-rotated" * arguments.rotated for name in arguments.problems]
    tasks = [
        ours.Task(method, name, arguments.dim, arguments.batch, seed, arguments.budget)
        for seed in arguments.seeds
        for name in names
        for method in arguments.methods
    ]
    ours.run_all(tasks, arguments.out, arguments.jobs)


if __name__ == "__main__":
    main()
