"""Does a search find the best tiling of a loop nest within 60 evaluations?

    python -m benchmarks.movement.costs.tilings [--seeds 0-9] [--methods lamcts tpe "local search" random] [--budget 60]
    python -m benchmarks.movement.costs.tilings --start none

A point is the order of the loops and a tile size for each; its value the exact misses. The nests are small, so that the
optimum is known by enumeration: `optimum`, kept with the lower bound in results/tiling_optima.csv. `hit` is the
evaluation that reached it, empty where none of the budget did; `at_60` is how many more misses the best of 60 had, as a
share. The first evaluation of each method is the start of the objective, the tiling of `costs.resident_tiling`; with
--start none it is random. Optuna sees the order as one category. "local search" exchanges two loops, or doubles,
halves, increases or decreases one tile, takes the first tiling that is better, and starts again from a random one where
none is.
Rows go to results/tilings.csv.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import RESULTS, Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import commit, versions
from lamcts import objectives

KEY = ("nest", "method", "start", "seed", "budget")
MARKS = (10, 20, 30, 60)
COLUMNS = (*KEY, "optimum", "hit", *(f"at_{mark}" for mark in MARKS), "own_ms", "versions")
OPTIMA = Sheet(RESULTS / "tiling_optima.csv", ("nest",), ("nest", "optimum", "bound", "points", "best_points"))
NESTS: dict[str, dict[str, Any]] = {
    "matmul": {"nest": "matmul", "size": 12, "memory": 24},
    "matvec": {"nest": "matvec", "size": 24, "memory": 16},
    "mttkrp": {"nest": "mttkrp", "sizes": {"N": 5, "R": 5}, "memory": 24},
    "contraction": {"nest": "contraction", "size": 5, "memory": 24},
    "conv2d": {"nest": "conv2d", "sizes": {"N": 10, "k": 3}, "memory": 24},
    "attention scores": {
        "nest": "for h in H: for i,j in L: for t in D: S[h,i,j] += Q[h,i,t]*K[h,j,t]",
        "sizes": {"H": 3, "L": 6, "D": 5},
        "memory": 16,
    },
}
Point = dict[str, Any]
Value = Callable[[Point], float]


class Found(Exception):
    """The optimum was measured, or the budget is used up."""


class Count:
    """The misses of tilings, counted: `hit` is when the optimum came, `best` the best so far after each."""

    def __init__(self, name: str, optimum: float, budget: int) -> None:
        self.objective, self.optimum, self.budget = objective(name), optimum, budget
        self.best: list[float] = []
        self.hit: int | None = None
        self.seconds = 0.0  # of the objective itself

    def __call__(self, point: Point) -> float:
        began = time.process_time()
        value = self.objective(point)
        self.seconds += time.process_time() - began
        self.best.append(min([value, *self.best[-1:]]))
        if value <= self.optimum:
            self.hit = len(self.best)
        if self.hit is not None or len(self.best) >= self.budget:
            raise Found
        return value


@cache
def objective(name: str) -> Any:
    return objectives.make("tiling", **NESTS[name])


def with_lamcts(value: Value, name: str, seed: int, start: Point | None) -> None:
    """Search with the defaults."""
    optimizer = lamcts.Optimizer(objective(name).space, seed=seed, x0=None if start is None else [start])
    while True:
        (trial,) = optimizer.ask()
        optimizer.tell(trial, value(trial.point))


def with_tpe(value: Value, name: str, seed: int, start: Point | None) -> None:
    """Search with Optuna's default sampler."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    extents = objective(name).nest.tiled().tiles
    orders = ["".join(order) for order in itertools.permutations(extents)]
    if start is not None:
        tiles = {loop: start[f"tile_{loop}"] for loop in extents}
        study.enqueue_trial({"order": "".join(start["order"]), **tiles})
    while True:
        trial = study.ask()
        tiles = {f"tile_{loop}": trial.suggest_int(loop, 1, extent, log=True) for loop, extent in extents.items()}
        study.tell(trial, value({"order": tuple(trial.suggest_categorical("order", orders)), **tiles}))


def with_local_search(value: Value, name: str, seed: int, start: Point | None) -> None:
    """Search by single changes, from a new random tiling wherever no change helps."""
    rng, known = np.random.default_rng([seed, 1]), dict[tuple[Any, ...], float]()

    def measured(point: Point) -> float:
        key = tuple(point.values())
        if key not in known:
            known[key] = value(point)
        return known[key]

    for first in _drawn(name, seed, start):
        point, best, better = first, measured(first), True
        while better:
            better = False
            near = list(_neighbours(point, objective(name).nest.tiled().tiles))
            for i in rng.permutation(len(near)):
                if (found := measured(near[i])) < best:
                    point, best, better = near[i], found, True
                    break


