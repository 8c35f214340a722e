"""How many evaluations does the best round trip of a dozen cities take, where nobody tells what a trip costs?

    python -m benchmarks.discrete.tours [--seeds 0-19] [--methods lamcts random 2-opt] [--cities 12] [--budget 400]

A seed draws the cities, evenly in the unit square, and a tour's value is its length: a method sees orders and lengths,
nothing else. The shortest tour is known by the dynamic programme of Held and Karp (1962). `hit` is the evaluation that
reached it, empty where none of the budget did; `at_100` is how much longer the best of 100 was, as a share. "2-opt"
turns stretches round in random order, goes to the first tour that is shorter, and starts anew where none is; no tour
is measured twice, wherever it begins and whichever way it goes. Rows go to results/tours.csv.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import commit, versions

Floats = NDArray[np.float64]
Tour = Sequence[int]
Length = Callable[[Tour], float]
KEY = ("method", "cities", "seed", "budget")
MARKS = (50, 100, 200, 400)
COLUMNS = (*KEY, "hit", *(f"at_{mark}" for mark in MARKS), "own_ms", "versions")
ROUNDING = 1e-9  # of a length: sums of the same legs in another order


class Found(Exception):
    """The shortest tour was measured, or the budget is used up."""


class Count:
    """The length of tours, counted: `hit` is when the shortest came, `best` the shortest so far after each."""

    def __init__(self, legs: Floats, budget: int) -> None:
        self.legs, self.budget, self.shortest = legs, budget, shortest(legs)
        self.best: list[float] = []
        self.hit: int | None = None

    def __call__(self, tour: Tour) -> float:
        value = float(self.legs[tour, np.roll(tour, -1)].sum())
        self.best.append(min([value, *self.best[-1:]]))
        if value <= self.shortest * (1 + ROUNDING):
            self.hit = len(self.best)
        if self.hit is not None or len(self.best) >= self.budget:
            raise Found
        return value


def legs_of(seed: int, cities: int) -> Floats:
    """Return the distances of cities drawn by a seed, [n, n]."""
    places = np.random.default_rng(seed).random((cities, 2))
    return np.asarray(np.sqrt(np.square(places[:, None] - places).sum(2)))


def shortest(legs: Floats) -> float:
    """Return the length of the shortest round trip: of all sets of cities, the shortest way through to each of them."""
    last = len(legs) - 1
    ways = np.full((1 << last, last), np.inf)
    for to in range(last):
        ways[1 << to, to] = legs[last, to]
    for visited in range(1, 1 << last):
        for to in range(last):
            if visited >> to & 1 and visited != 1 << to:
                ways[visited, to] = (ways[visited ^ (1 << to)] + legs[:last, to]).min()
    return float((ways[-1] + legs[:last, last]).min())


def with_lamcts(length: Length, cities: int, seed: int) -> None:
    """Search with the defaults."""
    optimizer = lamcts.Optimizer(lamcts.Permutation(cities), seed=seed)
    while True:
        (trial,) = optimizer.ask()
        optimizer.tell(trial, length(trial.point))


def at_random(length: Length, cities: int, seed: int) -> None:
    for tour in _drawn(cities, seed):
        length(tour)


def with_2_opt(length: Length, cities: int, seed: int) -> None:
    """Search by stretches turned round, from a new tour wherever that helps no more."""
    rng, known = np.random.default_rng([seed, 1]), dict[tuple[int, ...], float]()

    def measured(tour: list[int]) -> float:
        key = _same(tour)
        if key not in known:
            known[key] = length(tour)
        return known[key]

    for start in _drawn(cities, seed):
        tour, value, better = start, measured(start), True
        while better:
            better = False
            for i, j in rng.permutation([*combinations(range(cities), 2)]):
                near = tour[:i] + tour[i : j + 1][::-1] + tour[j + 1 :]
                if (found := measured(near)) < value:
                    tour, value, better = near, found, True
                    break


METHODS: dict[str, Callable[[Length, int, int], None]] = {
    "lamcts": with_lamcts,
    "random": at_random,
    "2-opt": with_2_opt,
}


def _drawn(cities: int, seed: int) -> Iterator[list[int]]:
    rng = np.random.default_rng([seed, 2])
    while True:
        yield rng.permutation(cities).tolist()


def _same(tour: list[int]) -> tuple[int, ...]:
    """Return the tour from city 0 on, to the lower of its neighbours first."""
    at = tour.index(0)
    turned = tour[at:] + tour[:at]
    return tuple(turned) if turned[1] < turned[-1] else (0, *turned[:0:-1])


def measure(method: str, cities: int, seed: int, budget: int) -> Row:
    """Return the row of one search."""
    length, began = Count(legs_of(seed, cities), budget), time.process_time()
    try:
        METHODS[method](length, cities, seed)
    except Found:
        own = 1000 * (time.process_time() - began) / len(length.best)
    marks = {f"at_{mark}": _over(length, mark) for mark in MARKS if mark <= budget}
    row = dict(zip(KEY, (method, cities, seed, budget), strict=True)) | marks | {"hit": length.hit or ""}
    return row | {"own_ms": f"{own:.3g}", "versions": f"commit {commit()} {versions(('lamcts', 'numpy', 'scipy'))}"}


def _over(length: Count, mark: int) -> str:
    """Return by how much the best after so many evaluations was longer, as a share."""
    return f"{length.best[min(mark, len(length.best)) - 1] / length.shortest - 1:.4g}"


def report(sheet: Sheet, methods: Sequence[str], cities: int, budget: int) -> None:
    """Print how many seeds of each method reached the shortest tour, and when."""
    for method in methods:
        mine = [
            row
            for row in sheet.rows()
            if [row[name] for name in KEY if name != "seed"] == _texts(method, cities, budget)
        ]
        hits = sorted(int(row["hit"]) for row in mine if row["hit"])
        over = np.median([float(row[f"at_{max(m for m in MARKS if m <= budget)}"]) for row in mine])
        when = f"after {int(np.median(hits))} in the median, {hits[-1]} at most" if hits else "never"
        print(f"{method}: {len(hits)} of {len(mine)} found the shortest tour, {when}; {over:.1%} longer in the median")


def _texts(*values: object) -> list[str]:
    return [str(value) for value in values]


def main() -> None:
    given = script.parser(__doc__, "tours.csv", "two methods, six cities")
    script.many(given, "0-19")
    given.add_argument("--methods", nargs="+", default=[*METHODS], choices=[*METHODS])
    given.add_argument("--cities", type=int, default=12)
    given.add_argument("--budget", type=int, default=400)
    arguments = script.parsed(given, seeds=[0], cities=6, budget=50)
    sheet, found = Sheet(arguments.out, KEY, COLUMNS), arguments
    keys = [(method, found.cities, seed, found.budget) for seed in found.seeds for method in found.methods]
    for method, cities, seed, budget in sheet.missing(keys):
        sheet.record(measure(method, cities, seed, budget))
    report(sheet, found.methods, found.cities, found.budget)


if __name__ == "__main__":
    main()
