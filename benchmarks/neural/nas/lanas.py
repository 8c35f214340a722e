"""How many samples until the best cell of NAS-Bench-101? LaNAS (thesis ch. 4, figs. 4.4 to 4.6) and others.

    python -m benchmarks.neural.nas.lanas [--data nasbench101] [--seeds 0-9] [--jobs 1] [--methods ...] [--cap 5000]
    python -m benchmarks.neural.nas.lanas --table

A sample is a different valid cell, by its graph; cells that come again and points that are no cell are free. The value
is the mean test accuracy at 108 epochs, per cent, and the target the best there is. 41 runs that were published with
the code of LaNAS took 568 to 4,846 samples, 2,056 in the median. Random search takes (N + 1) / 2 in expectation.

Methods search the rows of the table, each as often as any other, as the published code does; "(encodings)": the 26
variables of the thesis, of which a small cell has many points and the best one few. `curve`: each better value with
the number of its sample. `--data nasbench-macro`: the 6,561 networks of NAS-Bench-Macro, of one point each; `--data
supernet201`: the 4,930 of `benchmarks.neural.nas.supernet_table` by shared weights (fig. 4.4, the supernet's column);
`--grid`: LaNAS of other heights and selects (fig. 4.6 a). Rows go to results/lanas.csv; the data's folder is
LAMCTS_DATA.
"""

import statistics
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.search import Enough, Search
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import versions
from benchmarks.neural.nas import cells, supernet_table
from benchmarks.peers import native
from lamcts import objectives
from lamcts.neural.metadnn import MetaDnn
from lamcts.neural.searches import lanas
from lamcts.neural.searches.alphax import Ridge
from lamcts.spaces import Canonical

MARKS = (100, 150, 500, 1000, 2000, 5000)  # samples: 150 is what papers on tables show, 5,000 the cap
REPEATS = 10  # evaluations for each sample of the cap, after which a peer that repeats itself is stopped
MADE_UP = 2000  # cells of --smoke, of which those with equal edges fall together
SUPERNET = "supernet201"
TABLES = ("nasbench101", "nasbench-macro", SUPERNET)


class Case(NamedTuple):
    """One run; its fields are the key of its row."""

    method: str
    data: str
    cap: int
    seed: int


COLUMNS = (*Case._fields, "reached_at", "samples", *(f"best_{m}" for m in MARKS), "own_s", "curve", "versions")
DNN = MetaDnn("mlp", hidden=(128, 128), epochs=40, batch=128)  # half a second at 1,000 rows
CODE: dict[str, Any] = {"height": 4, "first": 10, "selects": 20, "share": 0.2 * 2**0.5}  # of the published code
PUBLISHED: dict[str, dict[str, Any]] = {
    "lamcts": {},
    "lanas": lanas.published(),
    "lanas, bayes linear": lanas.improved(),
    "lanas, bayes linear of values": lanas.published(model=Ridge()),
    "lanas, bayes meta-DNN": lanas.published(model=DNN),
    "meta-DNN, no tree": lanas.published(model=DNN)
    | {
        "sampler": lanas.published(model=DNN)["sampler"].inner,
        "n_init": lanas.FIRST,
    },
    "lanas as its code": lanas.published(**CODE),
    "lanas as its code, bayes linear": lanas.published(**CODE, model=Ridge()),
}
HEIGHTS, SELECTS = (4, 6, 8), (20, 50, 100)  # of fig. 4.6 (a), whose own are in a picture alone
GRID = {(h, s): f"lanas, height {h}, selects {s}" for h in HEIGHTS for s in SELECTS}
PUBLISHED |= {name: lanas.published(height=h, selects=s) for (h, s), name in GRID.items()}
SPACES = {f"{name}{where}": name for name in PUBLISHED for where in ("", " (encodings)")}
PEERS = {"evolution (encodings)": "evolution 100", "local search (encodings)": "local search"}
METHODS = (*SPACES, *PEERS)


class Problem(NamedTuple):
    """What is searched: a space, the value of a point, what tells it from others, and the best value."""

    space: Any
    value: Callable[[Any], float]
    key: Callable[[Any], Any]
    optimum: float


@cache
def of_cells(data: str) -> Problem:
    """Return the cells of the table as points: their numbers; where each network has one point, that."""
    if data in ("nasbench-macro", SUPERNET):
        return of_encodings(data)
    found = cells.load() if data == "nasbench101" else cells.made_up(MADE_UP, 6)
    accuracy = 100 * found.accuracy
    space = lamcts.Finite(np.arange(len(accuracy)), features=variables(found))
    return Problem(space, lambda row: float(accuracy[row]), int, float(accuracy.max()))


@cache
def of_encodings(data: str) -> Problem:
    """Return the variables of a table; points that are no network are never proposed."""
    if data == SUPERNET:
        space = Canonical(supernet_table.SPACE.space, supernet_table.SPACE.key, name=data)
        return Problem(space, supernet_table.value, supernet_table.SPACE.key, max(supernet_table.known().values()))
    f: Any = objectives.make(data)
    return Problem(f.space, f, f.architectures.key, f.optimum)


