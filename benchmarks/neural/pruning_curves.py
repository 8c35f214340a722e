"""Epochs and ends of pruned searches on recorded learning curves, next to Optuna's pruners: seconds a run.

    python -m benchmarks.neural.pruning_curves [--problems mlp ...] [--seeds 0-9] [--arms NAME ...] [--table]

Curves come from results/curves-NAME.npz (benchmarks.neural.learning_curves). 50 trials a run, one at a time, all
settings at their defaults. "blind": pruned trials are told without their predicted losses. Rows go to
results/pruning_curves.csv.

The table pairs each arm with the same search without pruning, seed by seed. "epochs to target": median epochs until the
loss of a finished trial is at most 1.1 times the median end of Optuna's TPE without pruning; inf where it never is.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from statistics import median
from typing import Any, NamedTuple
from unittest.mock import patch

import lamcts
from benchmarks.harness import script
from benchmarks.harness.measure import digits
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.neural.learning_curves import PROBLEMS, Recorded
from benchmarks.tables.discrete import wilcoxon
from benchmarks.tables.markdown import markdown
from lamcts.study.pruning import Pruning

PLAIN, TPE = "lamcts", "Optuna TPE"  # without pruning
ARMS: dict[str, Any] = {
    PLAIN: None,
    "lamcts model": "model",
    "lamcts model, chance 0.05": lamcts.pruners.Model(chance=0.05),
    "lamcts model, chance 0.05, blind": lamcts.pruners.Model(chance=0.05),
    "lamcts model, chance 0.05, warmup 0": lamcts.pruners.Model(chance=0.05, warmup=0),
    "lamcts model, warmup 0": lamcts.pruners.Model(warmup=0),
    "lamcts model, chance 0.4": lamcts.pruners.Model(chance=0.4),
    "lamcts median": "median",
    "lamcts median, blind": "median",
    "lamcts hyperband": "hyperband",
    "lamcts halving": "halving",
    "lamcts extrapolation": "extrapolation",
    TPE: None,
    f"{TPE} median": "MedianPruner",
    f"{TPE} hyperband": "HyperbandPruner",
    f"{TPE} halving": "SuccessiveHalvingPruner",
}
NEAR = 1.1  # times the median end of Optuna's TPE without pruning: the target
Report = Callable[[int, float], None]


class Case(NamedTuple):
    """One run; its fields are the key of its row."""

    problem: str
    arm: str
    seed: int
    trials: int


COLUMNS = (*Case._fields, "best", "epochs", "pruned", "gains", "versions")


def main() -> None:
    given = script.parser(__doc__, "pruning_curves.csv", "two arms, eight trials")
    script.many(given, "0-9")
    given.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    given.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS), metavar="NAME")
    given.add_argument("--trials", type=int, default=50)
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there")
    small = {"arms": ["lamcts model", f"{TPE} median"], "seeds": [0], "trials": 8, "problems": ["mlp"]}
    arguments = script.parsed(given, **small)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    if not arguments.table:
        cases = [
            Case(problem, arm, seed, arguments.trials)
            for problem in arguments.problems
            for seed in arguments.seeds
            for arm in arguments.arms
        ]
        script.record(cases, sheet, "benchmarks.neural.pruning_curves:measure", arguments.jobs)
    print(table([row for row in sheet.rows() if int(row["trials"]) == arguments.trials]))


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    objective = Objective(case.problem)
    blind: Any = nullcontext()
    if "blind" in case.arm:
        blind = patch.object(Pruning, "_predicted", lambda own, number: None)
    with blind:
        pruned = (_optuna if case.arm.startswith(TPE) else _lamcts)(objective, case)
    row = case._asdict() | {"best": digits(objective.best), "epochs": objective.epochs, "pruned": pruned}
    gains = " ".join(f"{epochs}:{digits(best)}" for epochs, best in objective.gains)
    return row | {"gains": gains, "versions": f"commit {commit()} {versions((*OURS, 'optuna'))}"}, None


class Objective:
    """The final loss of a recorded model; counts epochs, and keeps the best of the trials that finished."""

    def __init__(self, problem: str) -> None:
        self.recorded, self.epochs, self.best = Recorded(problem), 0, math.inf
        self.gains: list[tuple[int, float]] = []  # epochs by then, and the new best

    def __call__(self, point: dict[str, Any], report: Report) -> float:
        loss, before = math.nan, 0
        for epoch, loss in zip(self.recorded.steps, self.recorded(point).tolist(), strict=True):
            self.epochs, before = self.epochs + epoch - before, epoch
            report(epoch, loss)
        if loss < self.best:
            self.best = loss
            self.gains.append((self.epochs, loss))
        return loss


def _lamcts(objective: Objective, case: Case) -> int:
    def loss(point: dict[str, Any], trial: Any) -> float:
        return objective(point, trial.report)

    options: Any = {"budget": case.trials, "seed": case.seed, "progress": False}
    return int(lamcts.minimize(loss, objective.recorded.space, pruner=ARMS[case.arm], **options).pruned)


def _optuna(objective: Objective, case: Case) -> int:
    import optuna

    def loss(trial: Any) -> float:
        def report(epoch: int, value: float) -> None:
            trial.report(value, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned

        return objective(_suggested(trial, objective.recorded.space), report)

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = getattr(optuna.pruners, ARMS[case.arm] or "NopPruner")()
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=case.seed), pruner=pruner)
    study.optimize(loss, n_trials=case.trials)
    return [trial.state for trial in study.trials].count(optuna.trial.TrialState.PRUNED)


def _suggested(trial: Any, space: Any) -> dict[str, Any]:
    """Return a point of a space in Optuna's words."""
    point: dict[str, Any] = {}
    for name, own in zip(space.names, space.members, strict=True):
        if isinstance(own, lamcts.Choice):
            point[name] = trial.suggest_categorical(name, list(own.options))
        else:
            suggest = trial.suggest_int if isinstance(own, lamcts.Int) else trial.suggest_float
            point[name] = suggest(name, own.low, own.high, log=own.log)
    return point


