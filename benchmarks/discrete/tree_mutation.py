"""Does a tree help a search without a model? `mutate` inside the tree's leaf against the same without a tree.

    python -m benchmarks.discrete.tree_mutation [--problems macro pest ...] [--trees linear default] [--budgets 200]

Regularised evolution of the latest 20 results, 5 to a tournament, on discrete problems whose optimum each seed hides
(`discrete_problems`). "linear" is the tree with LaNAS' regression splits, "default" that with the package's own. The
two runs of a pair have the same seed, and so the same initial design. `area` is the mean regret over evaluations 21 on;
the table has its ratio to that without a tree (means over seeds; over all, the geometric mean of the problems'), the
share of pairs in which the tree is better, and Wilcoxon's p over the logarithms of the pairs' ratios. Rows go to
results/tree_mutation.csv.
"""

import math
import time
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.discrete import discrete_problems
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, versions
from lamcts.samplers import Mutate
from lamcts.tree import KMeansSvm, Linear

KEY = ("problem", "tree", "budget", "seed")
COLUMNS = (*KEY, "area", "regret", "reached", "ms_an_evaluation", "versions")
FIRST = 20  # evaluations that do not count: the initial design and a little more (untuned)
LEAST = 1e-12  # area of a pair's run that found the optimum at once: no quotient by 0
NONE = "none"  # the row that each tree is compared with
# LaNAS' regression splits and the package's own, each with its defaults.
TREES: dict[str, lamcts.LatentTree | None] = {
    "linear": lamcts.LatentTree(splitter=Linear()),
    "default": lamcts.LatentTree(),
    NONE: None,
}


class Run(NamedTuple):
    problem: str
    tree: str
    budget: int
    seed: int


def main() -> None:
    given = script.parser(__doc__, "tree_mutation.csv", "one problem without data, 40 evaluations, 2 seeds")
    script.many(given, "0-9")
    known = [name for name in discrete_problems.ALL if name not in discrete_problems.SMOKE]
    given.add_argument("--problems", nargs="+", default=known, choices=discrete_problems.ALL, metavar="NAME")
    given.add_argument("--trees", nargs="+", default=["linear", "default"], choices=[*TREES][:-1])
    given.add_argument("--budgets", type=int, nargs="+", default=[200, 1000])
    arguments = script.parsed(given, problems=["onemax"], budgets=[40], seeds=[0, 1])
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    runs = [
        Run(problem, tree, budget, seed)
        for budget in arguments.budgets
        for problem in available(arguments.problems)
        for seed in arguments.seeds
        for tree in (*arguments.trees, NONE)
    ]
    try:
        script.record(runs, sheet, "benchmarks.discrete.tree_mutation:measure", arguments.jobs)
    finally:
        show(sheet.rows())


def available(names: Iterable[str]) -> list[str]:
    """Return the problems that can be run here, and say why the others cannot."""
    lacks = {name: discrete_problems.lacking(name) for name in names}
    for name, lack in lacks.items():
        if lack:
            print(f"{name}: left out, {lack}")
    return [name for name, lack in lacks.items() if not lack]


def measure(**fields: Any) -> Result:
    """Return the row of one run."""
    run = Run(**fields)
    problem = discrete_problems.make(run.problem, run.seed)
    how: dict[str, Any] = {"sampler": Mutate(), "tree": TREES[run.tree], "seed": run.seed, "maximize": problem.maximize}
    regret, seconds = [], 0.0
    warm()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        start = time.process_time()
        opt = lamcts.Optimizer(problem.space, **how)
        for _ in range(run.budget):
            try:
                (trial,) = opt.ask(1)
            except lamcts.Exhausted:
                break
            asked = time.process_time()
            value = problem(trial.point)
            seconds, start = seconds + asked - start, time.process_time()
            opt.tell(trial, None if math.isnan(value) else value)
            regret.append(discrete_problems.regret(problem, value))
    return run._asdict() | summary(np.array(regret), run.budget, problem.close) | {
        "ms_an_evaluation": f"{1e3 * seconds / len(regret):.3f}", "versions": versions(OURS),
    }, None  # fmt: skip


def warm() -> None:
    """Load what the first steps load: imports are not timed."""
    rng = np.random.default_rng(0)
    lamcts.Optimizer(lamcts.Box(0.0, 1.0, dim=2), sampler=Mutate(), seed=0).ask(1)
    for splitter in (Linear(), KMeansSvm()):
        splitter.fit(rng.random((60, 2)), rng.random(60), rng)


def summary(regret: np.ndarray, budget: int, close: float) -> dict[str, Any]:
    """Return the cells of a run whose evaluations have these regrets [n], nan where they failed.

    What follows a space's last point, and what comes before the first success, counts as its nearest neighbour.
    """
    best = np.fmin.accumulate(regret)
    best = np.pad(best, (0, budget - len(best)), mode="edge")
    best[np.isnan(best)] = best[~np.isnan(best)][0]
    reached = np.flatnonzero(best <= close)
    area = f"{best[FIRST:].mean():.6g}"
    return {"area": area, "regret": f"{best[-1]:.6g}", "reached": int(reached[0]) + 1 if len(reached) else ""}


def show(rows: list[dict[str, str]]) -> None:
    """Print for each budget and tree the ratios of areas, by problem and over all, and the milliseconds."""
    for budget, tree in sorted({(int(row["budget"]), row["tree"]) for row in rows}):
        own = chosen(rows, budget, tree)
        ms = np.mean([float(row["ms_an_evaluation"]) for row in own.values()])
        print(f"\n{budget} evaluations, tree: {tree} ({len(own)} runs, {ms:.2f} ms an evaluation)")
        if tree != NONE:
            compare(own, chosen(rows, budget, NONE))


def chosen(rows: list[dict[str, str]], budget: int, tree: str) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of a budget and a tree by problem and seed."""
    return {(row["problem"], row["seed"]): row for row in rows if (int(row["budget"]), row["tree"]) == (budget, tree)}


def compare(own: dict[tuple[str, str], dict[str, str]], plain: dict[tuple[str, str], dict[str, str]]) -> None:
    """Print a line a problem, and one over all pairs."""
    pairs = [pair for pair in own if pair in plain]
    areas = {pair: [max(float(row[pair]["area"]), LEAST) for row in (own, plain)] for pair in pairs}
    ratios, logs = [], []
    for problem in dict.fromkeys(name for name, _ in pairs):
        mine = np.array([areas[pair] for pair in pairs if pair[0] == problem])  # [seeds, 2]
        ratios.append(float(np.divide(*mine.mean(0))))
        logs += list(np.log(mine[:, 0] / mine[:, 1]))
        line(problem, ratios[-1], list(np.log(mine[:, 0] / mine[:, 1])))
    if ratios:
        line("all", math.exp(np.mean(np.log(ratios))), logs)


def line(name: str, area: float, logs: list[float]) -> None:
    from scipy.stats import wilcoxon

    p = float(wilcoxon(logs).pvalue) if any(logs) else 1.0
    better = np.mean([log < 0 for log in logs])
    print(f"  {name:18} area {area:6.3f}   better in {better:4.0%}   p = {p:.3g}")


if __name__ == "__main__":
    main()
