"""How many evaluations until a linear policy swims? Swimmer-v5, 16 weights in [-1, 1], 3 rollouts an evaluation.

    python -m benchmarks.optimizer.swimmer [--seeds 0-4] [--jobs 2]

A threshold counts as reached at the first evaluation whose incumbent, scored again on 20 fresh episodes, has a mean
above it (thesis, table 5.2: 325 after 126 samples). Every method starts with the policy that does nothing, W = 0,
whose score stands in each row. Noise is the trial's own, as in `minimize`. Rows go to results/swimmer.csv.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks import peers
from benchmarks.harness import measure as one_run
from benchmarks.harness import script
from benchmarks.harness.measure import FRESH_EPISODES, fresh
from benchmarks.harness.search import Search
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result, Row, Task
from benchmarks.harness.versions import OURS, versions
from lamcts import objectives

THRESHOLD = 325.0
SHOWN = (100, 200, 300, 500, 1000)
PACKAGES = (*OURS, "gymnasium", "mujoco")


class Swim(NamedTuple):
    """One run; its fields are the key of its row."""

    method: str
    objective: str
    seed: int
    budget: int


COLUMNS = (
    *Swim._fields, "w0", "reached_at", *(f"best_{m}" for m in SHOWN), "best", "rescored", "rescored_sd", "episodes",
    "rescoring_episodes", "own_ms", "versions",
)  # fmt: skip


def main() -> None:
    given = script.parser(__doc__, "swimmer.csv", "12 evaluations")
    script.many(given, "0-4")
    given.add_argument("--methods", nargs="+", default=["lamcts"], metavar="NAME", help="of ours")
    given.add_argument("--budget", type=int, default=1000)
    arguments = script.parsed(given, seeds=[0], budget=12)
    for name in arguments.methods:
        if peers.find(name).module != "ours":
            given.error(f"expected methods of ours, such as 'lamcts' or 'lamcts cma, tree', got {name!r}")
    swims = [Swim(name, "swimmer", seed, arguments.budget) for seed in arguments.seeds for name in arguments.methods]
    sheet = Sheet(arguments.out, Swim._fields, COLUMNS)
    script.record(swims, sheet, "benchmarks.optimizer.swimmer:measure", arguments.jobs)


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    swim = Swim(**fields)
    one_run.warm(Task(swim.method, "smoke", 1, swim.seed, 0))
    search = Search(objectives.make(swim.objective), swim.seed, swim.budget)
    one_run.go(lambda search: one_by_one(search, **peers.find(swim.method).settings), search)
    row = swim._asdict() | {f"best_{m}": _told(search, m) for m in SHOWN if m <= swim.budget}
    row |= {"best": _told(search, swim.budget), "own_ms": f"{1e3 * search.own_total / swim.budget:.3g}"}
    row |= {"episodes": search.objective.rollouts * swim.budget, "versions": versions(PACKAGES)}
    return row | judged(search), None


def one_by_one(search: Search, **settings: Any) -> None:
    """Ours, where every evaluation draws the noise of its trial."""
    opt = search.optimizer(maximize=False, **settings)
    while search.left:
        (trial,) = opt.ask(1)
        opt.tell([trial], search.evaluate_all([trial.point], [trial.seed]))


def judged(search: Search) -> Row:
    """Return what fresh episodes say: when the threshold was reached, of the last incumbent, and of the start."""
    seeds = iter(range(10**6 * (search.seed + 1), 10**6 * (search.seed + 2)))  # none serves twice
    passed = list(_passed(search, seeds))  # the last of them is the one that counts, if any
    again = fresh(search.objective, search.points[-1], next(seeds))
    start = fresh(search.objective, search.objective.x0, next(seeds))
    return {
        "reached_at": passed[-1][0] if passed and passed[-1][1] > THRESHOLD else "",
        "rescoring_episodes": FRESH_EPISODES * len(passed),
        "rescored": f"{again.mean():.1f}",
        "rescored_sd": f"{again.std(ddof=1):.1f}",
        "w0": f"{start.mean():.1f}",
    }


def _passed(search: Search, seeds: Iterator[int]) -> Iterator[tuple[int, float]]:
    """Yield each incumbent that seemed above the threshold, by its evaluation, and its fresh mean; up to the first."""
    for (n, value), point in zip(search.improved, search.points, strict=True):
        if value > THRESHOLD:
            mean = float(fresh(search.objective, point, next(seeds)).mean())
            yield n, mean
            if mean > THRESHOLD:
                return


def _told(search: Search, n: int) -> str:
    return f"{one_run.best_after(search.improved, n):.1f}"


if __name__ == "__main__":
    main()
