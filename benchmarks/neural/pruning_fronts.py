"""Fronts of pruned searches with two objectives on recorded learning curves, at 50 trials and at equal epochs.

    python -m benchmarks.neural.pruning_fronts [--problems mlp convnet] [--seeds 0-9] [--arms NAME ...] [--table]

The objectives are the logarithms (base 10) of the loss after the last epoch and of the number of weights, which is
known from the first epoch on. Curves come from results/curves-NAME.npz (benchmarks.neural.learning_curves). 50 trials
a run, one at a time, all settings at their defaults. "blind": pruned trials are told without their predicted losses.
Optuna prunes no trials with several objectives. Rows go to results/pruning_fronts.csv.

The reference point of the hypervolume has the largest final loss and the largest size of the recorded configurations.
The table compares each pruned arm with the same search without pruning, seed by seed, once after 50 trials and once
stopped at the epochs of the pruned run. The last column holds the hypervolume of each arm at the median epochs of
`pruner="model"`.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import pairwise
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.measure import digits
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.neural.learning_curves import Recorded
from benchmarks.neural.pruning_curves import Case, parsed, recorded, suggested
from benchmarks.tables.discrete import wilcoxon
from benchmarks.tables.markdown import markdown
from lamcts.outcomes.hypervolume import hypervolume
from lamcts.study.pruning import Pruning

PLAIN, MODEL = "lamcts", "lamcts model"
ARMS: dict[str, Any] = {
    PLAIN: None,
    MODEL: "model",
    "lamcts model, blind": "model",
    "lamcts median": "median",
    "lamcts hyperband": "hyperband",
    "Optuna TPE": "TPESampler",
    "Optuna NSGA-II": "NSGAIISampler",
}
NAMES = {"loss": "min", "size": "min"}
Report = Callable[[int, tuple[float, float]], None]


COLUMNS = (*Case._fields, "hypervolume", "epochs", "pruned", "gains", "versions")


def main() -> None:
    given = script.parser(__doc__, "pruning_fronts.csv", "two arms, eight trials")
    arguments = parsed(
        given, "0-9", SIZES, ARMS, {"arms": [PLAIN, MODEL], "seeds": [0], "trials": 8, "problems": ["mlp"]}
    )
    print(table(recorded(arguments, "benchmarks.neural.pruning_fronts:measure", COLUMNS)))


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    objective = Objective(case.problem)
    blind: Any = patch.object(Pruning, "_predicted", lambda own, number: None) if "blind" in case.arm else nullcontext()
    with blind:
        pruned = (_optuna if case.arm.startswith("Optuna") else _lamcts)(objective, case)
    volume = digits(objective.gains[-1][1] if objective.gains else 0.0)
    row = case._asdict() | {"hypervolume": volume, "epochs": objective.epochs, "pruned": pruned}
    gains = " ".join(f"{epochs}:{digits(volume)}" for epochs, volume in objective.gains)
    return row | {"gains": gains, "versions": f"commit {commit()} {versions((*OURS, 'optuna'))}"}, None


class Objective:
    """Logarithms of a recorded model's final loss and size; counts epochs, and keeps the hypervolume so far."""

    def __init__(self, problem: str) -> None:
        self.recorded, self.epochs, self._size = Recorded(problem), 0, SIZES[problem]
        space, ends = self.recorded.space, self.recorded.losses[:, -1]
        sizes = [self._size(space.decode(x)) for x in self.recorded.x]
        self.reference = np.log10([ends.max(), max(sizes)])
        self._found: list[tuple[float, float]] = []
        self.gains: list[tuple[int, float]] = []  # epochs by then, and the new hypervolume

    def __call__(self, point: dict[str, Any], report: Report) -> tuple[float, float]:
        loss, size = math.nan, math.log10(self._size(point))
        for epoch, loss in enumerate(np.log10(self.recorded(point)).tolist()):
            self.epochs += 1
            report(epoch + 1, (loss, size))
        self._found.append((loss, size))
        volume = hypervolume(np.array(self._found), self.reference)
        if volume > (self.gains[-1][1] if self.gains else 0.0):
            self.gains.append((self.epochs, volume))
        return loss, size


