"""What pruning saves: the best end of 40 % of the epochs next to that of 50 whole trials, on recorded curves.

    python -m benchmarks.neural.pruning_curves [--problems mlp convnet digits4096] [--seeds 0-29] [--arms NAME ...]
    python -m benchmarks.neural.pruning_curves --table

Curves come from results/curves-NAME.npz (benchmarks.neural.learning_curves), and from the data of digits4096. The arms
"50 trials" train 50 trials to the end. All others start trials until they have trained 40 % of the epochs of these;
what is under way then does not count. "none" prunes nothing. "blind": pruned trials are told without their predicted
losses. One trial at a time, all settings at their defaults. Rows go to results/pruning_curves.csv.

The table pairs each arm with the 50 trials of the same library, seed by seed. "epochs to target": median epochs until
the loss of a finished trial is at most the median of Optuna's TPE after 20 whole trials; inf where it never is.
"""

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from itertools import product
from statistics import median
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

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

WHOLE = "50 trials"
PLAIN, TPE = "lamcts", "Optuna TPE"
ARMS: dict[str, Any] = {
    f"{PLAIN}, {WHOLE}": None,
    f"{PLAIN}, none": None,
    f"{PLAIN}, median": "median",
    f"{PLAIN}, median, blind": "median",
    f"{PLAIN}, hyperband": "hyperband",
    f"{PLAIN}, halving": "halving",
    f"{TPE}, {WHOLE}": None,
    f"{TPE}, none": "NopPruner",
    f"{TPE}, median": "MedianPruner",
    f"{TPE}, hyperband": "HyperbandPruner",
    f"{TPE}, halving": "SuccessiveHalvingPruner",
}
SHARE = 0.4  # of the epochs of the whole trials
MANY = 10  # times as many trials as whole ones, at most
GOAL = 20  # whole trials of Optuna's TPE, after which its median is the target
Report = Callable[[int, float], None]


class Spent(KeyboardInterrupt):
    """All epochs are trained."""


class Case(NamedTuple):
    """One run; its fields are the key of its row."""

    problem: str
    arm: str
    seed: int
    trials: int


COLUMNS = (*Case._fields, "best", "epochs", "started", "finished", "gains", "versions")


def main() -> None:
    given = script.parser(__doc__, "pruning_curves.csv", "two arms, the epochs of three trials")
    small = {"arms": [f"{PLAIN}, hyperband", f"{TPE}, median"], "seeds": [0], "trials": 8, "problems": ["mlp"]}
    arguments = parsed(given, "0-29", PROBLEMS, ARMS, small)
    print(table(recorded(arguments, "benchmarks.neural.pruning_curves:measure", COLUMNS)))


def parsed(
    given: argparse.ArgumentParser, seeds: str, problems: Iterable[str], arms: Iterable[str], small: dict[str, Any]
) -> argparse.Namespace:
    """Return the arguments of a benchmark of pruning."""
    script.many(given, seeds)
    given.add_argument("--problems", nargs="+", default=list(problems), choices=list(problems))
    given.add_argument("--arms", nargs="+", default=list(arms), choices=list(arms), metavar="NAME")
    given.add_argument("--trials", type=int, default=50)
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there")
    return script.parsed(given, **small)


