"""Known noise: the true value of the recommended point, with standard errors told and without.

    python -m benchmarks.optimizer.known_noise              runs that are not in results/known_noise.csv yet
    python -m benchmarks.optimizer.known_noise --table      the table of the rows that are there, runs nothing

Problems: a sphere in four dimensions and Branin, in the unit cube, as shares of their spread. The standard deviation of
an evaluation is from 0.01 to 1 of the spread: drawn log-uniformly ("draw", as of means over few or many repeats), or
growing along the first coordinate ("place"). Evaluation k of a run has the same draws in both arms. The recommended
point is `result.best_predicted`.
"""

import math
from argparse import ArgumentParser
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.tables.markdown import markdown

KEY = ("problem", "noise", "sampler", "arm", "seed", "budget")
COLUMNS = (*KEY, "gap")
ARMS = ("without", "with")
NOISES = ("draw", "place")
LEAST, MOST = 0.01, 1.0  # least and largest standard deviation, of the spread


class Run(NamedTuple):
    """One run, as its row is keyed."""

    problem: str
    noise: str
    sampler: str
    arm: str
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(map(str, self))


def sphere(u: Any) -> float:
    return float(np.square(u - 0.4).sum()) / 0.4


def branin(u: Any) -> float:
    x, y = 15 * u[0] - 5, 15 * u[1]
    value = (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
    return float(value + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10 - 0.397887) / 40


PROBLEMS: dict[str, tuple[Callable[[Any], float], int]] = {"sphere": (sphere, 4), "branin": (branin, 2)}


def main() -> None:
    arguments = script.parsed(options(), seeds=["0"], budget=15)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.table:
        print(table(sheet.rows()))
        return
    for problem, noise, sampler in product(PROBLEMS, NOISES, arguments.samplers):
        for seed, arm in product(arguments.seeds, ARMS):
            run = Run(problem, noise, sampler, arm, seed, arguments.budget)
            if sheet.wants(run):
                sheet.record(run._asdict() | {"gap": f"{gap(run):.6g}"})


def options() -> ArgumentParser:
    given = script.parser(__doc__, "known_noise.csv", "one tiny run of each")
    script.many(given, "0-9")
    given.add_argument("--budget", type=int, default=60)
    given.add_argument("--samplers", nargs="+", default=["auto"])
    given.add_argument("--table", action="store_true")
    return given


def gap(run: Run) -> float:
    """Return the true value of the recommended point, above the minimum, as a share of the spread."""
    import lamcts

    true, dim = PROBLEMS[run.problem]
    rng = np.random.default_rng(run.seed)

    def f(u: Any) -> Any:
        share, normal = rng.random(), rng.standard_normal()
        sd = LEAST * (MOST / LEAST) ** float(share if run.noise == "draw" else u[0])
        value = true(u) + sd * normal
        return (value, sd) if run.arm == "with" else value

    box = lamcts.Box(0.0, 1.0, dim=dim)
    result = lamcts.minimize(f, box, budget=run.budget, sampler=run.sampler, seed=run.seed)
    return true(result.best_predicted.point)


def table(rows: list[dict[str, str]]) -> str:
    """Return the median gaps of both arms, in how many pairs that with standard errors is better, and its p."""
    from scipy.stats import wilcoxon

    lines = []
    for kind in dict.fromkeys(tuple(row[name] for name in KEY[:3]) for row in rows):
        gaps = {
            arm: {
                row["seed"]: float(row["gap"])
                for row in rows
                if (*(row[name] for name in KEY[:3]), row["arm"]) == (*kind, arm)
            }
            for arm in ARMS
        }
        seeds = sorted({*gaps["with"]} & {*gaps["without"]})
        without, told = (np.array([gaps[arm][seed] for seed in seeds]) for arm in ARMS)
        p = float(wilcoxon(told, without, alternative="less").pvalue) if (told != without).any() else 1.0
        better = f"{np.count_nonzero(told < without)} of {len(seeds)}"
        lines.append((*kind, f"{np.median(without):.3g}", f"{np.median(told):.3g}", better, f"{p:.3g}"))
    return markdown(
        ("problem", "noise", "sampler", "median gap without", "with", "pairs in which with is better", "p"), lines
    )


if __name__ == "__main__":
    main()