def at_random(value: Value, name: str, seed: int, start: Point | None) -> None:
    for point in _drawn(name, seed, start):
        value(point)


METHODS: dict[str, Callable[[Value, str, int, Point | None], None]] = {
    "lamcts": with_lamcts,
    "tpe": with_tpe,
    "local search": with_local_search,
    "random": at_random,
}


def _drawn(name: str, seed: int, start: Point | None) -> Iterator[Point]:
    """Yield the start, if any, and random tilings, tile sizes evenly on a logarithmic scale."""
    if start is not None:
        yield start
    space, rng = objective(name).space, np.random.default_rng([seed, 2])
    while True:
        yield space.decode(space.sample(1, rng)[0])


def _neighbours(point: Point, extents: dict[str, int]) -> Iterator[Point]:
    order = point["order"]
    for i, j in itertools.combinations(range(len(order)), 2):
        swapped = list(order)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        yield {**point, "order": tuple(swapped)}
    for loop, extent in extents.items():
        size = point[f"tile_{loop}"]
        for other in sorted({size * 2, size // 2, size + 1, size - 1} - {size}):
            if 1 <= other <= extent:
                yield {**point, f"tile_{loop}": other}


def enumerate_optimum(name: str) -> float:
    """Return the least misses of all tilings, from the sheet if it is there."""
    for row in OPTIMA.rows():
        if row["nest"] == name:
            return float(row["optimum"])
    f, extents = objective(name), objective(name).nest.tiled().tiles
    values = [
        f({"order": order, **{f"tile_{loop}": size for loop, size in zip(extents, sizes, strict=True)}})
        for order in itertools.permutations(extents)
        for sizes in itertools.product(*(range(1, extent + 1) for extent in extents.values()))
    ]
    best = min(values)
    row = {"nest": name, "optimum": f"{best:g}", "bound": f"{f.bound:.6g}", "points": len(values)}
    OPTIMA.append(row | {"best_points": values.count(best)})
    return best


def measure(name: str, method: str, start: str, seed: int, budget: int) -> Row:
    """Return the row of one search."""
    value, began = Count(name, enumerate_optimum(name), budget), time.process_time()
    try:
        METHODS[method](value, name, seed, objective(name).x0 if start == "model" else None)
    except Found:
        own = 1000 * (time.process_time() - began - value.seconds) / len(value.best)
    marks = {
        f"at_{mark}": f"{value.best[min(mark, len(value.best)) - 1] / value.optimum - 1:.4g}"
        for mark in MARKS
        if mark <= budget
    }
    row = dict(zip(KEY, (name, method, start, seed, budget), strict=True)) | marks
    row |= {"optimum": f"{value.optimum:g}", "hit": value.hit or "", "own_ms": f"{own:.3g}"}
    return row | {"versions": f"commit {commit()} {versions(('lamcts', 'optuna', 'numpy'))}"}


def report(sheet: Sheet, nests: Sequence[str], methods: Sequence[str], start: str, budget: int) -> None:
    """Print for each nest and method how many seeds reached the optimum, and how far the others were from it."""
    for name in nests:
        first = objective(name)(objective(name).x0) / enumerate_optimum(name)
        print(f"{name:18}{'start':14}{first:.2f} times the least misses")
        for method in methods:
            wanted = (name, method, start, str(budget))
            mine = [row for row in sheet.rows() if tuple(row[name] for name in KEY if name != "seed") == wanted]
            hits = sorted(int(row["hit"]) for row in mine if row["hit"])
            over = [float(row[f"at_{max(m for m in MARKS if m <= budget)}"]) for row in mine]
            when = f"after {int(np.median(hits))} in the median" if hits else "never"
            print(
                f"{name:18}{method:14}{len(hits)} of {len(mine)} optimal, {when}; {np.mean(over):.1%} more on average"
            )


def main() -> None:
    given = script.parser(__doc__, "tilings.csv", "two methods on one nest")
    script.many(given, "0-9")
    given.add_argument("--nests", nargs="+", default=[*NESTS], choices=[*NESTS])
    given.add_argument("--methods", nargs="+", default=[*METHODS], choices=[*METHODS])
    given.add_argument("--start", choices=["model", "none"], default="model")
    given.add_argument("--budget", type=int, default=60)
    found = script.parsed(given, seeds=[0], nests=["matvec"], methods=["lamcts", "local search"], budget=20)
    sheet = Sheet(found.out, KEY, COLUMNS)
    keys = [
        (name, method, found.start, seed, found.budget)
        for name in found.nests
        for seed in found.seeds
        for method in found.methods
    ]
    for name, method, start, seed, budget in sheet.missing(keys):
        sheet.record(measure(str(name), str(method), str(start), int(seed), int(budget)))
    report(sheet, found.nests, found.methods, found.start, found.budget)


if __name__ == "__main__":
    main()