def recorded(arguments: argparse.Namespace, measure: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """Measure the cases that have no row yet, unless a table alone is wanted; return the rows."""
    sheet = Sheet(arguments.out, Case._fields, columns)
    if not arguments.table:
        keys = product(arguments.problems, arguments.seeds, arguments.arms)
        cases = [Case(problem, arm, seed, arguments.trials) for problem, seed, arm in keys]
        script.record(cases, sheet, measure, arguments.jobs)
    return [row for row in sheet.rows() if int(row["trials"]) == arguments.trials]


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    objective = Objective(case.problem, case.trials if case.arm.endswith(WHOLE) else case.trials * SHARE)
    blind: Any = nullcontext()
    if "blind" in case.arm:
        blind = patch.object(Pruning, "_predicted", lambda own, number: None)
    with blind:
        (_optuna if case.arm.startswith(TPE) else _lamcts)(objective, case)
    row = case._asdict() | {"best": digits(objective.best), "epochs": objective.epochs}
    row |= {"started": objective.started, "finished": objective.finished}
    gains = " ".join(f"{epochs}:{digits(best)}" for epochs, best in objective.gains)
    return row | {"gains": gains, "versions": f"commit {commit()} {versions((*OURS, 'optuna'))}"}, None


class Objective:
    """The final loss of a recorded model; counts epochs, and keeps the best of the trials that finished.

    It raises `Spent` when it has trained the epochs of `trials` whole trials.
    """

    def __init__(self, problem: str, trials: float) -> None:
        self.recorded, self.epochs, self.best, self.started, self.finished = Recorded(problem), 0, math.inf, 0, 0
        self._most = round(trials * self.recorded.steps[-1])
        self.gains: list[tuple[int, float]] = []  # epochs by then, and the new best

    def __call__(self, point: dict[str, Any], report: Report) -> float:
        loss, before = math.nan, 0
        self.started += self.epochs < self._most
        for epoch, loss in zip(self.recorded.steps, self.recorded(point).tolist(), strict=True):
            if self.epochs + epoch - before > self._most:
                raise Spent
            self.epochs, before = self.epochs + epoch - before, epoch
            report(epoch, loss)
        self.finished += 1
        if loss < self.best:
            self.best = loss
            self.gains.append((self.epochs, loss))
        return loss


def _lamcts(objective: Objective, case: Case) -> None:
    def loss(point: dict[str, Any], trial: Any) -> float:
        return objective(point, trial.report)

    most = case.trials * (1 if case.arm.endswith(WHOLE) else MANY)
    options: Any = {"budget": most, "seed": case.seed, "progress": False}
    with suppress(Spent):
        lamcts.minimize(loss, objective.recorded.space, pruner=ARMS[case.arm], **options)


def _optuna(objective: Objective, case: Case) -> None:
    import optuna

    def loss(trial: Any) -> float:
        def report(epoch: int, value: float) -> None:
            trial.report(value, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned

        return objective(suggested(trial, objective.recorded.space), report)

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = getattr(optuna.pruners, ARMS[case.arm] or "NopPruner")()
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=case.seed), pruner=pruner)
    with suppress(Spent):
        study.optimize(loss, n_trials=case.trials * (1 if case.arm.endswith(WHOLE) else MANY))


def suggested(trial: Any, space: Any) -> dict[str, Any]:
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
    """Return a line for each problem and arm: ends next to those of whole trials, and epochs to the target."""
    lines = []
    for problem in PROBLEMS:
        runs = {(row["arm"], row["seed"]): row for row in rows if row["problem"] == problem}
        whole = [_loss_at(row, GOAL / int(row["trials"])) for (arm, _), row in runs.items() if arm == f"{TPE}, {WHOLE}"]
        for arm in ARMS:
            mine = [row for (own, _), row in runs.items() if own == arm]
            base = f"{TPE if arm.startswith(TPE) else PLAIN}, {WHOLE}"
            both = [(row, runs[base, row["seed"]]) for row in mine if (base, row["seed"]) in runs]
            if mine:
                found = [median(float(row[name]) for row in mine) for name in ("best", "started", "finished")]
                to_target = median(_until(row, median(whole)) for row in mine) if whole else math.nan
                counts = f"{found[1]:.0f} ({found[2]:.0f})"
                cells = str(len(mine)), counts, f"{found[0]:.4g}", *_compared(both if arm != base else [])
                lines.append((problem, arm, *cells, f"{to_target:.0f}"))
    head = ("problem", "arm", "seeds", "trials (finished)", "best loss", "change of the loss", "better", "worse", "p")
    return markdown((*head, "epochs to target"), lines)


def _compared(both: list[tuple[dict[str, str], dict[str, str]]]) -> tuple[str, ...]:
    """Return the mean relative change of the loss with its 95 % interval, better and worse runs, and Wilcoxon's p."""
    if len(both) < 2:
        return ("",) * 4
    gaps = [math.log(float(mine["best"]) / float(whole["best"])) for mine, whole in both]
    middle, half = float(np.mean(gaps)), 1.96 * float(np.std(gaps, ddof=1)) / math.sqrt(len(gaps))
    change, low, high = (100 * math.expm1(each) for each in (middle, middle - half, middle + half))
    better, worse = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
    return f"{change:+.1f} % ({low:+.1f} to {high:+.1f})", str(better), str(worse), f"{wilcoxon(gaps):.2g}"


def _gains(row: dict[str, str]) -> list[tuple[float, float]]:
    """Return the gains of a run: epochs and the best loss from then on."""
    pairs = [gain.split(":") for gain in row["gains"].split()]
    return [(float(epochs), float(best)) for epochs, best in pairs]


def _loss_at(row: dict[str, str], share: float) -> float:
    """Return the best loss of a run after a share of its epochs."""
    return min((best for epochs, best in _gains(row) if epochs <= share * int(row["epochs"])), default=math.inf)


def _until(row: dict[str, str], goal: float) -> float:
    """Return the epochs until a finished trial was at least as good as a goal; inf if none was."""
    return next((epochs for epochs, best in _gains(row) if best <= goal), math.inf)


if __name__ == "__main__":
    main()
