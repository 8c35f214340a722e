"""Noisy policies of 10 to 41 weights in gymnasium: the true mean return of the policy that each search recommends.

    python -m benchmarks.optimizer.policies             runs that are not in results/policies.csv yet
    python -m benchmarks.optimizer.policies --table     mean ranks and paired differences, runs nothing

An evaluation is the mean of three episodes from new starts. All methods but `default, noisy=False` run with
`noisy=True`. `mean` is the mean of 20 new episodes of `result.x`, which are the same for all methods; `claimed` is
`result.fun`. `ENVIRONMENTS` has the limits of long episodes.
"""

import importlib.util
import warnings
from argparse import ArgumentParser
from itertools import product
from typing import NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown

KEY = ("method", "environment", "seed", "budget")
COLUMNS = (*KEY, "mean", "claimed")
EPISODES, HELD_OUT = 20, 10**6  # episodes of a score, and the seed that the first ones are drawn by
BUDGETS = (60, 140, 300)
DEFAULT = "default"
METHODS = {
    DEFAULT: {"noisy": True},
    "default, noisy=False": {"noisy": False},
    "turbo": {"noisy": True, "sampler": "turbo"},
    "cma": {"noisy": True, "sampler": "cma"},
    "bo": {"noisy": True, "sampler": "bo"},
    "uniform": {"noisy": True, "sampler": "uniform"},
}
ENVIRONMENTS = {  # settings of `lamcts.objectives.control.gym`; behind each the number of weights
    "CartPole-v1": {"episode_steps": 200},  # 10
    "InvertedDoublePendulum-v5": {"episode_steps": 200},  # 10
    "Swimmer-v5": {"episode_steps": 100},  # 18
    "Acrobot-v1": {"episode_steps": 200},  # 21
    "Reacher-v5": {},  # 22
    "Hopper-v5": {"episode_steps": 200},  # 36
    "LunarLander-v3": {"episode_steps": 200},  # 36
    "Pendulum-v1": {"hidden": 8},  # 41
}


class Run(NamedTuple):
    """One run, as its row is keyed."""

    method: str
    environment: str
    seed: int
    budget: int


def main() -> None:
    arguments = script.parsed(options(), environments=["CartPole-v1"], seeds=["0"], budgets=[8], methods=[DEFAULT])
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.table:
        print(table(sheet.rows()))
        return
    if any(importlib.util.find_spec(name) is None for name in ("gymnasium", "mujoco", "Box2D")):
        print("left for later: gymnasium is not installed: pip install '.[mujoco]'")
        return
    for budget, seed, environment in product(arguments.budgets, arguments.seeds, arguments.environments):
        for method in arguments.methods:
            run = Run(method, environment, seed, budget)
            if sheet.wants(run):
                sheet.record(run._asdict() | scores(run))


def options() -> ArgumentParser:
    given = script.parser(__doc__, "policies.csv", "one tiny run")
    given.add_argument("--seeds", nargs="+", default=["0-2"], help="such as 3 or 0-9; default: 0-2")
    given.add_argument("--environments", nargs="+", default=list(ENVIRONMENTS), choices=list(ENVIRONMENTS))
    given.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    given.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    given.add_argument("--table", action="store_true")
    return given


def scores(run: Run) -> dict[str, str]:
    """Return the true mean of the point that a run recommends, and the value that its result has."""
    import lamcts
    from lamcts.objectives.control import gym

    f = gym(run.environment, **ENVIRONMENTS[run.environment])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = lamcts.maximize(f, budget=run.budget, seed=run.seed, **METHODS[run.method])
    mean = f.evaluate(result.x, seed=HELD_OUT + run.seed, rollouts=EPISODES).mean
    return {"mean": f"{mean:.6g}", "claimed": f"{result.fun:.6g}"}


def table(rows: list[dict[str, str]]) -> str:
    """Return a line for each budget and method, on the runs that all methods have.

    Differences from the default are shares of the range of the means in an environment after as many evaluations.
    """
    from scipy.stats import wilcoxon

    means: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        means.setdefault((row["environment"], row["budget"]), []).append(float(row["mean"]))
    lines = []
    for budget in sorted({int(row["budget"]) for row in rows}):
        shares: dict[str, dict[tuple[str, str], tuple[float, float]]] = {}
        for row in rows:
            if int(row["budget"]) == budget:
                pair, unit = (row["environment"], row["seed"]), np.ptp(means[row["environment"], row["budget"]]) or 1.0
                shares.setdefault(row["method"], {})[pair] = float(row["mean"]) / unit, float(row["claimed"]) / unit
        shared = sorted(set.intersection(*(set(own) for own in shares.values())))
        values = {method: np.array([own[pair] for pair in shared]) for method, own in shares.items()}
        ranks = stats.ranks({method: (-own[:, 0]).tolist() for method, own in values.items()})
        for method in sorted(values, key=lambda method: ranks[method]):
            better = values[method][:, 0] - values[DEFAULT][:, 0]
            p = f"{wilcoxon(better).pvalue:.2g}" if better.any() else ""
            score = f"{np.count_nonzero(better > 0)}:{np.count_nonzero(better < 0)}"
            bias = float(np.mean(values[method][:, 1] - values[method][:, 0]))
            rank, gain = f"{ranks[method]:.2f}", f"{100 * better.mean():+.1f} %"
            lines.append((str(budget), method, str(len(shared)), rank, gain, score, p, f"{100 * bias:+.1f} %"))
    head = ("evaluations", "method", "runs", "mean rank", "mean difference", "better:worse", "p", "fun less the mean")
    return markdown(head, lines)


if __name__ == "__main__":
    main()
