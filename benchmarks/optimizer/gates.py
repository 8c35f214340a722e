"""Is a default of this checkout as good as that of another commit? Mean ranks on public suites, with intervals.

    PYTHONPATH=OTHER_CHECKOUT python benchmarks/optimizer/gates.py --label d1881dde --suites bbob constrained
    python benchmarks/optimizer/gates.py --label now --suites bbob constrained
    python benchmarks/optimizer/gates.py --table --labels d1881dde now

Each suite has 60 problems, drawn once: BBOB instances 76 to 85, MA-BBOB 101 to 300, COCO's mixed-integer, constrained
and biobjective suites at instance indices 6 to 10 (all for decisions; other instances are held back). `noisy` is BBOB
with normal noise of a tenth of the standard deviation of the function over the box, and counts the true value of the
best evaluation. `outside` has what BBOB has not: Hartmann's function of six parameters, plain, noisy and among 60,
and draws of Matern processes in 4 and 8 dimensions, plain and noisy (their optima are the best of 20 descents).
`partly` is the mixed-integer suite with one parameter in five discrete; `failing` is that suite where evaluations
beyond a random plane through the middle of the box fail; `halfspace` is BBOB with such a plane near the middle.
`islands` has three functions whose feasible sets are many islands, with 20 draws of each; `--medians` prints what runs
end at. `--held-out` draws instances that no decision
rested on (BBOB 86 to 90, MA-BBOB 301 to 330, COCO 11 to 15, other draws), whose rows take labels of their own. A run
has one point at a time and 200 evaluations. `--sampler bo` runs that sampler instead of the default. A score is the
best (feasible) gap or minus the hypervolume, after each of MARKS evaluations.

A default is no worse if the upper end of the 90 % interval of the difference of mean ranks (bootstrap over problems) is
below 0.15 at every mark. Rows go to results/gates.csv; what is there is not run again. Needs the packages ioh and
coco-experiment, and imports `lamcts` from PYTHONPATH.
"""

import csv
import os
import re
import time
import warnings
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MARKS = (10, 20, 50, 100, 200)
REALS = ("bbob", "mabbob", "noisy", "halfspace")
SUITES = (*REALS, "mixint", "constrained", "biobj", "partly", "failing", "outside", "islands")
GAPS, LEAST = (*REALS, "outside"), 1e-8  # suites whose scores are gaps; gaps below count as it
MIXED = ("mixint", "partly", "failing")
COLUMNS = ("label", "suite", "problem", "seed", *(f"at_{m}" for m in MARKS), "own_ms")
INSTANCES = {
    "": (range(6, 11), range(11, 16)),
    "bbob": (range(76, 86), range(86, 91)),
    "noisy": (range(76, 86), range(86, 91)),
    "halfspace": (range(76, 86), range(86, 91)),
    "mabbob": (range(101, 301), range(301, 331)),
    "outside": (range(10), range(10, 20)),
    "islands": (range(20), range(20, 40)),
}  # for decisions, held out
PROBLEMS, NOISE, DRAWS = 60, 0.1, 10_000  # problems of a suite, sd of the noise, and draws of a bootstrap
EDGE = 0.1  # distance from the middle to the half space that fails
OUT = Path(__file__).parents[1] / "results" / "gates.csv"


class Problem(NamedTuple):
    """The space, the function, further options, and the score of all values so far [n, columns]: lower is better."""

    space: Any
    f: Callable[[Any], Any]
    words: dict[str, Any]
    score: Callable[[np.ndarray], float]


