"""Mixtures and subsets: how far from the optimum the best of 50 and of 100 evaluations is.

    python -m benchmarks.discrete.mixtures              runs that are not in results/mixtures.csv yet
    python -m benchmarks.discrete.mixtures --table      the table of the rows that are there, runs nothing

Problems, drawn by a seed: "blend", a quadratic of 5 ingredients with its minimum inside; "sparse", one of 10
ingredients whose minimum has 3; "portfolio", the Sharpe ratio of 8 assets without short sales; "features", the R^2 of a
linear regression on 5 of 20 correlated features. Gaps are differences from the optimum, which is known by construction,
by a convex programme, or by enumeration.

Methods: "lamcts" has `Simplex` or `Subset`. "lamcts, log" and "lamcts, sticks" are the same default on a box that a
transform maps to the simplex: exponential variates over their sum, and broken sticks. "optuna" is TPE with the former
(Optuna's issue 1311), "nevergrad" NGOpt with the former. Of subsets, "optuna, categories" has 5 categories, of which
equal ones leave the subset smaller, and "optuna, booleans" 20 booleans; a subset that is too large has the loss 1 and
0.1 for each item too many.
"""

import warnings
from argparse import ArgumentParser
from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.tables.markdown import markdown

Floats = NDArray[np.float64]
Loss = Callable[[Any], float]
KEY = ("problem", "method", "seed")
MARKS = (50, 100)
COLUMNS = (*KEY, *(f"at_{mark}" for mark in MARKS))
SIZES = {"blend": 5, "sparse": 10, "portfolio": 8}  # ingredients
SUPPORT = 3  # ingredients of the sparse optimum
FEATURES, CHOSEN = 20, 5
PENALTY = 0.1


class Run(NamedTuple):
    """One run, as its row is keyed."""

    problem: str
    method: str
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(map(str, self))


# Problems: losses that are 0 at the optimum -------------------------------------------------------------------------


def quadratic(rng: np.random.Generator, best: Floats) -> Callable[[Floats], float]:
    """Return a convex quadratic with its minimum 0 at `best`, of condition 100."""
    n = len(best)
    axes, _ = np.linalg.qr(rng.standard_normal((n, n)))
    matrix = (axes * np.geomspace(1.0, 100.0, n)) @ axes.T / 10.0
    return lambda p: float((p - best) @ matrix @ (p - best))


def blend(rng: np.random.Generator) -> Loss:
    return quadratic(rng, rng.dirichlet(np.full(SIZES["blend"], 3.0)))


def sparse(rng: np.random.Generator) -> Loss:
    """Return a quadratic that all but three ingredients raise: their gradient there is positive."""
    n = SIZES["sparse"]
    best, off = np.zeros(n), np.ones(n)
    support = rng.choice(n, SUPPORT, replace=False)
    best[support], off[support] = rng.dirichlet(np.full(SUPPORT, 3.0)), 0.0
    bowl = quadratic(rng, best)
    return lambda p: bowl(p) + 0.5 * float(off @ p)


def portfolio(rng: np.random.Generator) -> Loss:
    """Return by how much the Sharpe ratio of a portfolio is lower than the best one's."""
    from scipy.optimize import minimize

    n = SIZES["portfolio"]
    factors = rng.standard_normal((n, 3)) * 0.15
    covariance = factors @ factors.T + np.diag(rng.uniform(0.05, 0.2, n) ** 2)
    gain = rng.uniform(0.01, 0.15, n)
    # the best ratio: least variance at a gain of 1, a convex programme, whose solution is scaled
    found = minimize(
        lambda w: w @ covariance @ w,
        np.full(n, 1 / gain.sum()),
        jac=lambda w: 2 * covariance @ w,
        bounds=[(0, None)] * n,
        constraints={"type": "eq", "fun": lambda w: gain @ w - 1, "jac": lambda w: gain},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    highest = 1.0 / np.sqrt(found.fun)
    return lambda p: float(highest - gain @ p / np.sqrt(p @ covariance @ p))


def features(rng: np.random.Generator) -> Loss:
    """Return by how much the R^2 of a regression on some features is lower than that on the best five."""
    common = rng.standard_normal((200, 6))
    x = common @ rng.standard_normal((6, FEATURES)) + 1.5 * rng.standard_normal((200, FEATURES))
    y = x @ (rng.standard_normal(FEATURES) * (rng.random(FEATURES) < 0.5)) + 3.0 * rng.standard_normal(200)
    x, y = x - x.mean(0), y - y.mean()
    gram, slope, spread = x.T @ x, x.T @ y, float(y @ y)

    @cache
    def explained(chosen: tuple[int, ...]) -> float:
        rows = list(chosen)
        return float(slope[rows] @ np.linalg.solve(gram[np.ix_(rows, rows)], slope[rows])) / spread if rows else 0.0

    best = max(map(explained, combinations(range(FEATURES), CHOSEN)))

    def loss(chosen: Any) -> float:
        excess = len({*chosen}) - CHOSEN
        return 1.0 + PENALTY * excess if excess > 0 else best - explained(tuple(sorted({*chosen})))

    return loss


PROBLEMS: dict[str, Callable[[np.random.Generator], Loss]] = {
    "blend": blend,
    "sparse": sparse,
    "portfolio": portfolio,
    "features": features,
}

# Methods: each calls the loss `budget` times ------------------------------------------------------------------------


def by_log(u: Any) -> Floats:
    """Return the mixture of numbers in the unit cube: exponential variates over their sum (Optuna's issue 1311)."""
    waits = -np.log(np.clip(u, 1e-12, 1.0))
    return np.asarray(waits / max(waits.sum(), 1e-300))


def by_sticks(u: Any) -> Floats:
    """Return the mixture of numbers in the unit cube: each breaks a share off what is left, by quantiles of Beta."""
    left, amounts = 1.0, []
    for i, one in enumerate(u):
        amounts.append(left * (1.0 - (1.0 - one) ** (1.0 / (len(u) - i))))
        left -= amounts[-1]
    return np.array([*amounts, left])


def with_lamcts(loss: Loss, space: Any, seed: int, budget: int) -> None:
    import lamcts

    lamcts.minimize(loss, space, budget=budget, seed=seed)


def native(loss: Loss, n: int, seed: int, budget: int) -> None:
    import lamcts

    with_lamcts(lambda p: loss(np.array(p)), lamcts.Simplex(n), seed, budget)


def log_box(loss: Loss, n: int, seed: int, budget: int) -> None:
    import lamcts

    with_lamcts(lambda u: loss(by_log(u)), lamcts.Box(0, 1, dim=n), seed, budget)


def stick_box(loss: Loss, n: int, seed: int, budget: int) -> None:
    import lamcts

    with_lamcts(lambda u: loss(by_sticks(u)), lamcts.Box(0, 1, dim=n - 1), seed, budget)


def with_optuna(objective: Callable[[Any], float], seed: int, budget: int) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=budget)


