"""Noisy values: the true gap of the point that each method recommends.

    python -m benchmarks.optimizer.noise                    runs that are not in results/noise.csv yet
    python -m benchmarks.optimizer.noise --table            mean ranks and paired tests of --methods, runs nothing

Problems: BBOB's 24 functions in five dimensions. Seed s runs on instance s + 1 and draws its own noise. A gap is the
true value above the minimum as a share of the spread (median of 1000 uniform points, less the minimum). Noises:
`normal`, a standard deviation of 10 % of the spread; `growing`, 1 % of the spread and 30 % of the gap; `tails`, with
probability 0.2 a Cauchy draw of scale 10 % of the spread (after BBOB-noisy's fCauchy), and else nothing.

Each method's own recommendation counts: of lamcts `result.x`, of Optuna the best trial, of Nevergrad
`provide_recommendation`, of pycma with its noise handler the mean of the distribution. The suite needs the package ioh.
"""

import importlib.util
import warnings
from argparse import ArgumentParser
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.optimizer import public_problems
from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown

KEY = ("method", "function", "noise", "seed", "budget")
COLUMNS = (*KEY, "gap")
DIM, SMALLEST = 5, 1e-8
OURS = "lamcts"
Noisy = Callable[[Any], float]  # of a point of the unit cube


class Run(NamedTuple):
    """One run, as its row is keyed."""

    method: str
    function: int
    noise: str
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(map(str, self))


class NoisyProblem:
    """A function of the unit cube as shares of its spread, and its noise; evaluation k of a run draws the same."""

    def __init__(self, run: Run) -> None:
        self._f = public_problems.PublicObjective(f"bbob-f{run.function}-i{run.seed + 1}-{DIM}")
        self._noise, self._rng, self._unit = NOISES[run.noise], np.random.default_rng((run.seed, run.function)), 1.0
        self._unit = float(np.median([self.true(u) for u in np.random.default_rng(0).random((1000, DIM))]))

    def true(self, u: Any) -> float:
        return self._f((np.clip(u, 0, 1) - 0.5) * 2 * public_problems.HALF_WIDTH) / self._unit

    def __call__(self, u: Any) -> float:
        gap = self.true(u)
        return gap + self._noise(gap, self._rng)


def normal(gap: float, rng: np.random.Generator) -> float:
    return 0.1 * rng.standard_normal()


def growing(gap: float, rng: np.random.Generator) -> float:
    return (0.01 + 0.3 * gap) * rng.standard_normal()


def tails(gap: float, rng: np.random.Generator) -> float:
    draw, cauchy = rng.random(), rng.standard_cauchy()
    return 0.1 * cauchy if draw < 0.2 else 0.0


NOISES = {"normal": normal, "growing": growing, "tails": tails}


def main() -> None:
    arguments = script.parsed(options(), functions=[1], noises=["normal"], seeds=["0"], budget=20, methods=[OURS])
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.table:
        print(table([row for row in sheet.rows() if row["method"] in arguments.methods]))
        return
    if importlib.util.find_spec("ioh") is None:
        print("left for later: ioh is not installed: pip install '.[peers]'")
        return
    for seed, function, noise in product(arguments.seeds, arguments.functions, arguments.noises):
        for method in arguments.methods:
            run = Run(method, function, noise, seed, arguments.budget)
            if sheet.wants(run):
                sheet.record(run._asdict() | {"gap": f"{gap(run):.6g}"})


def options() -> ArgumentParser:
    given = script.parser(__doc__, "noise.csv", "one tiny run")
    given.add_argument("--seeds", nargs="+", default=["0-2"], help="such as 3 or 0-9; default: 0-2")
    given.add_argument("--functions", nargs="+", type=int, default=list(range(1, 25)))
    given.add_argument("--noises", nargs="+", default=list(NOISES), choices=list(NOISES))
    given.add_argument("--budget", type=int, default=100)
    given.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    given.add_argument("--table", action="store_true")
    return given