def main() -> None:
    given = ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--label", default="now", help="name of the rows")
    given.add_argument("--suites", nargs="+", default=SUITES, choices=SUITES)
    given.add_argument("--sampler", default="", help="name of a sampler; none: the default")
    given.add_argument("--held-out", action="store_true", help="problems of no decision, for claims")
    given.add_argument("--seeds", nargs="+", type=int, default=[0])
    given.add_argument("--problems", type=int, default=PROBLEMS, help="of each suite, the first ones")
    given.add_argument("--hours", type=float, default=1e9, help="start no run after so many")
    given.add_argument("--table", action="store_true", help="compare the labels, run nothing")
    given.add_argument("--medians", action="store_true", help="medians of the scores by kind of problem, run nothing")
    given.add_argument("--labels", nargs="+", default=["d1881dde", "now"])
    given.add_argument("--smoke", action="store_true", help="one short run, into a temporary file")
    given.add_argument("--out", type=Path, default=OUT)
    args = given.parse_args()
    if args.table:
        print(table(args))
    elif args.medians:
        print(medians(args))
    elif args.smoke:
        try:
            print(measured("bbob", "f1-i76-2", 0, "", budget=20))
        except ModuleNotFoundError as error:
            print(f"left for later: {error.name} is not installed")
    else:
        run(args)


def run(args: Namespace) -> None:
    """Run what is missing, one row at a time."""
    ended = time.monotonic() + 3600 * args.hours
    known = {(row["label"], row["suite"], row["problem"], row["seed"]) for row in rows(args.out)}
    for suite in args.suites:
        for name in names(suite, args.held_out)[: args.problems]:
            for seed in args.seeds:
                key = (args.label, suite, name, str(seed))
                if key in known or time.monotonic() > ended:
                    continue
                row = dict(zip(COLUMNS[:4], key, strict=True)) | measured(suite, name, seed, args.sampler)
                new = not args.out.exists()
                with open(args.out, "a", newline="") as file:
                    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                    writer.writeheader() if new else None
                    writer.writerow(row)


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open())) if path.exists() else []


def names(suite: str, held_out: bool = False) -> list[str]:
    """Return the problems of a suite, drawn once, in drawn order; held_out: those of no decision."""
    rng, instances = np.random.default_rng(20261127), INSTANCES.get(suite, INSTANCES[""])[held_out]
    if suite in ("bbob", "noisy", "halfspace"):
        every = [f"f{f}-i{i}-{d}" for f in range(1, 25) for i in instances for d in (2, 3, 5, 10, 20)]
    elif suite == "mabbob":
        every = [f"{i}-{d}" for i in instances for d in (2, 5, 10, 20)]
    elif suite == "outside":
        every = [f"{kind}-{i}" for kind in OUTSIDE for i in instances]
    elif suite == "islands":
        every = [f"{kind}-{i}" for kind in ISLANDS for i in instances]
    else:
        count = {"mixint": 24, "partly": 24, "failing": 24, "constrained": 54, "biobj": 55}[suite]
        dims = (5, 10, 20) if suite in MIXED else (2, 3, 5, 10)
        every = [f"f{f}-i{i}-{d}" for f in range(1, count + 1) for i in instances for d in dims]
    return [every[i] for i in rng.permutation(len(every))[:PROBLEMS]]


