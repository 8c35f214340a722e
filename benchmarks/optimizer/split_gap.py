"""Do the tree's splits rank rows that they have not seen? The gap of mean ranks between the sides, on fresh rows.

    python -m benchmarks.optimizer.split_gap [--dims 5 20 100 500] [--seeds 5]

Random rows of each problem, with the optimum shifted ("ackley") and where the paper has it ("ackley-centred"), are
split once by each method; 2000 further rows tell the gap: 0.5 is a perfect split by value, 0 is none. The first six
methods always split, to compare the ways; "plain" is k-means and SVM with utility at weight 1 (the paper). The last
three are the splitters as the tree uses them, with their check on held-out rows: `split` says whether they split at
all, and `gap` is that of the splits they made. Rows go to results/split_gap.csv, summed up on the screen.
"""

import statistics
import time
from functools import lru_cache
from itertools import product

import numpy as np

from benchmarks import problems
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.objectives import make
from lamcts.tree import KMeansSvm, Linear, Splitter, evidence

KEY = ("method", "problem", "dim", "rows", "seed")
COLUMNS = (*KEY, "split", "gap", "seconds", "versions")
FRESH = 2000
METHODS: dict[str, Splitter] = {
    "plain": KMeansSvm(y_weight=(1.0,), labels=("kmeans",), check=None),
    "kmeans": KMeansSvm(y_weight=(None,), labels=("kmeans",), check=None),
    "median": KMeansSvm(labels=("median",), check=None),
    "residual": KMeansSvm(labels=("residual",), check=None),
    "poly2": KMeansSvm(kernel="poly", check=None),
    "poly3": KMeansSvm(kernel="poly", degree=3, check=None),
    "rbf, checked": KMeansSvm(),
    "linear, checked": KMeansSvm(kernel="linear"),
    "lanas, checked": Linear(),
}


def main() -> None:
    given = script.parser(__doc__, "split_gap.csv", "3 dimensions, 60 rows, 1 seed")
    given.add_argument("--dims", type=int, nargs="+", default=[5, 20, 100, 500])
    given.add_argument("--rows", type=int, nargs="+", default=[200, 1000])
    given.add_argument("--seeds", type=int, default=5, help="how many")
    arguments = script.parsed(given, dims=[3], rows=[60], seeds=1)
    for splitter in (Linear(), KMeansSvm()):  # imports are not timed
        splitter.fit(*rows_of("ackley", 2, 60, 0)[:2], np.random.default_rng(0))
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    names = [name + kind for name in problems.NAMES for kind in ("", "-centred")]
    for dim, name, n, seed in product(arguments.dims, names, arguments.rows, range(arguments.seeds)):
        for method, *rest in sheet.missing((method, name, dim, n, seed) for method in METHODS):
            sheet.append(measure(method, *rest))
    show(sheet.rows())


def measure(method: str, problem: str, dim: int, n: int, seed: int) -> Row:
    """Return the row of one method; all methods see the same rows."""
    x, utility, fresh, value = rows_of(problem, dim, n, seed)
    start = time.process_time()
    split = METHODS[method].fit(x, utility, np.random.default_rng(seed))
    seconds = time.process_time() - start
    row = dict(zip(KEY, (method, problem, dim, n, seed), strict=True))
    row |= {"split": int(split is not None), "seconds": f"{seconds:.4f}"}
    row |= {"gap": f"{evidence((split.good(fresh), value)).gap:.4f}" if split else ""}
    return row | {"versions": versions(["numpy", "scikit-learn"])}


@lru_cache(maxsize=1)
def rows_of(problem: str, dim: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return `n` random rows and their utilities, then `FRESH` further ones and theirs."""
    name, _, centred = problem.partition("-")
    objective = make(name, dim=dim) if centred else problems.shifted(name, dim)
    x = np.random.default_rng(seed).random((n + FRESH, dim))
    points = np.array([objective.space.decode(row) for row in x])
    utility = -objective.many(points)
    order = np.argsort(np.argsort(utility[:n])) / (n - 1)
    return x[:n], order, x[n:], utility[n:]


def show(rows: list[dict[str, str]]) -> None:
    """Print medians over problems and seeds: the gap, how many split, and the milliseconds of a fit."""
    for dim, n in sorted({(int(r["dim"]), int(r["rows"])) for r in rows}):
        print(f"\nd = {dim}, {n} rows       gap shifted   centred     splits   ms a fit")
        for method in METHODS:
            mine = [r for r in rows if (r["method"], int(r["dim"]), int(r["rows"])) == (method, dim, n)]
            gaps = [[float(r["gap"]) for r in mine if r["gap"] and ("-" in r["problem"]) == c] for c in (False, True)]
            shown = "".join(f"{statistics.median(g):12.3f}" if g else f"{'-':>12}" for g in gaps)
            split = sum(int(r["split"]) for r in mine)
            ms = 1e3 * statistics.median(float(r["seconds"]) for r in mine)
            print(f"{method:18}{shown}{split:8}/{len(mine)}{ms:11.1f}")


if __name__ == "__main__":
    main()
