"""Does a search learn to keep away from where evaluations fail, without being told why?

    python -m benchmarks.constrained.hidden --methods lamcts random "optuna tpe" --seeds 0-4 --budget 200 --here
    python -m benchmarks.constrained.hidden --methods lamcts --as "lamcts, before" ...  # rows of code to be changed
    python -m benchmarks.constrained.hidden --table --seeds 0-4

A problem is a function and how it fails: `none`; `random`, one evaluation in ten, anywhere; else beyond a border that
the seed turns. `edge`: the optimum lies on a plane; `corner`: where three meet, and an eighth of what is round it does
not fail; `ball`: inside, on the surface of a ball; `lure`: it fails, deep behind a plane; `far`: the plane is far from
it. Rows go to results/hidden.csv: the best value at 50, 100 and 200, and `failed`, the share of evaluations that did.
"""

from argparse import ArgumentParser
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np

from benchmarks import peers, problems
from benchmarks.harness import comparison, script
from benchmarks.harness.comparison import KEY, Case, Comparison
from benchmarks.harness.measure import best_after, go
from benchmarks.harness.search import Search
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.tables.discrete import wilcoxon
from benchmarks.tables.markdown import markdown
from lamcts.types import Floats

FUNCTIONS = ("ackley-10", "rosenbrock-5-rotated", "levy-10-rotated")
PLANES = {"edge": (1, 0.0), "corner": (3, 0.0), "lure": (1, -0.15), "far": (1, 0.25)}  # how many, and by how much of
# the cube behind the optimum
RADIUS = 0.3  # of the ball of `ball`, times sqrt(d): some half of the cube lies within the same about its middle
ROUNDING = 1e-9  # so that the optimum itself is in the ball
FAILURES = (*PLANES, "ball", "random", "none")
CRASHES = 0.1  # share of evaluations that fail of `random`
METHODS = ("lamcts", "random", "optuna tpe")
MARKS = (50, 100, 200)  # evaluations
WARM = 48  # evaluations of a run before the run, which loads what the method loads
LEAST, MOST = 1e-10, 1e10  # a regret below the one is none; the other is that of a run that saw nothing succeed
COLUMNS = (*KEY, *(f"at_{m}" for m in MARKS), "failed", "own_ms", "versions")


class Failing:
    """A function of which some evaluations fail: nan."""

    maximize, x0 = False, None

    def __init__(self, function: str, failure: str, seed: int) -> None:
        self._function: Any = problems.find(function).make(seed)
        self.space, self.optimum = self._function.space, self._function.optimum
        self._crashes = CRASHES if failure == "random" else 0.0
        count, self._beyond = PLANES.get(failure, (0, 0.0))
        self._radius = RADIUS * np.sqrt(self.space.dim) if failure == "ball" else 0.0
        drawn = np.random.default_rng((seed, 7)).standard_normal((self.space.dim, self.space.dim))
        self._normals: Floats = np.linalg.qr(drawn)[0][:count]  # [p, d]

    def __call__(self, point: Any, *, seed: int) -> float:
        away = self.space.encode(point) - self.space.encode(self._function.centre)
        behind = (self._normals @ away > self._beyond).any() or self._outside(away)
        crashed = np.random.default_rng((seed, 1)).random() < self._crashes
        return float("nan") if behind or crashed else float(self._function(point, seed=seed))

    def _outside(self, away: Floats) -> bool:
        """Return whether a point so far away [d] from the optimum lies outside the ball, if there is one."""
        inward = 0.5 - self.space.encode(self._function.centre)
        middle = self._radius * inward / np.linalg.norm(inward)
        return self._radius > 0 and float(np.linalg.norm(away - middle)) > self._radius * (1.0 + ROUNDING)


def main() -> None:
    parts = Comparison("benchmarks.constrained.hidden", COLUMNS, METHODS, asked, cases, measure, tables)
    parts.main(options(), problems=["rosenbrock-5-rotated edge"], methods=["lamcts", "random"], seeds=[0], budget=50)


def options() -> ArgumentParser:
    """Return the parser of the command line."""
    given = script.parser(__doc__, "hidden.csv", "two methods on one problem")
    out_of = f"{', '.join(FAILURES)}, or a function before it: {', '.join(FUNCTIONS)}"
    comparison.add_options(given, "0-4", list(FAILURES), out_of, f"{', '.join(METHODS)}; any of the runner", 200)
    return given


