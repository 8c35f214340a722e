"""What is left to gain: the model's estimate next to the truth, and what the stop rule saves and loses.

    python -m benchmarks.optimizer.stopping                    runs that are not in results/stopping.csv yet
    python -m benchmarks.optimizer.stopping --methods optuna --problems bbob-f8-3 svr --seeds 0-4
    python -m benchmarks.optimizer.stopping --table            the tables of the rows that are there, runs nothing

Problems: six functions of BBOB in 3 and 5 dimensions, whose instance is the seed's, and two tuning problems on 150 rows
of the diabetes data of scikit-learn: support vector regression (3 parameters) and kernel ridge regression (2). Values
are shares of the spread, the standard deviation at 200 random points; noise has a standard deviation of 0 or 0.1.

Rules: `gain` stops where less than 0.01 may be left to gain, `noise` where less than the noise of an evaluation. The
rules do not change proposals: each run goes on to its budget, and both are read off it. "optuna" is TPE with Optuna's
Terminator (the regret bound of Makarova et al. 2022), whose error is 0.01, or the true noise, asked at the same looks.
`regret` is the true value of the best point above the optimum, `later` what the rest of the run has gained.
"""

import importlib.util
import math
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.optimizer.public_problems import PublicObjective
from benchmarks.tables.markdown import markdown

KEY = ("problem", "noise", "method", "seed", "budget")
MARKS = (25, 50, 75)  # evaluations after which estimates are compared with the truth
RULES = ("gain", "noise")
STOPS = tuple(f"{what}_{rule}" for rule in RULES for what in ("stop", "lost"))
COLUMNS = (*KEY, "gap", *STOPS, *(f"{what}_{n}" for n in MARKS for what in ("mean", "upper", "regret", "later")))
METHODS = ("lamcts", "optuna")
LEAST = 0.01  # `min_gain`, as a share of the spread
SPREAD_OF = 200  # random points
ROWS = 150  # of the diabetes data, so that a fit takes some 10 ms
BBOB = tuple(f"bbob-f{f}-{d}" for f in (1, 6, 8, 10, 15, 21) for d in (3, 5))
TUNING = ("svr", "ridge")


class Run(NamedTuple):
    """One run, as its row is keyed."""

    problem: str
    noise: float
    method: str
    seed: int
    budget: int


class Scaled(NamedTuple):
    """A problem as shares of its spread above its optimum, on the unit cube."""

    dim: int
    true: Callable[[Any], float]


class Look(NamedTuple):
    """What is known after some evaluations: the row of the recommended point, and estimates of what is left."""

    row: int
    mean: float
    upper: float
    noise: float


def main() -> None:
    smoke = {"seeds": ["0"], "budget": 26, "problems": ["bbob-f1-3", "ridge"], "methods": ["lamcts"]}
    arguments = script.parsed(options(), **smoke)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.table:
        print(tables(sheet.rows()))
        return
    problems = arguments.problems
    if importlib.util.find_spec("ioh") is None:
        print("BBOB is left for later: ioh is not installed: pip install '.[peers]'")
        problems = [name for name in problems if name in TUNING]
    for seed, noise, problem, method in product(arguments.seeds, (0.0, 0.1), problems, arguments.methods):
        run = Run(problem, noise, method, seed, arguments.budget)
        if sheet.wants(run):
            sheet.record(measured(run))


def options() -> ArgumentParser:
    given = script.parser(__doc__, "stopping.csv", "two short runs")
    script.many(given, "0-9")
    given.add_argument("--budget", type=int, default=100)
    given.add_argument("--problems", nargs="+", default=[*BBOB, *TUNING])
    given.add_argument("--methods", nargs="+", default=["lamcts"], choices=METHODS)
    given.add_argument("--table", action="store_true")
    return given


# Problems ---------------------------------------------------------------------------------------------------------


