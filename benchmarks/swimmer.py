"""How many evaluations until a linear policy swims? Swimmer-v5, 16 weights in [-1, 1], 3 rollouts an evaluation.

    python -m benchmarks.swimmer [--seeds 0 1 2 3 4] [--jobs 2]

A threshold counts as reached at the first evaluation whose incumbent, scored again on 20 fresh episodes, has a mean
above it (thesis, table 5.2: 325 after 126 samples). Every method starts with the policy that does nothing, W = 0,
whose score stands in each row. Rows go to results/swimmer.csv.
"""

import argparse
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import lamcts
from benchmarks import ours, records
from lamcts import objectives

THRESHOLD = 325.0
FRESH_EPISODES = 20
MARKS = (100, 200, 300, 500, 1000)
KEY = ("method", "objective", "seed", "budget")
COLUMNS = (
    *KEY, "w0", "reached_at", *(f"best_{m}" for m in MARKS), "best", "rescored", "rescored_sd", "episodes",
    "rescoring_episodes", "own_ms", "versions",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["lamcts"], choices=list(ours.SETTINGS))
    parser.add_argument("--seeds", type=int, nargs="+", default=range(5))
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=records.RESULTS / "swimmer.csv")
    parser.add_argument("--smoke", action="store_true", help="12 evaluations into a temporary file")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.seeds, arguments.budget, arguments.out = [0], 12, Path(tempfile.mkdtemp()) / "smoke.csv"
    done = records.recorded(arguments.out, KEY)
    keys = [(method, "swimmer", seed, arguments.budget) for seed in arguments.seeds for method in arguments.methods]
    todo = [key for key in keys if tuple(map(str, key)) not in done]
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        for future in as_completed([pool.submit(run, *key) for key in todo]):
            row = future.result()
            records.append(arguments.out, row, COLUMNS)
            print({name: row[name] for name in COLUMNS if name in row and name != "versions"}, flush=True)


def run(method: str, name: str, seed: int, budget: int) -> records.Row:
    """Return the row of one run."""
    ours.warm_imports(ours.SETTINGS[method])
    objective = objectives.make(name)
    fresh = iter(range(10**6 * (seed + 1), 10**6 * (seed + 2)))  # seeds of the re-scoring: none serves twice
    opt = lamcts.Optimizer(objective.space, maximise=True, seed=seed, x0=[objective.x0], **ours.SETTINGS[method])
    values: list[float] = []
    reached: int | None = None
    rescorings = 0

    def loss(trial: lamcts.Trial) -> float:
        values.append(objective(trial.point, seed=trial.seed))
        return -values[-1]

    watched = records.Watched(loss, budget)
    while len(values) < budget:
        (trial,) = opt.ask(1)
        opt.tell(trial, -watched(trial))
        if reached is None and opt.best.trial == trial.id and opt.best.value > THRESHOLD:
            watched.finish()
            rescorings += 1
            if rescore(objective, trial.point, next(fresh)).mean() > THRESHOLD:
                reached = len(values)
            watched.skip()
    own_ms = 1e3 * watched.finish() / budget
    again = rescore(objective, opt.best.point, next(fresh))
    best = np.maximum.accumulate(values)
    return dict(zip(KEY, (method, name, seed, budget), strict=True)) | {
        "w0": f"{rescore(objective, objective.x0, next(fresh)).mean():.1f}",
        "reached_at": "" if reached is None else reached,
        **{f"best_{m}": f"{best[m - 1]:.1f}" for m in MARKS if m <= budget},
        "best": f"{best[-1]:.1f}",
        "rescored": f"{again.mean():.1f}",
        "rescored_sd": f"{again.std(ddof=1):.1f}",
        "episodes": objective.rollouts * budget,
        "rescoring_episodes": FRESH_EPISODES * rescorings,
        "own_ms": f"{own_ms:.3g}",
        "versions": records.versions((*ours.PACKAGES, "gymnasium", "mujoco")),
    }


def rescore(objective: objectives.Objective, point: object, seed: int) -> np.ndarray:
    """Return the returns of `FRESH_EPISODES` episodes that the search has not seen."""
    return objective.evaluate(point, seed=seed, rollouts=FRESH_EPISODES).returns


if __name__ == "__main__":
    main()