def asked(words: list[str]) -> list[str]:
    """Return the problems that words such as "edge" and "ackley-10 edge" say."""
    found: list[str] = []
    for word in words:
        function, _, failure = word.rpartition(" ")
        if failure not in FAILURES:
            raise SystemExit(f"expected problems such as 'edge' and 'ackley-10 edge', got {word!r}")
        found += [f"{name} {failure}" for name in ([function] if function else FUNCTIONS)]
    return list(dict.fromkeys(found))


def cases(arguments: Any) -> list[Case]:
    """Return the runs that are asked for, seed by seed; say which methods are not there."""
    methods = [name for name in arguments.methods or METHODS if there(name)]
    each = product(arguments.seeds, asked(arguments.problems), methods)
    batch, budget, label = arguments.batch, arguments.budget, arguments.label
    return [Case(label or method, name, batch, seed, budget, method) for seed, name, method in each]


def there(method: str) -> bool:
    """Return whether a method's package is there; say which is not."""
    package = peers.missing(method)
    if package:
        print(f"skipped {method}: it needs the package {package!r}", flush=True)
    return not package


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    function, _, failure = case.problem.rpartition(" ")
    method = peers.load(case.runs)
    go(method, Search(Failing("smoke", "none", 0), 0, WARM, case.batch))
    search = Search(Failing(function, failure, case.seed), case.seed, case.budget, case.batch)
    go(method, search)
    row = {name: getattr(case, name) for name in KEY}
    row |= {f"at_{m}": f"{best_after(search.improved, m):.8g}" for m in MARKS if m <= case.budget}
    row |= {"failed": f"{np.isnan(search.values).mean():.3f}", "own_ms": f"{1e3 * search.own_total / case.budget:.4g}"}
    package = peers.find(case.runs).package
    return row | {"versions": f"commit {commit()} {versions([*OURS, *([package] if package else [])])}"}, None


def tables(rows: list[dict[str, str]], arguments: Any) -> str:
    """Return medians of every problem and method, then each method beside another by how evaluations fail."""
    found: dict[str, dict[str, list[dict[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(rows, key=lambda row: row["seed"]):
        found[row["problem"]][row["method"]].append(row)
    marks = [m for m in MARKS if m <= arguments.budget]
    lines = []
    for problem, methods in found.items():
        for method, own in methods.items():
            reached = [f"{np.median(regrets(own, m)):.2f}" for m in marks]
            failed = np.median([float(row["failed"]) for row in own])
            lines.append((problem, method, *reached, f"{failed:.0%}", str(len(own))))
    header = ("problem", "method", *(f"log10 regret at {m}" for m in marks), "failed", "seeds")
    pairs = ("failures", "method", *(f"behind {arguments.against} at {m}" for m in marks), "pairs", "Wilcoxon")
    return f"{markdown(header, lines)}\n\n{markdown(pairs, beside(found, marks, arguments.against))}"


def regrets(rows: list[dict[str, str]], mark: int) -> Floats:
    """Return log10 of the regrets at a mark, [s]: from the function's own optimum, 0, out of reach in `lure`."""
    values = np.array([float(row[f"at_{mark}"]) for row in rows])
    return np.log10(np.clip(np.where(np.isfinite(values), values, MOST), LEAST, MOST))


def beside(found: Any, marks: list[int], against: str) -> list[tuple[str, ...]]:
    """Return lines: medians of the log10 regrets over those of one method, paired by function and seed."""
    lines = []
    for failure in FAILURES:
        cells = {problem: methods for problem, methods in found.items() if problem.endswith(f" {failure}")}
        for method in sorted({name for methods in cells.values() for name in methods} - {against}):
            gaps = np.array([gap for own in cells.values() for gap in paired(own[method], own[against], marks)])
            if len(gaps):
                medians = [f"{gap:+.2f}" for gap in np.median(gaps, axis=0)]
                lines.append((failure, method, *medians, str(len(gaps)), f"{wilcoxon(gaps[:, -1].tolist()):.2g}"))
    return lines


def paired(rows: list[dict[str, str]], usual: list[dict[str, str]], marks: list[int]) -> list[list[float]]:
    """Return what the rows are behind the usual ones of the same seed at the marks."""
    by_seed = {row["seed"]: row for row in usual}
    both = [(row, by_seed[row["seed"]]) for row in rows if row["seed"] in by_seed]
    return [[float(regrets([row], m)[0] - regrets([own], m)[0]) for m in marks] for row, own in both]


if __name__ == "__main__":
    main()
