"""How far do the two predecessors get, TuRBO and LaMCTS, as they are? The problems of shifted.py.

    python -m benchmarks.optimizer.references --reference DIR [--methods turbo lamcts] [--seeds 0-2] [--dim 20]

DIR holds git checkouts of uber-research/TuRBO and facebookresearch/LaMCTS as DIR/TuRBO and DIR/LaMCTS: see
benchmarks/peers/reference.py for licences and set-up. Rows go to results/shifted.csv; a row that exists is skipped.
"""

from pathlib import Path

from benchmarks import problems
from benchmarks.harness import script
from benchmarks.optimizer import shifted
from benchmarks.optimizer.shifted import Case
from benchmarks.peers import reference

METHODS = {"turbo": ("reference TuRBO-1", 10), "lamcts": ("reference LaMCTS-TuRBO", 1)}  # their names and batches


def main() -> None:
    given = script.parser(__doc__, shifted.FILE, "one short run a method; without checkouts, nothing to do")
    script.many(given, "0-2")
    given.add_argument("--reference", type=Path, help="folder that holds the checkouts TuRBO/ and LaMCTS/")
    given.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    given.add_argument("--problems", nargs="+", default=problems.NAMES)
    given.add_argument("--dim", type=int, default=20)
    given.add_argument("--budget", type=int, help="default: 1000 for turbo, 500 for lamcts (300 from 100 dimensions)")
    arguments = script.parsed(given, problems=["ackley"], seeds=[0], dim=4, budget=60)
    if arguments.reference is None:
        if arguments.smoke:
            print("references.py: skipped, needs --reference DIR with the two checkouts")
            return
        given.error("--reference DIR is needed: the folder that holds the checkouts TuRBO/ and LaMCTS/")
    reference.given(arguments.reference)
    cases = [
        case(method, problem, arguments.dim, seed, arguments.budget)
        for method in arguments.methods
        for seed in arguments.seeds
        for problem in arguments.problems
    ]
    shifted.record(cases, arguments.out, arguments.jobs)


def case(method: str, problem: str, dim: int, seed: int, budget: int | None = None) -> Case:
    """Return a run of one of `METHODS`."""
    name, batch = METHODS[method]
    return Case(name, problem, dim, batch, seed, budget or budget_of(batch, dim))


def budget_of(batch: int, dim: int) -> int:
    """Return how many evaluations are worth their hours: one by one LaMCTS takes a second for each, and more later."""
    return 1000 if batch > 1 else 300 if dim >= 100 else 500


if __name__ == "__main__":
    main()