def measured(suite: str, name: str, seed: int, sampler: str, budget: int = MARKS[-1]) -> dict[str, Any]:
    """Return the scores of a run at the marks, and its own CPU milliseconds an evaluation."""
    import lamcts

    problem = made(suite, name, seed)
    words = problem.words | ({"sampler": sampler} if sampler else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opt = lamcts.Optimizer(problem.space, seed=seed, **words)
        told, own = [], 0.0
        for _ in range(budget):
            begun = time.process_time()
            (trial,) = opt.ask(1)
            own += time.process_time() - begun
            value = problem.f(trial.point)
            told.append(np.atleast_1d(value))
            begun = time.process_time()
            opt.tell(trial, value[1] if isinstance(value, tuple) else value)
            own += time.process_time() - begun
    scores = {f"at_{m}": f"{problem.score(np.array(told[:m])):.10g}" for m in MARKS if m <= budget}
    return scores | {"own_ms": f"{1000 * own / budget:.4g}"}


def made(suite: str, name: str, seed: int) -> Problem:
    """Return the problem of a name."""
    if suite in REALS:
        return reals(suite, name, seed)
    if suite == "outside":
        return outside(name)
    if suite == "islands":
        return islands(name)
    found = re.fullmatch(r"f(\d+)-i(\d+)-(\d+)", name)
    assert found is not None
    function, instance, dim = map(int, found.groups())
    import cocoex

    coco = "bbob-mixint" if suite in MIXED else f"bbob-{suite}"
    options = f"dimensions:{dim} instance_indices:{instance} function_indices:{function}"
    with_observer_off = cocoex.Suite(coco, "", options)
    problem = with_observer_off[0]
    keep = {"held": (with_observer_off, problem)}  # the suite owns the problem
    if suite in MIXED:
        plane = np.random.default_rng((seed, function, instance)).standard_normal(dim) if suite == "failing" else None
        return mixed(problem, keep, suite == "partly", plane)
    if suite == "constrained":
        return constrained(problem, keep)
    return biobjective(problem, keep, dim)


def reals(suite: str, name: str, seed: int) -> Problem:
    import ioh

    if suite == "mabbob":
        number, dim = map(int, name.split("-"))
        f, best = ioh.problem.ManyAffine(number, dim), 0.0
    else:
        function, instance, dim = (int(word.strip("fi")) for word in name.split("-"))
        f = ioh.get_problem(function, instance=instance, dimension=dim, problem_class=ioh.ProblemClass.BBOB)
        best = float(f.optimum.y)
    rng = np.random.default_rng((seed, dim))
    spread = np.std([f(x) for x in rng.uniform(-5, 5, (200, dim))]) if suite == "noisy" else 0.0

    def value(x: Any) -> Any:
        true = float(f(np.asarray(x, float).tolist())) - best
        return (true, true + NOISE * spread * rng.standard_normal()) if suite == "noisy" else true

    plane = np.random.default_rng((seed, *map(ord, name))).standard_normal(dim)

    def beyond(x: Any) -> float:
        return np.inf if plane @ np.asarray(x, float) > EDGE * np.linalg.norm(plane) else value(x)

    if suite == "halfspace":
        return Problem([(-5.0, 5.0)] * dim, beyond, {}, least)
    return Problem([(-5.0, 5.0)] * dim, value, {}, best_looking if suite == "noisy" else least)


OUTSIDE = ("hartmann6", "hartmann6n", "hartmann60", "matern4", "matern4n", "matern8")  # n: with noise
LOWEST, NOISE_OUTSIDE, FEATURES = -3.32237, 0.3, 1500  # least of Hartmann's function; sd; cosines of a draw


def outside(name: str) -> Problem:
    """Return a function of the unit cube that is none of BBOB's."""
    kind, number = name.split("-")
    rng, noisy, dim = np.random.default_rng((7, int(number))), kind.endswith("n"), int(re.sub(r"\D", "", kind))
    if kind.startswith("hartmann"):
        from lamcts.objectives.synthetic.formulas import HARTMANN6_AT, hartmann6

        axes, shift, best = rng.permutation(dim)[:6], rng.uniform(-0.1, 0.1, 6), LOWEST

        def true(x: Any) -> float:
            return float(hartmann6((np.asarray(x)[axes] + shift - HARTMANN6_AT)[None])[0])
    else:
        true, best = drawn(dim, rng)

    def value(x: Any) -> Any:
        gap = true(x) - best
        return (gap, gap + NOISE_OUTSIDE * rng.standard_normal()) if noisy else gap

    return Problem([(0.0, 1.0)] * dim, value, {}, best_looking if noisy else least)


def drawn(dim: int, rng: np.random.Generator) -> tuple[Callable[[Any], float], float]:
    """Return a draw of a Matern 5/2 process as a sum of cosines, and its least value that descents find."""
    from scipy.optimize import minimize

    lengths = np.exp(rng.uniform(np.log(0.2), 0.0, dim)) * np.sqrt(dim) / 2
    ways = rng.standard_normal((FEATURES, dim)) / np.sqrt(rng.gamma(2.5, 0.4, (FEATURES, 1))) / lengths
    phases, weights = rng.uniform(0, 2 * np.pi, FEATURES), rng.standard_normal(FEATURES) * np.sqrt(2 / FEATURES)

    def true(x: Any) -> float:
        return float(weights @ np.cos(ways @ np.asarray(x) + phases))

    x = rng.random((4000, dim))
    starts = x[np.argsort(np.cos(x @ ways.T + phases) @ weights)[:20]]
    return true, min(minimize(true, start, bounds=[(0, 1)] * dim, method="L-BFGS-B").fun for start in starts)


def least(told: np.ndarray) -> float:
    return float(told[:, 0].min())


def best_looking(told: np.ndarray) -> float:
    """Return the true value of the evaluation whose noisy value is lowest."""
    return float(told[told[:, 1].argmin(), 0])


def mixed(problem: Any, keep: dict[str, Any], partly: bool, plane: Any) -> Problem:
    import lamcts

    whole, dim = problem.number_of_integer_variables, problem.dimension
    whole = max(1, whole // 4) if partly else whole
    low, high = problem.lower_bounds, problem.upper_bounds
    members = {}
    for i in range(dim):
        kind = lamcts.Int(int(low[i]), int(high[i])) if i < whole else lamcts.Float(float(low[i]), float(high[i]))
        members[f"x{i}"] = kind
    space = lamcts.Space(members)

    def value(point: Any) -> float:
        assert keep
        x = np.array([float(point[name]) for name in members])
        failed = plane is not None and plane @ (x - (low + high) / 2) > 0
        return np.inf if failed else float(problem(x))

    return Problem(space, value, {}, least)


def constrained(problem: Any, keep: dict[str, Any]) -> Problem:
    c, start = problem.number_of_constraints, problem.initial_solution

    def value(x: Any) -> Any:
        assert keep
        x = np.asarray(x, float)
        return np.r_[problem(x), problem.constraint(x)].tolist()

    words = {"constraints": [f"c{j} <= 0" for j in range(c)], "x0": np.clip(start, -5, 5)}
    return Problem([(-5.0, 5.0)] * problem.dimension, value, words, feasible)


ISLANDS = ("lift", "cells", "shells")


def islands(name: str) -> Problem:
    """Return a function on [-5, 5]^d whose least feasible value is 0, and a constraint that leaves islands."""
    kind, number = name.split("-")
    rng = np.random.default_rng((11, int(number)))
    dim = {"lift": 4, "cells": 5, "shells": 3}[kind]
    turned, scales = np.linalg.qr(rng.standard_normal((dim, dim)))[0], 10.0 ** np.linspace(0, 1, dim)
    shift, way = rng.uniform(-0.5, 0.5, dim), rng.standard_normal(dim)
    best = {
        "lift": np.ones(dim) + shift,
        "cells": np.pi * rng.integers(-1, 2, dim),
        "shells": 3 * np.pi / 2 * way / np.linalg.norm(way),
    }[kind]

    def value(x: Any) -> list[float]:
        x = np.asarray(x, float)
        if kind == "lift":
            u = x - shift
            return [float((10 * (u[1:] - u[:-1] ** 2) ** 2 + (1 - u[:-1]) ** 2).sum()), 2.0 - float(np.sin(u).sum())]
        over = 3.5 - np.cos(2 * x).sum() if kind == "cells" else 0.7 - np.cos(4 * np.linalg.norm(x))
        return [float((scales * (turned @ (x - best)) ** 2).sum()), float(over)]

    return Problem([(-5.0, 5.0)] * dim, value, {"constraints": ["c0 <= 0"]}, feasible)


def feasible(told: np.ndarray) -> float:
    kept = (told[:, 1:] <= 0).all(1)
    return float(told[kept, 0].min()) if kept.any() else 1e12 + float(np.maximum(told[:, 1:], 0).sum(1).min())


def biobjective(problem: Any, keep: dict[str, Any], dim: int) -> Problem:
    reference = problem.largest_fvalues_of_interest

    def value(x: Any) -> Any:
        assert keep
        return np.asarray(problem(np.asarray(x, float)), float).tolist()

    def score(told: np.ndarray) -> float:
        inside = told[(told < reference).all(1)]
        inside = inside[np.lexsort(inside.T[::-1])]
        if not len(inside):
            return float(np.maximum(told - reference, 0).sum(1).min())
        volume, below = 0.0, float(reference[1])
        for a, b in inside:
            volume += max(below - b, 0.0) * (reference[0] - a)
            below = min(below, b)
        return -volume

    return Problem([(-5.0, 5.0)] * dim, value, {"objectives": ["a", "b"]}, score)


def table(args: Namespace) -> str:
    """Return mean ranks of two labels by suite and mark, and the interval of the difference, later less earlier.

    "better to 100": problems on which each has the lower mean logarithm of its gaps to 100 evaluations, and Wilcoxon's
    p, for suites whose scores are gaps.
    """
    found: dict[tuple[str, str, str], dict[str, dict[str, str]]] = defaultdict(dict)
    for row in rows(args.out):
        found[row["suite"], row["problem"], row["seed"]][row["label"]] = row
    from scipy.stats import wilcoxon

    lines = ["| suite | problems | " + " | ".join(map(str, MARKS)) + " | better to 100 | own ms |"]
    lines.append("|---" * (len(MARKS) + 4) + "|")
    rng, (first, second) = np.random.default_rng(0), args.labels
    for suite in args.suites:
        pairs = [
            (own[first], own[second]) for key, own in found.items() if key[0] == suite and {*args.labels} <= {*own}
        ]
        if not pairs:
            continue
        cells, logs = [], []
        for mark in MARKS:
            a, b = (np.array([float(pair[i][f"at_{mark}"]) for pair in pairs]) for i in (0, 1))
            gap = np.where(np.isclose(a, b, rtol=1e-9, atol=1e-8), 0, np.sign(b - a))  # of ranks 1 and 2, or 1.5 both
            logs += [np.log(np.maximum(b, LEAST)) - np.log(np.maximum(a, LEAST))] if mark <= 100 else []
            means = gap[rng.integers(0, len(gap), (DRAWS, len(gap)))].mean(1)
            low, high = np.quantile(means, [0.05, 0.95])
            verdict = "" if high < 0.15 else " !"
            cells.append(
                f"{1.5 - gap.mean() / 2:.2f} : {1.5 + gap.mean() / 2:.2f} ({low:+.2f} to {high:+.2f}){verdict}"
            )
        own = [np.median([float(pair[i]["own_ms"]) for pair in pairs]) for i in (0, 1)]
        area = np.mean(logs, axis=0)
        better = f"{(area > 0).sum()} : {(area < 0).sum()}, p = {wilcoxon(area).pvalue if area.any() else 1.0:.2g}"
        cells += [better if suite in GAPS else "", f"{own[0]:.1f} : {own[1]:.1f}"]
        lines.append(f"| {suite} | {len(pairs)} | " + " | ".join(cells) + " |")
    return "\n".join([f"Mean ranks, {first} : {second}, and the 90 % interval of their difference.", "", *lines])


def medians(args: Namespace) -> str:
    """Return the median score of each label at each mark, by suite and kind: the name before its number."""
    found: dict[tuple[str, str, str], list[list[float]]] = defaultdict(list)
    for row in rows(args.out):
        if row["suite"] in args.suites and row["label"] in args.labels:
            scores = [float(row[f"at_{mark}"]) for mark in MARKS]
            found[row["suite"], row["problem"].split("-")[0], row["label"]].append(scores)
    lines = ["| suite | kind | label | runs | " + " | ".join(map(str, MARKS)) + " |", "|---" * (len(MARKS) + 4) + "|"]
    for (suite, kind, label), scores in sorted(found.items()):
        cells = " | ".join(f"{value:.3g}" for value in np.median(scores, axis=0))
        lines.append(f"| {suite} | {kind} | {label} | {len(scores)} | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