def variables(found: cells.Cells) -> np.ndarray:
    """Return the bit of each edge and which operation each inner vertex has, [n, 36]; vertices are missing at the end.

    The output is the last vertex, as in `lamcts.neural.nas.NasBench101`.
    """
    last, columns = found.vertices - 1, []
    for j in range(cells.MOST):
        end = np.where(j == cells.MOST - 1, last, np.where(last > j, j, 0))  # 0: no edge leads there
        for i in range(j):
            shift = i + end * (end - 1) // 2
            columns.append((end > i) * (found.edges >> np.where(end > i, shift, 0) & 1))
    here = cells.codes(found)[:, 1:-1]
    columns += [here[:, t] == kind for t in range(cells.MOST - 2) for kind in range(3)]
    return np.column_stack(columns).astype(float)


class Reached(Exception):
    """The best cell was found, or the cap is reached."""


class Counted:
    """The objective of a run, which counts the different cells and notes each better one."""

    maximize, x0, name = True, None, "nasbench101"

    def __init__(self, problem: Problem, cap: int) -> None:
        self.problem, self.cap, self.space, self.optimum = problem, cap, problem.space, problem.optimum
        self.seen: set[Any] = set()
        self.better: list[tuple[int, float]] = []

    def __call__(self, point: Any, *, seed: int | None = None) -> float:
        value = self.problem.value(point)
        self.seen.add(self.problem.key(point))
        if not self.better or value > self.better[-1][1]:
            self.better.append((len(self.seen), value))
        if value == self.optimum or len(self.seen) >= self.cap:
            raise Reached
        return value

    def best(self, samples: int) -> float:
        """Return the best value of the first samples."""
        return max(value for at, value in self.better if at <= samples)


def run(case: Case) -> Counted:
    """Run one case to its end: the best network, the cap, or all networks."""
    objective = Counted(problem(case), case.cap)
    try:
        if case.method in PEERS:
            native.load(PEERS[case.method])(Search(objective, case.seed, REPEATS * case.cap))
        settings = PUBLISHED[SPACES[case.method]]
        optimizer = lamcts.Optimizer(objective.space, maximize=True, seed=case.seed, **settings)
        while True:
            (trial,) = optimizer.ask()
            optimizer.tell(trial, objective(trial.point))
    except (Reached, Enough, lamcts.Exhausted):
        return objective


def problem(case: Case) -> Problem:
    """Return what a case searches."""
    return of_encodings(case.data) if case.method.endswith("(encodings)") else of_cells(case.data)


def measure(**fields: Any) -> Result:
    """Return the row of the case with these fields."""
    case = Case(**fields)
    problem(case)  # what is loaded is no own time
    start = time.process_time()
    found = run(case)
    samples, best = len(found.seen), found.better[-1][1]
    row = case._asdict() | {"reached_at": samples if best == found.optimum else "", "samples": samples}
    row |= {f"best_{m}": f"{found.best(m):.4f}" for m in MARKS if m <= case.cap}
    row |= {"own_s": f"{time.process_time() - start:.1f}", "versions": versions(["lamcts", "numpy", "torch"])}
    return row | {"curve": " ".join(f"{at}:{value:.4f}" for at, value in found.better)}, None


def main() -> None:
    given = script.parser(__doc__, "lanas.csv", "two methods on made-up cells")
    script.many(given, "0-9")
    default = ["lanas", "lanas, bayes meta-DNN", "lanas (encodings)", *PEERS]
    given.add_argument("--methods", nargs="+", default=default, choices=METHODS)
    given.add_argument("--cap", type=int, default=5000, help="samples at most")
    given.add_argument("--data", default=TABLES[0], choices=TABLES)
    given.add_argument("--grid", action="store_true", help="run the methods of fig. 4.6 (a)")
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there, run nothing")
    arguments = script.parsed(given, seeds=[1], cap=260, methods=["lanas", "lanas, bayes linear"])
    data = "made up" if arguments.smoke else arguments.data
    methods = [*GRID.values()] if arguments.grid else arguments.methods
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    tasks = [Case(name, data, arguments.cap, seed) for seed in arguments.seeds for name in methods]
    if not arguments.table:
        script.record(tasks, sheet, "benchmarks.neural.nas.lanas:measure", arguments.jobs)
    mine = [row for row in sheet.rows() if row["data"] == data]
    for cap in sorted({row["cap"] for row in mine}, key=int):
        show(cap, [row for row in mine if row["cap"] == cap])
    print("published with the code: 2056 in the median of 41 runs; random search: 211,812 in expectation")


def show(cap: str, rows: list[dict[str, str]]) -> None:
    """Print for each method how many samples it takes; runs that end without the target count as their cap."""
    print(f"\nat most {cap} samples")
    print(f"{'':36}{'runs':>5}{'reached':>8}{'median':>8}{'best_150':>9}{'_1000':>9}{'seconds':>8}")
    for name in METHODS:
        if mine := [row for row in rows if row["method"] == name]:
            median = statistics.median(int(row["samples"]) for row in mine)
            reached = sum(bool(row["reached_at"]) for row in mine)
            best = [statistics.mean(float(row[f"best_{m}"] or "nan") for row in mine) for m in (150, 1000)]
            seconds = statistics.median(float(row["own_s"]) for row in mine)
            print(f"{name:36}{len(mine):5}{reached:8}{median:8.0f}{best[0]:9.3f}{best[1]:9.3f}{seconds:8.0f}")


if __name__ == "__main__":
    main()