def gap(run: Run) -> float:
    """Return the true gap of the point that a run recommends."""
    problem = NoisyProblem(run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return max(problem.true(METHODS[run.method](problem, run)), SMALLEST)


def lamcts_noisy(f: Noisy, run: Run) -> Any:
    import lamcts

    return lamcts.minimize(f, lamcts.Box(0.0, 1.0, dim=DIM), budget=run.budget, noisy=True, seed=run.seed).x


def lamcts_plain(f: Noisy, run: Run) -> Any:
    import lamcts

    return lamcts.minimize(f, lamcts.Box(0.0, 1.0, dim=DIM), budget=run.budget, seed=run.seed).x


def pycma(f: Noisy, run: Run) -> Any:
    import cma

    from lamcts.study.peers import SIGMA

    options = {"bounds": [0, 1], "maxfevals": run.budget, "seed": run.seed + 1, "verbose": -9, "verb_log": 0}
    _, strategy = cma.fmin2(f, np.full(DIM, 0.5), SIGMA, options, noise_handler=cma.NoiseHandler(DIM))
    return strategy.result.xfavorite


def optuna_gp(f: Noisy, run: Run) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = [f"x{k}" for k in range(DIM)]
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=run.seed, deterministic_objective=False))
    study.optimize(lambda trial: f([trial.suggest_float(name, 0, 1) for name in names]), run.budget)
    return [study.best_params[name] for name in names]


def nevergrad(name: str) -> Callable[[Noisy, Run], Any]:
    """Return the method of one of Nevergrad's optimisers, which is told that the function is noisy."""

    def method(f: Noisy, run: Run) -> Any:
        import nevergrad as ng

        array = ng.p.Array(init=np.full(DIM, 0.5), lower=0.0, upper=1.0)
        array.function.deterministic = False
        array.random_state = np.random.RandomState(run.seed)
        optimizer = ng.optimizers.registry[name](array, budget=run.budget, num_workers=1)
        for _ in range(run.budget):
            candidate = optimizer.ask()
            optimizer.tell(candidate, f(candidate.value))
        return optimizer.provide_recommendation().value

    return method


METHODS: dict[str, Callable[[Noisy, Run], Any]] = {
    OURS: lamcts_noisy,
    "lamcts, not noisy": lamcts_plain,
    "optuna gp": optuna_gp,
    "pycma": pycma,
    "nevergrad NGOpt": nevergrad("NGOpt"),
    "nevergrad TBPSA": nevergrad("TBPSA"),
}


def table(rows: list[dict[str, str]]) -> str:
    """Return mean ranks by noise, and gaps and paired tests over all noises, on the runs that all methods have."""
    budgets = {budget: [row for row in rows if row["budget"] == budget] for budget in {row["budget"] for row in rows}}
    several = [budget for budget, own in budgets.items() if len({row["method"] for row in own}) > 1]
    lines = [(budget, *cells) for budget in sorted(several, key=int) for cells in compared(budgets[budget])]
    head = ("evaluations", "method", "runs", *(f"rank, {noise}" for noise in NOISES), "rank, all", "mean gap")
    return markdown((*head, "lamcts won:lost", "p"), lines)


def compared(rows: list[dict[str, str]]) -> list[tuple[str, ...]]:
    """Return a line for each method, the best first; pairs are (function, noise, seed)."""
    from scipy.stats import wilcoxon

    gaps: dict[str, dict[tuple[str, ...], float]] = {}
    for row in rows:
        gaps.setdefault(row["method"], {})[tuple(row[name] for name in KEY[1:])] = float(row["gap"])
    shared = sorted(set.intersection(*(set(own) for own in gaps.values())))
    logs = {method: np.log([own[key] for key in shared]) for method, own in gaps.items()}
    noises = [[key[1] == noise for key in shared] for noise in NOISES]
    ranks = [
        stats.ranks({m: own[where].tolist() for m, own in logs.items()}) for where in (*noises, [True] * len(shared))
    ]
    lines = []
    for method in sorted(logs, key=lambda method: ranks[-1][method]):
        better = logs[OURS] - logs[method]
        p = float(wilcoxon(better).pvalue) if better.any() else 1.0
        score = f"{np.count_nonzero(better < 0)}:{np.count_nonzero(better > 0)}"
        cells = (*(f"{rank[method]:.2f}" for rank in ranks), f"{np.exp(logs[method].mean()):.2g}", score, f"{p:.2g}")
        lines.append((method, str(len(shared)), *cells))
    return lines


if __name__ == "__main__":
    main()