def optuna_log(loss: Loss, n: int, seed: int, budget: int) -> None:
    with_optuna(lambda t: loss(by_log([t.suggest_float(f"u{i}", 0, 1) for i in range(n)])), seed, budget)


def nevergrad_log(loss: Loss, n: int, seed: int, budget: int) -> None:
    import nevergrad

    array = nevergrad.p.Array(shape=(n,), lower=0.0, upper=1.0)
    array.random_state.seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nevergrad.optimizers.NGOpt(array, budget).minimize(lambda u: loss(by_log(u)))


def subset(loss: Loss, n: int, seed: int, budget: int) -> None:
    import lamcts

    with_lamcts(loss, lamcts.Subset(n, CHOSEN), seed, budget)


def random_subset(loss: Loss, n: int, seed: int, budget: int) -> None:
    rng = np.random.default_rng([seed, 1])
    for _ in range(budget):
        loss(rng.choice(n, CHOSEN, replace=False).tolist())


def categories(loss: Loss, n: int, seed: int, budget: int) -> None:
    options = list(range(n))
    with_optuna(lambda t: loss([t.suggest_categorical(f"c{i}", options) for i in range(CHOSEN)]), seed, budget)


def booleans(loss: Loss, n: int, seed: int, budget: int) -> None:
    both = [False, True]
    with_optuna(
        lambda t: loss([i for i in range(n) if t.suggest_categorical(f"b{i}", both)]),
        seed,
        budget,
    )


MIXTURES = {
    "lamcts": native,
    "lamcts, log": log_box,
    "lamcts, sticks": stick_box,
    "optuna": optuna_log,
    "nevergrad": nevergrad_log,
}
SUBSETS = {
    "lamcts": subset,
    "random": random_subset,
    "optuna, categories": categories,
    "optuna, booleans": booleans,
}


def main() -> None:
    arguments = script.parsed(options(), seeds=["0"], budget=12)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.table:
        print(table(sheet.rows()))
        return
    for seed in arguments.seeds:
        for problem in PROBLEMS:
            for method in methods_of(problem):
                run = Run(problem, method, seed)
                if sheet.wants(run):
                    sheet.record(measure(run, arguments.budget))


def options() -> ArgumentParser:
    given = script.parser(__doc__, "mixtures.csv", "one tiny run of each")
    script.many(given, "0-9")
    given.add_argument("--budget", type=int, default=MARKS[-1])
    given.add_argument("--table", action="store_true")
    return given


def methods_of(problem: str) -> dict[str, Callable[[Loss, int, int, int], None]]:
    return MIXTURES if problem in SIZES else SUBSETS


def measure(run: Run, budget: int) -> dict[str, Any]:
    """Return the row of a run."""
    loss, values = PROBLEMS[run.problem](np.random.default_rng(run.seed)), list[float]()

    def counted(point: Any) -> float:
        values.append(loss(point))
        return values[-1]

    methods_of(run.problem)[run.method](counted, SIZES.get(run.problem, FEATURES), run.seed, budget)
    return run._asdict() | {f"at_{mark}": f"{min(values[:mark]):.4g}" for mark in MARKS}


def table(rows: list[dict[str, str]]) -> str:
    """Return the median gaps, and in how many seeds "lamcts" is better than each other method, with the p."""
    from scipy.stats import wilcoxon

    lines = []
    for problem in PROBLEMS:
        gaps = {
            method: {row["seed"]: row for row in rows if (row["problem"], row["method"]) == (problem, method)}
            for method in methods_of(problem)
        }
        for method, own in gaps.items():
            if seeds := sorted({*own} & {*gaps["lamcts"]}):
                medians = [
                    f"{np.median([float(row[name]) for row in own.values()]):.2g}" for name in COLUMNS[len(KEY) :]
                ]
                first, other = (np.array([float(g[s][COLUMNS[-1]]) for s in seeds]) for g in (gaps["lamcts"], own))
                p = f"{float(wilcoxon(first, other).pvalue):.2g}" if (first != other).any() else ""
                better = f"{np.count_nonzero(first < other)} of {len(seeds)}" if p else ""
                lines.append((problem, method, *medians, better, p))
    marks = [f"median gap at {mark}" for mark in MARKS]
    return markdown(("problem", "method", *marks, "seeds in which `lamcts` is better", "p"), lines)


if __name__ == "__main__":
    main()
