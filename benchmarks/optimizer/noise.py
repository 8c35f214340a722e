"""Noisy values: the true gap of the point that each method returns.

    python -m benchmarks.optimizer.noise                    runs that are not in results/noise.csv yet
    python -m benchmarks.optimizer.noise --table            the table of the rows that are there, runs nothing

Problems: MA-BBOB instances 101 to 108 in five dimensions, 100 evaluations. Normal noise is added, with a standard
deviation of 1 % or 10 % of the problem's spread (median of 1000 uniform points, less the minimum). lamcts runs with
`noisy=True`, pycma with its noise handling and returns its mean, Optuna's Gaussian process returns its best trial. The
suite needs the package ioh.
"""

import importlib.util
import warnings
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.optimizer import public_problems
from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown

KEY = ("method", "problem", "noise", "seed", "budget")
COLUMNS = (*KEY, "gap")
SMALLEST = 1e-8
Noisy = Callable[[Any], float]  # of a point of the unit cube


class Run(NamedTuple):
    """One run, as its row is keyed."""

    method: str
    problem: str
    noise: float
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(map(str, self))


def main() -> None:
    arguments = script.parsed(options(), instances=[101], budget=20, methods=["lamcts"])
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.table:
        print(table(sheet.rows()))
        return
    if importlib.util.find_spec("ioh") is None:
        print("left for later: ioh is not installed: pip install 'lamcts[peers]'")
        return
    for instance in arguments.instances:
        for noise in (0.01, 0.1):
            for method in arguments.methods:
                run = Run(method, f"mabbob-{instance}-5", noise, 0, arguments.budget)
                if sheet.wants(run):
                    sheet.append(row := run._asdict() | {"gap": f"{gap(run):.6g}"})
                    script.tell(sheet, row)


def options() -> ArgumentParser:
    given = script.parser(__doc__, "noise.csv", "one tiny run")
    given.add_argument("--instances", nargs="+", type=int, default=list(range(101, 109)))
    given.add_argument("--budget", type=int, default=100)
    given.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    given.add_argument("--table", action="store_true")
    return given


def gap(run: Run) -> float:
    """Return the true value of the point that a run returns, above the minimum."""
    objective = public_problems.PublicObjective(run.problem)
    dim, width = len(objective.x0), 2 * public_problems.HALF_WIDTH
    rng = np.random.default_rng(run.seed)

    def true(u: Any) -> float:
        return objective((np.clip(u, 0, 1) - 0.5) * width)

    spread = float(np.median([true(u) for u in np.random.default_rng(0).random((1000, dim))]))
    found = METHODS[run.method](lambda u: true(u) + run.noise * spread * rng.standard_normal(), dim, run)
    return max(true(found), SMALLEST)


def lamcts_noisy(f: Noisy, dim: int, run: Run) -> Any:
    import lamcts

    return lamcts.minimize(f, lamcts.Box(0.0, 1.0, dim=dim), budget=run.budget, noisy=True, seed=run.seed).x


def pycma(f: Noisy, dim: int, run: Run) -> Any:
    import cma

    options = {"bounds": [0, 1], "maxfevals": run.budget, "seed": run.seed + 1, "verbose": -9, "verb_log": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, strategy = cma.fmin2(f, np.full(dim, 0.5), 0.3, options, noise_handler=cma.NoiseHandler(dim))
    return strategy.result.xfavorite


def optuna_gp(f: Noisy, dim: int, run: Run) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = [f"x{k}" for k in range(dim)]
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=run.seed))
    study.optimize(lambda trial: f([trial.suggest_float(name, 0, 1) for name in names]), run.budget)
    return [study.best_params[name] for name in names]


METHODS: dict[str, Callable[[Noisy, int, Run], Any]] = {"lamcts": lamcts_noisy, "pycma": pycma, "optuna gp": optuna_gp}


def table(rows: list[dict[str, str]]) -> str:
    """Return the mean rank and the geometric mean gap of each method at each level of noise."""
    lines = []
    for noise in sorted({row["noise"] for row in rows}):
        gaps = {m: {row["problem"]: float(row["gap"]) for row in rows if row["noise"] == noise and row["method"] == m}
                for m in METHODS}  # fmt: skip
        shared = sorted(set.intersection(*(set(own) for own in gaps.values())))
        ranks = stats.ranks({m: [own[name] for name in shared] for m, own in gaps.items()})
        for m, own in gaps.items():
            mean = float(np.exp(np.mean([np.log(own[name]) for name in shared])))
            lines.append((f"{float(noise):.0%}", m, str(len(shared)), f"{ranks[m]:.2f}", f"{mean:.2g}"))
    return markdown(("noise", "method", "problems", "mean rank", "mean gap"), lines)


if __name__ == "__main__":
    main()