@cache
def scaled(problem: str, seed: int) -> Scaled:
    """Return a problem; the seed chooses the instance of BBOB's."""
    if problem in TUNING:
        return _tuning(problem)
    name, dim = problem.rsplit("-", 1)
    objective = PublicObjective(f"{name}-i{seed + 1}-{dim}")
    return _shares(lambda u: objective(10 * np.asarray(u) - 5), int(dim), 0.0)


@cache
def _tuning(problem: str) -> Scaled:
    import lamcts

    loss, dim = {"svr": (svr, 3), "ridge": (ridge, 2)}[problem]
    best = min(lamcts.minimize(loss, lamcts.Box(0, 1, dim=dim), budget=150, seed=seed).fun for seed in (1000, 1001))
    return _shares(loss, dim, best)


def _shares(f: Callable[[Any], float], dim: int, optimum: float) -> Scaled:
    values = [f(u) for u in np.random.default_rng(0).random((SPREAD_OF, dim))]
    spread = float(np.std(values))
    return Scaled(dim, lambda u: max((f(u) - optimum) / spread, 0.0))


@cache
def _data() -> Any:
    from sklearn.datasets import load_diabetes
    from sklearn.preprocessing import StandardScaler

    x, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(x)[:ROWS], ((y - y.mean()) / y.std())[:ROWS]


def svr(u: Any) -> float:
    """Return the error of support vector regression: C in 1e-2 to 1e3, gamma in 1e-4 to 10, epsilon in 1e-3 to 1."""
    from sklearn.svm import SVR

    return _error(SVR(C=10 ** (5 * u[0] - 2), gamma=10 ** (5 * u[1] - 4), epsilon=10 ** (3 * u[2] - 3)))


def ridge(u: Any) -> float:
    """Return the error of kernel ridge regression: alpha in 1e-4 to 1e2, gamma in 1e-5 to 10."""
    from sklearn.kernel_ridge import KernelRidge

    return _error(KernelRidge(kernel="rbf", alpha=10 ** (6 * u[0] - 4), gamma=10 ** (6 * u[1] - 5)))


def _error(model: Any) -> float:
    from sklearn.model_selection import KFold, cross_val_predict

    x, y = _data()
    return float(np.mean((cross_val_predict(model, x, y, cv=KFold(3)) - y) ** 2))


# Runs -------------------------------------------------------------------------------------------------------------


def measured(run: Run) -> dict[str, Any]:
    """Return the row of a run."""
    from lamcts.study.stopping import looks

    problem = scaled(run.problem, run.seed)
    rng = np.random.default_rng(run.seed)
    true: list[float] = []

    def f(u: Any) -> float:
        true.append(problem.true(np.asarray(u)))
        return true[-1] + run.noise * float(rng.standard_normal())

    asked = sorted({*looks(run.budget), *(n for n in MARKS if n <= run.budget), run.budget})
    found = {"lamcts": _ours, "optuna": _optuna}[run.method](run, problem.dim, f, asked)
    gaps = {n: true[look.row] for n, look in found.items()}
    row: dict[str, Any] = run._asdict() | {"gap": f"{gaps[run.budget]:.4g}"}
    for rule in RULES:
        met = (n for n in looks(run.budget) if found[n].upper < (LEAST if rule == "gain" else found[n].noise))
        stop = next(met, run.budget)
        row |= {f"stop_{rule}": stop, f"lost_{rule}": f"{gaps[stop] - gaps[run.budget]:.4g}"}
    for n in MARKS:
        if n <= run.budget:
            later = gaps[n] - min(true[n:], default=math.inf)
            row |= {f"mean_{n}": f"{found[n].mean:.4g}", f"upper_{n}": f"{found[n].upper:.4g}"}
            row |= {f"regret_{n}": f"{gaps[n]:.4g}", f"later_{n}": f"{max(later, 0.0):.4g}"}
    return row


