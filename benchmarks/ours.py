"""Run one method on one problem and return its row: ours through the public ask and tell, and the plain yardsticks."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks import problems, records
from lamcts.objectives import Objective

PACKAGES = ("lamcts", "numpy", "scipy", "scikit-learn", "torch")
SETTINGS: dict[str, dict[str, Any]] = {  # our methods: settings of lamcts.Optimizer
    "lamcts": {},
    "lamcts turbo, no tree": {"sampler": "turbo", "tree": None},
    "lamcts turbo, tree": {"sampler": "turbo"},
    "lamcts cma, no tree": {"sampler": "cma", "tree": None},
    "lamcts cma, tree": {"sampler": "cma"},
}


class Task(NamedTuple):
    """One run; its fields are the key of its row."""

    method: str
    problem: str
    dim: int
    batch: int
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(map(str, self))


def run(task: Task) -> records.Row:
    """Return the row of one finished run."""
    objective = problems.shifted(task.problem, task.dim)
    watched = METHODS.get(task.method, _ours)(task, objective)
    return watched.row(task.method, task.problem, task.dim, task.batch, task.seed, PACKAGES)


def run_all(tasks: list[Task], out: Path, jobs: int) -> None:
    """Run the tasks that have no row in `out` yet, `jobs` at a time, each in a process of its own."""
    done = records.recorded(out)
    todo = [task for task in tasks if task.key not in done]
    with ProcessPoolExecutor(jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        for future in as_completed([pool.submit(run, task) for task in todo]):
            row = future.result()
            records.append(out, row)
            name = f"{row['method']} {row['problem']}-{row['dim']} batch {row['batch']} seed {row['seed']}"
            print(f"{name}: best {row['best']}, {row['own_ms']} ms an evaluation", flush=True)


def _ours(task: Task, objective: Objective) -> records.Watched:
    warm_imports(SETTINGS[task.method])
    watched = records.Watched(objective, task.budget)
    opt = lamcts.Optimizer(objective.space, seed=task.seed, **SETTINGS[task.method])
    while (left := task.budget - len(watched.values)) > 0:
        trials = opt.ask(min(task.batch, left))
        opt.tell(trials, [watched(trial.point) for trial in trials])
    return watched


def _random(task: Task, objective: Objective) -> records.Watched:
    watched, rng = records.Watched(objective, task.budget), np.random.default_rng(task.seed)
    for x in objective.space.sample(task.budget, rng):
        watched(objective.space.decode(x))
    return watched


def _pycma(task: Task, objective: Objective) -> records.Watched:
    """The library `cma` on the unit cube from a uniform start, sigma 0.3; a run that ends starts again elsewhere."""
    import cma

    watched, rng = records.Watched(objective, task.budget), np.random.default_rng(task.seed)
    options = {"bounds": [0, 1], "verbose": -9, "seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape)}
    while len(watched.values) < task.budget:
        search = cma.CMAEvolutionStrategy(rng.uniform(size=task.dim), 0.3, options)
        while not search.stop() and (left := task.budget - len(watched.values)) > 0:
            x = search.ask()
            y = [watched(objective.space.decode(np.asarray(point))) for point in x[:left]]
            if len(y) == len(x):
                search.tell(x, y)
    return watched


METHODS: dict[str, Callable[[Task, Objective], records.Watched]] = {"random": _random, "pycma": _pycma}


def warm_imports(settings: dict[str, Any]) -> None:
    """Load what a short run loads, so that own seconds hold work only: the references' imports do not count either."""
    opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=2), seed=0, n_init=8, **settings)
    for _ in range(12):
        trials = opt.ask(4)
        opt.tell(trials, [float(np.sum(trial.point)) for trial in trials])
