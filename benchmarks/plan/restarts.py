"""What `benchmarks.optimizer.restarts` runs: parts in order of importance, their seeds, and what they cost.

The default before and after is compared on 30 seeds where that decides (funnels: 50), with a tree that places its
searches, one by one and in 100 dimensions on 10; peers have 10. No decision rests on Schwefel, Styblinski-Tang,
Michalewicz, the lander and the gaits: none is here.
"""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, NamedTuple

from benchmarks import problems

TUNING, JUDGING, MOST = 0, 100, 50  # first seeds, and how many any part has
OLD, NEW, TREE = "old default", "new default", "new default, tree"
OURS = {OLD: "lamcts", NEW: "lamcts", TREE: "lamcts auto, tree"}  # what the runner calls them
Named = tuple[str, int]  # a method and its batch

USUAL = ("ackley", "rosenbrock", "rastrigin", "levy", "griewank")
SHARP = ("ellipsoid", "discus", "cigar", "different-powers", "sharp-ridge", "schaffer")
PLAIN = tuple(f"{name}-20" for name in USUAL)
STRAIGHT = tuple(f"{name}-20-rotated" for name in (*USUAL, *SHARP))
TURNED = tuple(f"{name}-20-rotated{bent}" for name in (*USUAL, *SHARP) for bent in ("", "-bent"))
AT_100 = tuple(f"{name}-100-rotated{bent}" for name in (*USUAL, "ellipsoid") for bent in ("", "-bent"))
FAR = tuple(f"{name}-100-rotated" for name in ("rosenbrock", "rastrigin", "levy"))
FUNNELS = tuple(f"funnels{k}-20-rotated{rippled}" for k in (2, 5, 20) for rippled in ("", "-rippled"))
MODELLED: list[Named] = [("cma bipop", 1), ("cma lq", 1)]
QUICK: list[Named] = [(name, 1) for name in ("cma", "dual annealing", "powell", "ngopt", "optuna cma")]
PEERS = (*(name for name, _ in (*MODELLED, *QUICK)), "cobyqa", "py-bobyqa")


class Part(NamedTuple):
    """Methods on problems over the first `count` tuning or judging seeds."""

    problems: tuple[str, ...]
    methods: list[Named]
    count: int
    budget: int

    def seeds(self, judge: bool) -> range:
        first = JUDGING if judge else TUNING
        return range(first, first + self.count)


def _pair(name: str, of: tuple[str, ...], count: int, budget: int, batch: int = 10) -> dict[str, Part]:
    """Return two parts, the old default's and the new one's, so that a candidate costs but its own runs."""
    return {f"{name}, old": Part(of, [(OLD, batch)], count, budget), name: Part(of, [(NEW, batch)], count, budget)}


PARTS = {
    **_pair("turned", TURNED, 30, 3000),
    **_pair("rover", ("rover",), 30, 2000),
    **_pair("push", ("push",), 30, 500),
    **_pair("funnels", FUNNELS, 50, 3000),
    "funnels, peers": Part(FUNNELS, MODELLED, 50, 3000),
    "tree": Part((*TURNED, *FUNNELS), [(TREE, 10)], 10, 3000),
    "tree, rover": Part(("rover",), [(TREE, 10)], 10, 2000),
    **_pair("plain", PLAIN, 10, 2000),
    **_pair("one by one", TURNED, 10, 2000, batch=1),
    **_pair("100", AT_100, 10, 5000),
    "100, one by one": Part(("ackley-100-rotated",), [(NEW, 1)], 10, 2000),
    "100, tree": Part(AT_100, [(TREE, 10)], 10, 2000),
    "far": Part(STRAIGHT, [(NEW, 10), *MODELLED], 10, 5000),
    "peers": Part(TURNED, [*QUICK, ("cobyqa", 1)], 10, 3000),
    "peers, bent": Part(TURNED, MODELLED, 10, 3000),
    "py-bobyqa": Part(TURNED, [("py-bobyqa", 1)], 10, 1000),
    "100, peers": Part(AT_100, [("cma bipop", 1), *QUICK], 10, 2000),
    "100, far": Part(FAR, [("cma bipop", 1), *QUICK], 10, 5000),
    "smoke": Part(("smoke", "funnels2-2"), [(NEW, 4), ("random", 1)], 1, 16),
}

# Milliseconds an evaluation, as the rows of results/runs have them in 20 and in 100 dimensions (NGOpt's grow with the
# budget); those of lq-CMA-ES and Py-BOBYQA from one run each. Rows of results/restarts.csv go before.
STATED = {
    **dict.fromkeys(OURS, (6.5, 12.0)),
    "cma": (0.2, 0.2),
    "cma bipop": (0.2, 0.2),
    "cma lq": (4.8, 60.0),
    "py-bobyqa": (14.0, 300.0),
    "cobyqa": (2.7, 100.0),
    "ngopt": (2.5, 5.0),
    "optuna cma": (2.5, 11.0),
    "dual annealing": (0.1, 0.1),
    "powell": (0.1, 0.1),
}
START_SECONDS = 3.0  # of a process: imports and the small run before the run


def hours(cases: Iterable[Any], rows: Sequence[dict[str, str]]) -> float:
    """Return the core-hours of cases, from rows of the same method and dimension where there are some."""
    seen: dict[tuple[str, int, str], list[float]] = {}
    for row in rows:
        each = float(row["own_ms"]) + 1e3 * float(row["objective_s"]) / int(row["budget"])
        seen.setdefault((row["method"], int(row["batch"]), row["dim"]), []).append(each)
    total = 0.0
    for case in cases:
        dim = problems.find(case.problem).dim
        stated = STATED.get(case.method, STATED.get(case.runs, STATED[NEW]))[dim > 50]
        each = median(seen.get((case.method, case.batch, str(dim)), [stated]))
        total += START_SECONDS + case.budget * each / 1e3
    return total / 3600
