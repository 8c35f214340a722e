"""Does a fidelity come to the same end at 40 % of the cost? Recorded learning curves of three models.

    python -m benchmarks.neural.fidelities [--seeds 0-9] [--arms full fidelity] [--problems mlp ...] [--table]

The curves are those of `learning_curves.py`: two interpolated between 200 recorded configurations, one a table. Arms:

    full            the default, 50 evaluations of all epochs
    fidelity        `Fidelity`, the cost of 20 full evaluations, trainings go on where they stopped
    restarts        the same, but each evaluation trains from the beginning
    starts N        as `fidelity`, with N configurations at the least fidelity to begin with; rows of their own seeds
                    (20-49, with `full`) are in results/fidelity_starts.csv
    halving         fidelities by successive halving (ASHA, thirds) with the same sampler; else as `fidelity`
    TPE             Optuna's TPE, 50 evaluations of all epochs
    TPE median      the same with the median pruner, until it has trained as many epochs as `fidelity` may
    TPE hyperband   the same with the Hyperband pruner
    SMAC            SMAC's multi-fidelity facade (Hyperband with a random forest) at the cost of `fidelity`

An arm whose package is not installed is skipped; SMAC may run under another interpreter with PYTHONPATH set.

The table has the cost to the goal, which is the median loss of `full` after 20 evaluations. A row has the best loss at
all epochs, the cost in full evaluations, and each gain as COST:LOSS.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.measure import digits
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.neural.learning_curves import PROBLEMS, Recorded
from benchmarks.neural.pruning_curves import suggested
from benchmarks.peers import absent
from benchmarks.peers.native.smac import distribution, point_of
from benchmarks.tables.discrete import wilcoxon
from benchmarks.tables.markdown import markdown
from lamcts.outcomes.constrained_rank import OK, constrained_rank
from lamcts.samplers.fidelities import Configurations, FidelityProgress, FidelitySession, MultiFidelity

FULL, FEW = 50, 20  # full evaluations, and the cost of the arms with a fidelity
OURS_FULL = "full"
STARTS = {"starts d + 2": 0} | {f"starts {n}": n for n in (12, 16, 24, 32, 40)}  # d with the fidelity: 9 or 10
ARMS = (OURS_FULL, "fidelity", "restarts", "halving", "TPE", "TPE median", "TPE hyperband", "SMAC")
SMAC_TRIALS = {"mlp": 270, "convnet": 150, "digits4096": 35}  # at the cost of 20; a quarter is its random design
EPOCHS = "epochs"


class Case(NamedTuple):
    """One run; its fields are the key of its row."""

    problem: str
    arm: str
    seed: int
    full: int  # full evaluations of an arm without a fidelity


COLUMNS = (*Case._fields, "best", "cost", "evaluations", "gains", "cpu_s", "versions")


def main() -> None:
    given = script.parser(__doc__, "fidelities.csv", "two arms of the smallest budget")
    script.many(given, "0-9")
    given.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    given.add_argument("--arms", nargs="+", default=list(ARMS), choices=[*ARMS, *STARTS], metavar="NAME")
    given.add_argument("--full", type=int, default=FULL)
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there")
    arguments = script.parsed(given, problems=["mlp"], arms=["fidelity", "TPE hyperband"], seeds=[0], full=5)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    lack = absent("smac")
    if not arguments.table:
        if lack and "SMAC" in arguments.arms:
            print("skipped SMAC: smac is not installed", flush=True)
        cases = [
            Case(p, arm, seed, arguments.full)
            for seed in arguments.seeds
            for p in arguments.problems
            for arm in arguments.arms
            if not (lack and arm == "SMAC")
        ]
        script.record(cases, sheet, "benchmarks.neural.fidelities:measure", arguments.jobs)
    print(table([row for row in sheet.rows() if int(row["full"]) == arguments.full]))


class Training:
    """The loss of a point after some epochs, with the cost in epochs and the gains at all epochs."""

    def __init__(self, problem: str) -> None:
        self.curves = Recorded(problem)
        self.steps, self.epochs = self.curves.steps, self.curves.steps[-1]
        self.trained, self.evaluations = 0, 0
        self.best, self.gains = math.inf, list[str]()

    def __call__(self, point: dict[str, Any], epochs: int, before: int = 0) -> float:
        """Return the loss after `epochs`, of which `before` were trained at an earlier time."""
        self.trained, self.evaluations = self.trained + epochs - before, self.evaluations + 1
        loss = float(self.curves(point)[self.steps.index(epochs)])
        if epochs == self.epochs and loss < self.best:
            self.best = loss
            self.gains.append(f"{self.trained / self.epochs:.3f}:{digits(loss)}")
        return loss


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    import time

    case, start = Case(**fields), time.process_time()
    training = Training(case.problem)
    (_smac if case.arm == "SMAC" else _optuna if case.arm.startswith("TPE") else _lamcts)(training, case)
    row = case._asdict() | {"best": digits(training.best), "cost": f"{training.trained / training.epochs:.3f}"}
    row |= {"evaluations": training.evaluations, "gains": " ".join(training.gains)}
    made = f"commit {commit()} {versions((*OURS, 'smac' if case.arm == 'SMAC' else 'optuna'))}"
    return row | {"cpu_s": f"{time.process_time() - start:.1f}", "versions": made}, None


def _lamcts(training: Training, case: Case) -> None:
    options: dict[str, Any] = {"seed": case.seed, "progress": False}
    if case.arm == OURS_FULL:
        lamcts.minimize(lambda p: training(p, training.epochs), training.curves.space, budget=case.full, **options)
        return
    resumes, reached = case.arm != "restarts", dict[tuple[Any, ...], int]()
    members = dict(zip(training.curves.space.names or (), training.curves.space.members, strict=True))
    space = members | {EPOCHS: lamcts.Fidelity(training.steps[0], training.epochs, resumes=resumes)}

    def loss(point: dict[str, Any]) -> float:
        key = tuple(value for name, value in point.items() if name != EPOCHS)
        before = reached.get(key, 0) if resumes else 0
        reached[key] = point[EPOCHS]
        return training({n: v for n, v in point.items() if n != EPOCHS}, point[EPOCHS], before)

    sampler = Halving(lamcts.samplers.MixedGp()) if case.arm == "halving" else "auto"
    n_init = STARTS.get(case.arm)
    options |= {"sampler": sampler, "n_init": len(space) + 2 if n_init == 0 else n_init}
    lamcts.minimize(loss, space, budget=max(case.full * FEW // FULL, 2), **options)


class Halving(MultiFidelity):
    """Fidelities by asynchronous successive halving: the best third of a level goes on to the next (Li et al. 2020)."""

    def classes(self) -> tuple[type["HalvingSession"], type[FidelityProgress]]:
        return HalvingSession, FidelityProgress


class HalvingSession(FidelitySession):
    def _chosen(self, surrogate: Any, rows: Any, predicted: Any, open_: Any) -> Any:
        known, levels = self._configurations, self.axis.fidelity.levels
        new = self._new(predicted)
        for level, higher in reversed([*pairwise(levels)]):
            here = np.flatnonzero(known.reached >= level)
            order = here[np.argsort(self._values(known, here, level), kind="stable")][: len(here) // 3]
            ready = [i for i in order if open_[i] and known.reached[i] == level]
            if ready:
                return self.axis.at(known.x[ready[:1]], higher)[0]
        return None if new is None else self.axis.at(new, levels[0])[0]

    def _values(self, known: Configurations, here: Any, level: int) -> Any:
        """Return the constrained ranks of configurations at a level that they have reached, among themselves."""
        rows = np.flatnonzero((self.axis.of_rows(self.seen.x) == level) & np.isfinite(self.seen.f).all(1))
        places = dict(zip(self.axis.owners(self.seen.x[rows]), rows.tolist(), strict=True))
        found = [places.get(key) for key in self.axis.owners(self.axis.at(known.x[here], level))]
        there, ranks = np.array([row is not None for row in found], bool), np.full(len(found), math.inf)
        own = np.array([row for row in found if row is not None], np.int64)
        ranks[there] = constrained_rank(self.seen.f[own], self.seen.g[own], np.full(len(own), OK))
        return ranks


def _optuna(training: Training, case: Case) -> None:
    import optuna

    few = case.arm != "TPE"
    most = training.epochs * (max(case.full * FEW // FULL, 2) if few else case.full)

    def loss(trial: Any) -> float:
        point, value, before = suggested(trial, training.curves.space), math.nan, 0
        for epoch in training.steps:
            value, before = training(point, epoch, before), epoch
            trial.report(value, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
            if training.trained >= most:
                trial.study.stop()
                break
        return value

    pruners: dict[str, Callable[[], Any]] = {
        "TPE": optuna.pruners.NopPruner,
        "TPE median": optuna.pruners.MedianPruner,
        "TPE hyperband": lambda: optuna.pruners.HyperbandPruner(training.steps[0], training.epochs, 3),
    }
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=case.seed), pruner=pruners[case.arm]())
    study.optimize(loss, n_trials=None if few else case.full)


def _smac(training: Training, case: Case) -> None:
    import logging

    from ConfigSpace import ConfigurationSpace
    from smac import MultiFidelityFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    logging.disable(logging.WARNING)
    space, steps, most = training.curves.space, training.steps, training.epochs * max(case.full * FEW // FULL, 2)
    members = dict(zip(space.names or (), space.members, strict=True))
    configurations, reached = ConfigurationSpace(seed=case.seed), dict[Any, int]()
    configurations.add([distribution(name, member) for name, member in members.items()])
    with TemporaryDirectory() as folder:
        ends = {
            "min_budget": steps[0],
            "max_budget": steps[-1],
            "n_trials": SMAC_TRIALS[case.problem],
            "seed": case.seed,
        }
        scenario = Scenario(configurations, deterministic=True, output_directory=Path(folder), **ends)
        facade = MultiFidelityFacade(scenario, lambda config, budget, seed: 0.0, overwrite=True, logging_level=False)
        while training.trained < most:
            trial = facade.ask()
            epochs = max(step for step in steps if step <= max(round(trial.budget), steps[0]))
            loss = training(point_of(members, trial.config), epochs, reached.get(trial.config, 0))
            reached[trial.config] = epochs
            facade.tell(trial, TrialValue(cost=loss))


def table(rows: list[dict[str, str]]) -> str:
    """Return a line for each problem and arm: medians, and its losses next to those of `full`, seed by seed."""
    lines = []
    for problem in PROBLEMS:
        own = [row for row in rows if row["problem"] == problem]
        plain = {row["seed"]: row for row in own if row["arm"] == OURS_FULL}
        goal = (
            median(best_at(row["gains"], int(row["full"]) * FEW / FULL) for row in plain.values())
            if plain
            else math.nan
        )
        for arm in (*ARMS, *STARTS):
            mine = {row["seed"]: row for row in own if row["arm"] == arm}
            if mine:
                middles = [f"{median(float(row[name]) for row in mine.values()):.4g}" for name in ("best", "cost")]
                reached = [cost_to(row["gains"], goal) for row in mine.values()]
                lines.append((problem, arm, str(len(mine)), *middles, *_beside(mine, plain), _middle(reached)))
    head = ("problem", "arm", "seeds", "best loss", "cost", "log ratio to full", "better", "worse", "p", "cost to goal")
    return markdown(head, lines)


def cost_to(gains: str, goal: float) -> float:
    """Return the cost after which the best loss at all epochs was at most the goal; infinity if it never was."""
    for gain in gains.split():
        cost, loss = map(float, gain.split(":"))
        if loss <= goal:
            return cost
    return math.inf


def best_at(gains: str, most: float) -> float:
    """Return the best loss at all epochs after a cost of at most `most`; infinity if there was none."""
    pairs = (map(float, gain.split(":")) for gain in gains.split())
    return min((loss for cost, loss in pairs if cost <= most), default=math.inf)


def _middle(costs: list[float]) -> str:
    return f"{median(costs):.3g} ({sum(map(math.isfinite, costs))} of {len(costs)})"


def _beside(mine: dict[str, dict[str, str]], plain: dict[str, dict[str, str]]) -> tuple[str, ...]:
    """Return the median log ratio of losses to those of `full`, on how many seeds it is better and worse, and p."""
    gaps = [math.log(float(mine[seed]["best"]) / float(plain[seed]["best"])) for seed in mine if seed in plain]
    if not gaps or not any(gaps):
        return ("",) * 4
    better, worse = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
    return f"{median(gaps):+.3f}", str(better), str(worse), f"{wilcoxon(gaps):.2g}"


if __name__ == "__main__":
    main()
