"""Results of a related task: what they save, and what they cost where the tasks have nothing in common.

    python -m benchmarks.optimizer.transfer              runs that are not in results/transfer.csv yet
    python -m benchmarks.optimizer.transfer --table      the tables of the rows that are there, runs nothing

A pair is a source and a target. The default search evaluates 50 points of the source, with a seed of its own. They are
the related results of a run of 50 evaluations on the target. Pairs of a family share the kind of data; others do not;
the losses of an opposite source are negated, so that its best points are the worst of the target.

Arms: `none` of the source's results; `point`: the best point of the source is evaluated once the source ranks well;
`mean`: the source's forecasts are the prior mean while it ranks well; `both`, which is `related=True`. Tables by data
set: NAS-Bench-201 and NAS-Bench-Graph from LAMCTS_DATA, models of scikit-learn from results/transfer_tables.npz
(`transfer_tables.py`).
"""

import os
from argparse import ArgumentParser
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.discrete.discrete_problems import tuning
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.tables.transfer import ARMS, KEY, tables
from lamcts.optimizer.optimizer import WarmStart
from lamcts.outcomes.related import NO_TASKS

COLUMNS = (*KEY, "improvements")
PAIRS = {
    "family": [
        ("nasbench201 cifar10", "nasbench201 cifar100"),
        ("nasbench201 cifar100", "nasbench201 ImageNet16-120"),
        ("graph photo", "graph computers"),
        ("graph cs", "graph physics"),
        ("graph cora", "graph citeseer"),
        ("svm digits-a", "svm digits-b"),
        ("svm cancer-a", "svm cancer-b"),
        ("boost digits-a", "boost digits-b"),
        ("boost cancer-a", "boost cancer-b"),
    ],
    "other": [
        ("nasbench201 cifar10 edgegpu", "nasbench201 cifar100"),
        ("graph cora", "graph photo"),
        ("svm wine", "svm digits-b"),
        ("boost wine", "boost digits-b"),
    ],
    "opposite": [
        ("nasbench201 cifar10", "nasbench201 cifar100"),
        ("svm digits-a", "svm digits-b"),
        ("boost digits-a", "boost digits-b"),
    ],
}
ELSEWHERE = 1000  # added to the seed of the search on the source


class Run(NamedTuple):
    """One run, as its row is keyed."""

    kind: str
    source: str
    target: str
    sampler: str
    arm: str
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(map(str, self))


class Task(NamedTuple):
    """A space, and the loss of its points."""

    space: Any
    loss: Callable[[Any], float]


def main() -> None:
    arguments = script.parsed(options(), seeds=["0"], budget=12)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.table:
        print(tables(sheet.rows()))
        return
    for kind, pairs in PAIRS.items():
        for source, target in pairs:
            if not ("LAMCTS_DATA" in os.environ or target.startswith(("svm", "boost"))):
                print(f"{source} -> {target}: left out, LAMCTS_DATA names no folder")
                continue
            for run in runs(kind, source, target, arguments):
                if sheet.wants(run):
                    sheet.record(run._asdict() | {"improvements": improvements(losses(run))})


def options() -> ArgumentParser:
    given = script.parser(__doc__, "transfer.csv", "one tiny run of each")
    script.many(given, "100-109")
    given.add_argument("--budget", type=int, default=50)
    given.add_argument("--sampler", default="auto")
    given.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS)
    given.add_argument("--table", action="store_true")
    return given


def runs(kind: str, source: str, target: str, arguments: Any) -> list[Run]:
    part = partial(Run, kind, source, target, arguments.sampler)
    return [part(arm, seed, arguments.budget) for seed in arguments.seeds for arm in arguments.arms]


# Tasks ----------------------------------------------------------------------------------------------------------------


@lru_cache
def task(name: str) -> Task:
    """Return a task by name: what is searched, its data set, and the device whose latency is the loss."""
    kind, data, *device = name.split()
    if kind == "nasbench201":
        made = lamcts.objectives.make(kind, dataset=data)
        return Task(made.space, partial(_latency if device else _negative, made))
    if kind == "graph":
        made = lamcts.objectives.make("nasbench-graph", dataset=data)
        return Task(made.space, partial(_negative, made))
    return Task(tuning.SPACES[kind], partial(tuning.LOSSES[kind], tuning.table(name)))


def _negative(objective: Any, point: Any) -> float:
    return -float(objective(point))


def _latency(objective: Any, point: Any) -> float:
    return float(objective.cost(point)["edgegpu_latency_ms"])


# Runs -----------------------------------------------------------------------------------------------------------------


@lru_cache
def known(source: str, sampler: str, opposite: bool, seed: int, budget: int) -> list[tuple[Any, float]]:
    """Return what a search of the source evaluated."""
    space, loss = task(source)
    sign = -1.0 if opposite else 1.0
    opt = lamcts.Optimizer(space, sampler=sampler, seed=ELSEWHERE + seed)
    found = []
    for _ in range(budget):
        (trial,) = opt.ask()
        found.append((trial.point, sign * loss(trial.point)))
        opt.tell(trial, found[-1][1])
    return found


def losses(run: Run) -> list[float]:
    """Return the losses of a run in order. `point` and `mean` leave out one of the two uses of related results."""
    space, loss = task(run.target)
    related = [known(run.source, run.sampler, run.kind == "opposite", run.seed, run.budget)]
    opt = lamcts.Optimizer(space, sampler=run.sampler, seed=run.seed, related=None if run.arm == "none" else related)
    opt.design.limit(max(1, run.budget // 4))  # as `minimize` does
    if run.arm == "point":
        opt.seen.related = NO_TASKS
    if run.arm == "mean":
        opt._warm_start = WarmStart(NO_TASKS, space)
    found = []
    for _ in range(run.budget):
        (trial,) = opt.ask()
        found.append(loss(trial.point))
        opt.tell(trial, found[-1])
    return found


def improvements(found: list[float]) -> str:
    """Return the numbers of evaluations that improved on all before, with their losses."""
    best = np.minimum.accumulate(found)
    first = [i for i in range(len(best)) if i == 0 or best[i] < best[i - 1]]
    return " ".join(f"{i + 1}:{best[i]:.8g}" for i in first)


if __name__ == "__main__":
    main()