# Table ----------------------------------------------------------------------------------------------------------------


def table(rows: list[dict[str, str]]) -> str:
    """Return a line for each problem and arm: ends next to those without pruning, epochs, and epochs to the target."""
    lines = []
    for problem in PROBLEMS:
        own = [row for row in rows if row["problem"] == problem]
        goal = [float(row["best"]) for row in own if row["arm"] == TPE]
        for arm in ARMS:
            mine = {row["seed"]: row for row in own if row["arm"] == arm}
            base = TPE if arm.startswith(TPE) else PLAIN
            plain = {row["seed"]: row for row in own if row["arm"] == base}
            both = [(mine[seed], plain[seed]) for seed in mine if seed in plain]
            if mine:
                ends = f"{median(float(row['best']) for row in mine.values()):.4g}"
                to_target = median(_until(row, NEAR * median(goal)) for row in mine.values()) if goal else math.nan
                lines.append((problem, arm, str(len(mine)), ends, *_compared(both), f"{to_target:.0f}"))
    head = ("problem", "arm", "seeds", "best loss", "share of epochs", "median change of the loss", "better", "worse")
    return markdown((*head, "p", "epochs to target"), lines)


def _compared(both: list[tuple[dict[str, str], dict[str, str]]]) -> tuple[str, ...]:
    """Return the share of epochs, the median relative change of the loss, better and worse runs, and Wilcoxon's p."""
    if not both or all(mine is plain for mine, plain in both):
        return ("",) * 5
    share = sum(int(mine["epochs"]) for mine, _ in both) / sum(int(plain["epochs"]) for _, plain in both)
    gaps = [math.log(float(mine["best"]) / float(plain["best"])) for mine, plain in both]
    better, worse = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
    return f"{share:.2f}", f"{100 * math.expm1(median(gaps)):+.1f} %", str(better), str(worse), f"{wilcoxon(gaps):.2g}"


def _until(row: dict[str, str], goal: float) -> float:
    """Return the epochs until a finished trial was at least as good as a goal; inf if none was."""
    gains = [gain.split(":") for gain in row["gains"].split()]
    return next((float(epochs) for epochs, best in gains if float(best) <= goal), math.inf)


if __name__ == "__main__":
    main()
