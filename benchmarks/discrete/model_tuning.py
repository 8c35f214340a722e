"""How far does each method get on two models that people tune, within 25, 50 and 100 trials?

    python -m benchmarks.discrete.model_tuning --problems tune --methods lamcts tpe --seeds 100-104
    python -m benchmarks.discrete.model_tuning --problems judge --seeds 0-9
    python -m benchmarks.discrete.model_tuning --methods lamcts --as "lamcts 0.1"  # rows under another name
    python -m benchmarks.discrete.model_tuning --table

LightGBM and a perceptron (`trained_models`), each on two tables of scikit-learn, with parameters that are there only
where others say so, one trial at a time. `tune` is what the default was looked at on, with seeds from 100 on; `judge`
are data that it never saw. The peers are Optuna's TPE, Gaussian process and random draws with their default settings,
define by run. Rows go to results/model_tuning.csv: the best loss at each mark, and the optimiser's own CPU seconds.
The table pairs the runs by seed: Wilcoxon's signed-rank test, two-sided.
"""

import time
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np

from benchmarks.discrete import trained_models
from benchmarks.discrete.trained_models.parameters import Model, Point, space, suggested
from benchmarks.harness import comparison, script
from benchmarks.harness.comparison import KEY, Case, Comparison
from benchmarks.harness.search import Enough
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.tables import model_tuning
from lamcts import Optimizer

PEERS = ("random", "tpe", "gp")  # of Optuna
METHODS = ("lamcts", *PEERS)
MARKS = (10, 15, 25, 50, 100)  # trials; tables show the last three
COLUMNS = (*KEY, *(f"best_{m}" for m in MARKS), "own_seconds", "distinct", "versions")
WARM = 12  # trials of a run before the run, which loads what the method loads


class Run:
    """The losses of a run by trial; it counts, clocks, and raises `Enough` where the budget is used up."""

    def __init__(self, model: Model, seed: int, budget: int) -> None:
        self.model, self.seed, self.budget = model, seed, budget
        self.losses: list[float] = []
        self._began, self._objective = time.process_time(), 0.0

    def __call__(self, point: Point) -> float:
        if len(self.losses) == self.budget:
            raise Enough
        since = time.process_time()
        self.losses.append(self.model.loss(point))
        self._objective += time.process_time() - since
        return self.losses[-1]

    @property
    def own_seconds(self) -> float:
        return time.process_time() - self._began - self._objective


def main() -> None:
    parts = Comparison("benchmarks.discrete.model_tuning", COLUMNS, METHODS, asked, cases, measure, tables)
    parts.main(options(), problems=["mlp-digits"], methods=["lamcts", "random"], seeds=[0], budget=12)


def options() -> ArgumentParser:
    """Return the parser of the command line."""
    given = script.parser(__doc__, "model_tuning.csv", "twelve trials of a perceptron")
    out_of = f"tune, judge, or out of {', '.join(trained_models.ALL)}"
    comparison.add_options(
        given, "0-9", ["tune", "judge"], out_of, f"lamcts, 'lamcts SAMPLER', {', '.join(PEERS)}", 100
    )
    return given


def asked(words: list[str]) -> list[str]:
    """Return the problems that words such as "tune", "judge" and names say."""
    return comparison.named(words, {"tune": trained_models.TUNE, "judge": trained_models.JUDGE})


def cases(arguments: Any) -> list[Case]:
    """Return the runs that are asked for, seed by seed, so that they may be stopped at any; say what is left out."""
    lacks = {name: trained_models.lacking(name) for name in asked(arguments.problems)}
    for name, lack in lacks.items():
        if lack:
            print(f"skipped {name}: {lack} is not installed", flush=True)
    if arguments.batch != 1:
        raise SystemExit(f"expected one trial at a time, got --batch {arguments.batch}")
    each = product(arguments.seeds, (name for name, lack in lacks.items() if not lack), arguments.methods or METHODS)
    label, budget = arguments.label, arguments.budget
    return [Case(label or method, name, 1, seed, budget, method) for seed, name, method in each]


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    model, method = trained_models.find(case.problem), find(case.runs)
    finished(method, Run(model, 0, WARM))
    run = Run(model, case.seed, case.budget)
    finished(method, run)
    own = run.own_seconds
    best = np.minimum.accumulate(run.losses)
    row = {name: getattr(case, name) for name in KEY}
    row |= {f"best_{m}": f"{best[m - 1]:.8g}" for m in MARKS if m <= case.budget}
    made = versions([*OURS, "optuna", *([model.package] if model.package else [])])
    row |= {"own_seconds": f"{own:.3g}", "distinct": len(set(run.losses))}
    return row | {"versions": f"commit {commit()} {made}"}, None


def find(method: str) -> Callable[[Run], None]:
    """Return the method of this name; "lamcts turbo" and the like are samplers of ours."""
    ours, _, sampler = method.partition(" ")
    if ours == "lamcts":
        return lambda run: search(run, sampler or "auto")
    if method not in PEERS:
        raise ValueError(f"expected a method out of lamcts, {', '.join(PEERS)}, got {method!r}")
    return lambda run: peer(run, method)


def finished(method: Callable[[Run], None], run: Run) -> None:
    with suppress(Enough):
        method(run)


def search(run: Run, sampler: str) -> None:
    opt = Optimizer(space(run.model.parameters), seed=run.seed, sampler=sampler)
    while True:
        (trial,) = opt.ask()
        opt.tell(trial, run(trial.point))


def peer(run: Run, name: str) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kinds = {
        "random": optuna.samplers.RandomSampler,
        "tpe": optuna.samplers.TPESampler,
        "gp": optuna.samplers.GPSampler,
    }
    extra = {"warn_independent_sampling": False} if name == "gp" else {}  # a word, not a setting of the search
    study = optuna.create_study(sampler=kinds[name](seed=run.seed, **extra))
    study.optimize(lambda trial: run(suggested(run.model.parameters, trial)), n_trials=run.budget)


def tables(rows: comparison.Rows, arguments: Any) -> str:
    """Return the table of these rows at the last marks of the budget."""
    marks = [m for m in MARKS[-3:] if m <= arguments.budget] or MARKS[:1]
    return model_tuning.table(rows, marks, arguments.against)


if __name__ == "__main__":
    main()