def _ours(run: Run, dim: int, f: Callable[[Any], float], asked: list[int]) -> dict[int, Look]:
    import lamcts

    opt = lamcts.Optimizer(lamcts.Box(0.0, 1.0, dim=dim), seed=run.seed)
    found = {}
    for n in range(1, run.budget + 1):
        (trial,) = opt.ask()
        opt.tell(trial, f(trial.point))
        if n in asked:
            best = opt.best_predicted.trial if run.noise else opt.best.trial
            gain = opt.remaining_gain
            found[n] = Look(best, math.nan, math.inf, 0.0) if gain is None else Look(best, *gain[:3])
    return found


def _optuna(run: Run, dim: int, f: Callable[[Any], float], asked: list[int]) -> dict[int, Look]:
    import optuna
    from optuna.terminator import RegretBoundEvaluator

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the terminator is experimental
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=run.seed))
        bound = RegretBoundEvaluator(seed=run.seed)
        for n in range(1, run.budget + 1):
            trial = study.ask()
            study.tell(trial, f([trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(dim)]))
            if n in asked:
                upper = bound.evaluate(study.trials, study.direction)
                found[n] = Look(study.best_trial.number, math.nan, upper, run.noise)
    return found


# Tables -----------------------------------------------------------------------------------------------------------


def tables(rows: list[dict[str, str]]) -> str:
    """Return both tables: estimates next to the truth, and what the rules save and lose."""
    return f"{estimates(rows)}\n\n{rules(rows)}"


def groups(rows: list[dict[str, str]]) -> Iterator[tuple[tuple[str, str, str], list[dict[str, str]]]]:
    """Yield the rows of each method, kind of problem and noise."""
    for method, kind, noise in product(METHODS, ("BBOB", "tuning"), ("0.0", "0.1")):
        chosen = [
            row
            for row in rows
            if (row["method"], row["noise"]) == (method, noise) and (row["problem"] in TUNING) == (kind == "tuning")
        ]
        if chosen:
            yield (method, kind, noise), chosen


def estimates(rows: list[dict[str, str]]) -> str:
    """Return medians of the estimate and of the truth, and how often the truth is within the upper bound."""
    lines = []
    for names, chosen in groups(rows):
        for n in MARKS:
            mean, upper, regret, later = (
                np.array([float(row[f"{what}_{n}"] or "nan") for row in chosen])
                for what in ("mean", "upper", "regret", "later")
            )
            medians = (
                f"{np.nanmedian(each):.2g}" if np.isfinite(each).any() else "" for each in (mean, upper, regret, later)
            )
            within = (f"{np.mean(each <= upper):.0%}" for each in (regret, later))
            lines.append((*names, str(n), str(len(chosen)), *medians, *within))
    head = ("method", "problems", "noise", "after", "runs", "estimate", "upper", "regret", "gained later")
    return markdown((*head, "regret within upper", "later within upper"), lines)


def _case(row: dict[str, str]) -> tuple[str, ...]:
    return row["problem"], row["noise"], row["seed"]


def rules(rows: list[dict[str, str]]) -> str:
    """Return how many runs each rule ends early, the evaluations that it saves, and the value that is lost.

    Of several methods, the runs on problems and seeds that all of them have.
    """
    cases = [{_case(row) for row in rows if row["method"] == method} for method in {row["method"] for row in rows}]
    common, lines = set.intersection(*cases) if cases else set(), []
    for names, chosen in groups([row for row in rows if _case(row) in common]):
        for rule in RULES if names[2] != "0.0" else RULES[:1]:
            saved = np.array([int(row["budget"]) - int(row[f"stop_{rule}"]) for row in chosen])
            lost = np.array([float(row[f"lost_{rule}"]) for row in chosen])
            ended = f"{np.count_nonzero(saved)} of {len(saved)}"
            values = (f"{np.mean(lost):.2g}", f"{np.quantile(lost, 0.9):.2g}")
            lines.append((*names, rule, ended, f"{np.mean(saved):.0f}", *values))
    head = ("method", "problems", "noise", "rule", "runs ended early", "evaluations saved, mean")
    return markdown((*head, "value lost, mean", "value lost, 90 % quantile"), lines)


if __name__ == "__main__":
    main()