def _weights(widths: Sequence[int]) -> int:
    return sum((a + 1) * b for a, b in pairwise(widths))


def _mlp(point: dict[str, Any]) -> int:
    """Return the number of weights of scikit-learn's network on 64 pixels of 10 digits."""
    return _weights([64, *[point["units"]] * point["layers"], 10])


def _convnet(point: dict[str, Any]) -> int:
    """Return the number of weights of two convolutions and a layer on 4 x 4 pixels."""
    width, patch_size = point["channels"], point["kernel"] ** 2
    convolutions = width * (patch_size + 1) + 2 * width * (width * patch_size + 1)
    return int(convolutions + _weights([2 * width * 16, 10]))


SIZES: dict[str, Callable[[dict[str, Any]], int]] = {"mlp": _mlp, "convnet": _convnet}


def _lamcts(objective: Objective, case: Case) -> int:
    def both(point: dict[str, Any], trial: Any) -> tuple[float, float]:
        return objective(point, trial.report)

    options: Any = {"budget": case.trials, "seed": case.seed, "progress": False, "objectives": NAMES}
    return int(lamcts.minimize(both, objective.recorded.space, pruner=ARMS[case.arm], **options).pruned)


def _optuna(objective: Objective, case: Case) -> int:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = getattr(optuna.samplers, ARMS[case.arm])(seed=case.seed)
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * 2)
    space = objective.recorded.space
    study.optimize(lambda trial: objective(suggested(trial, space), lambda *report: None), n_trials=case.trials)
    return 0


# Table ----------------------------------------------------------------------------------------------------------------


def table(rows: list[dict[str, str]]) -> str:
    """Return a line for each problem and arm: hypervolumes compared with no pruning, at equal trials and epochs."""
    lines = []
    for problem in SIZES:
        arms = {arm: {r["seed"]: r for r in rows if r["problem"] == problem and r["arm"] == arm} for arm in ARMS}
        spent = [int(row["epochs"]) for row in arms[MODEL].values()]
        for arm, mine in arms.items():
            both = [(mine[seed], arms[PLAIN][seed]) for seed in mine if seed in arms[PLAIN]]
            if not mine:
                continue
            at = median(_until(row, median(spent)) for row in mine.values()) if spent else math.nan
            volume = median(float(row["hypervolume"]) for row in mine.values())
            compared = _compared(both) if ARMS[arm] is not None and arm.startswith(PLAIN) else ("",) * 5
            lines.append(
                (f"{problem}, {' and '.join(NAMES)}", arm, str(len(mine)), f"{volume:.4g}", *compared, f"{at:.4g}")
            )
    head = ("problem", "arm", "seeds", "hypervolume", "share of epochs", "change after 50 trials", "p")
    return markdown((*head, "change at equal epochs", "p", "hypervolume at the epochs of the model"), lines)


def _compared(both: list[tuple[dict[str, str], dict[str, str]]]) -> tuple[str, ...]:
    """Return the share of epochs, and median change and Wilcoxon's p after all trials and at equal epochs."""
    if not both:
        return ("",) * 5
    share = sum(int(mine["epochs"]) for mine, _ in both) / sum(int(plain["epochs"]) for _, plain in both)
    ends = [math.log(float(mine["hypervolume"]) / float(plain["hypervolume"])) for mine, plain in both]
    equal = [
        math.log(float(mine["hypervolume"]) / max(_until(plain, float(mine["epochs"])), 1e-9)) for mine, plain in both
    ]
    cells = [cell for gaps in (ends, equal) for cell in (_change(gaps), f"{wilcoxon(gaps):.2g}")]
    return f"{share:.2f}", *cells


def _change(gaps: list[float]) -> str:
    better, worse = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    return f"{100 * math.expm1(median(gaps)):+.1f} % ({better} better, {worse} worse)"


def _until(row: dict[str, str], epochs: float) -> float:
    """Return the hypervolume of a run stopped after some epochs."""
    gains = [gain.split(":") for gain in row["gains"].split()]
    return max((float(volume) for by, volume in gains if float(by) <= epochs), default=0.0)


if __name__ == "__main__":
    main()
