"""Do the tree's splits rank rows that they have not seen? The gap of mean ranks between the sides, on fresh rows.

    python -m benchmarks.split_gap [--dims 5 20 100 500] [--seeds 5]

Random rows of each problem, with the optimum shifted ("ackley") and where the paper has it ("ackley-centred"), are
split once by each method; 2000 further rows tell the gap: 0.5 is a perfect split by value, 0 is none. The first six
methods always split, to compare the ways; "plain" is k-means and SVM with merit at weight 1, as in the paper. The last
three are the splitters as the tree uses them, with their check on held-out rows: `split` says whether they split at
all, and `gap` is that of the splits they made. Rows go to results/split_gap.csv, summed up on the screen.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import problems, records
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="+", default=[5, 20, 100, 500])
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=records.RESULTS / "split_gap.csv")
    parser.add_argument("--smoke", action="store_true", help="3 dimensions, 60 rows, 1 seed into a temporary file")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.dims, arguments.rows, arguments.seeds = [3], [60], 1
        arguments.out = Path(tempfile.mkdtemp()) / "smoke.csv"
    Linear().fit(*rows_of("ackley", 2, 60, 0)[:2], np.random.default_rng(0))  # imports are not timed
    KMeansSvm().fit(*rows_of("ackley", 2, 60, 0)[:2], np.random.default_rng(0))
    done = records.recorded(arguments.out, KEY)
    for dim in arguments.dims:
        for name in [name + kind for name in problems.NAMES for kind in ("", "-centred")]:
            for n in arguments.rows:
                for seed in range(arguments.seeds):
                    if tuple(map(str, (list(METHODS)[-1], name, dim, n, seed))) in done:
                        continue
                    for row in measure(name, dim, n, seed):
                        records.append(arguments.out, row, COLUMNS)
    show(arguments.out)


def measure(problem: str, dim: int, n: int, seed: int) -> list[records.Row]:
    """Return one record for each method on the same rows."""
    x, merit, fresh, value = rows_of(problem, dim, n, seed)
    result = []
    for method, splitter in METHODS.items():
        start = time.process_time()
        split = splitter.fit(x, merit, np.random.default_rng(seed))
        seconds = time.process_time() - start
        row = dict(zip(KEY, (method, problem, dim, n, seed), strict=True))
        row |= {"split": int(split is not None), "seconds": f"{seconds:.4f}"}
        row |= {"gap": f"{evidence((split.good(fresh), value)).gap:.4f}" if split else ""}
        result.append(row | {"versions": records.versions(["numpy", "scikit-learn"])})
    return result


def rows_of(problem: str, dim: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return `n` random rows and their merits, then `FRESH` further ones and theirs."""
    name, _, centred = problem.partition("-")
    objective = make(name, dim=dim) if centred else problems.shifted(name, dim)
    x = np.random.default_rng(seed).random((n + FRESH, dim))
    points = np.array([objective.space.decode(row) for row in x])
    merit = -objective.many(points)
    order = np.argsort(np.argsort(merit[:n])) / (n - 1)
    return x[:n], order, x[n:], merit[n:]


def show(path: Path) -> None:
    """Print medians over problems and seeds: the gap, how many split, and the milliseconds of a fit."""
    rows = records.read(path)
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
