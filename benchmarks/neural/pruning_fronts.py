"""Fronts of two objectives on recorded learning curves: pruned searches and fidelities next to whole trainings.

    python -m benchmarks.neural.pruning_fronts [--problems mlp convnet digits4096] [--seeds 0-9] [--arms NAME ...]
    python -m benchmarks.neural.pruning_fronts --table

The objectives are the logarithms (base 10) of the loss after the last epoch and of the number of weights, which is
known from the first epoch on. Curves are those of benchmarks.neural.learning_curves. 50 trials a run, one at a time,
all settings at their defaults. "blind": pruned trials are told without their predicted losses. Optuna prunes no trials
with several objectives. Three arms end at 40 % of the epochs of 50 trials instead: "fidelity" has a `Fidelity` whose
trainings go on where they stopped, "fidelity halving" chooses it by successive halving (as fidelities.py), and
"Hyperband, 40 %" starts pruned trials until then. Rows go to results/pruning_fronts.csv.

The reference point of the hypervolume has the largest final loss and the largest size of the recorded configurations.
The first table compares each pruned arm with the same search without pruning, seed by seed, once after 50 trials and
once stopped at the epochs of the pruned run. The last column holds the hypervolume of each arm at the median epochs of
`pruner="model"`. The second one compares at 40 % of the epochs.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import cache
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
from benchmarks.neural.fidelities import Halving
from benchmarks.neural.learning_curves import DIGITS, Recorded
from benchmarks.neural.pruning_curves import MANY, SHARE, Case, Spent, parsed, recorded, suggested
from benchmarks.tables.discrete import wilcoxon
from benchmarks.tables.markdown import markdown
from lamcts.neural.nas.formats import DIGITS4096
from lamcts.neural.nas.published import SHIPPED
from lamcts.neural.nas.tables import read
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
FIDELITY, HYPERBAND = "fidelity", "Hyperband, 40 %"
CHEAPER: dict[str, Any] = {
    FIDELITY: "auto",
    "fidelity halving": Halving(lamcts.samplers.MixedGp()),
    HYPERBAND: "hyperband",
}
EPOCHS = "epochs"
NAMES = {"loss": "min", "size": "min"}
Report = Callable[[int, tuple[float, float]], None]


COLUMNS = (*Case._fields, "hypervolume", "epochs", "pruned", "gains", "versions")


def main() -> None:
    given = script.parser(__doc__, "pruning_fronts.csv", "three arms, eight trials")
    arguments = parsed(
        given,
        "0-9",
        SIZES,
        ARMS | CHEAPER,
        {"arms": [PLAIN, MODEL, FIDELITY], "seeds": [0], "trials": 8, "problems": ["mlp"]},
    )
    rows = recorded(arguments, "benchmarks.neural.pruning_fronts:measure", COLUMNS)
    print(table(rows), cheaper(rows), sep="\n\n")


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    objective = Objective(case.problem, case.trials * SHARE if case.arm in CHEAPER else math.inf)
    blind: Any = patch.object(Pruning, "_predicted", lambda own, number: None) if "blind" in case.arm else nullcontext()
    with blind:
        run = _optuna if case.arm.startswith("Optuna") else _fidelity if "fidelity" in case.arm else _lamcts
        run(objective, case)
    volume = digits(objective.gains[-1][1] if objective.gains else 0.0)
    row = case._asdict() | {"hypervolume": volume, "epochs": objective.epochs, "pruned": objective.pruned}
    gains = " ".join(f"{epochs}:{digits(volume)}" for epochs, volume in objective.gains)
    return row | {"gains": gains, "versions": f"commit {commit()} {versions((*OURS, 'optuna'))}"}, None


class Objective:
    """Logarithms of a recorded model's final loss and size; counts epochs, and keeps the hypervolume so far.

    It raises `Spent` when it has trained the epochs of `trials` whole trials.
    """

    def __init__(self, problem: str, trials: float) -> None:
        self.recorded, self.epochs, self._size = Recorded(problem), 0, SIZES[problem]
        self.steps, self._most = [*self.recorded.steps], trials * self.recorded.steps[-1]
        space, ends = self.recorded.space, self.recorded.losses[:, -1]
        sizes = [self._size(space.decode(x)) for x in self.recorded.x]
        self.reference = np.log10([ends.max(), max(sizes)])
        self._found: list[tuple[float, float]] = []
        self.pruned = 0
        self.gains: list[tuple[int, float]] = []  # epochs by then, and the new hypervolume

    def __call__(self, point: dict[str, Any], report: Report) -> tuple[float, float]:
        pair, before = (math.nan, math.nan), 0
        for epoch in self.steps:
            pair, before = self.trained(point, epoch, before), epoch
            try:
                report(epoch, pair)
            except lamcts.Pruned:
                self.pruned += 1
                raise
        return pair

    def trained(self, point: dict[str, Any], epochs: int, before: int) -> tuple[float, float]:
        """Return both after `epochs`, of which `before` were trained at an earlier time."""
        if self.epochs + epochs - before > self._most:
            raise Spent
        self.epochs += epochs - before
        loss = float(np.log10(self.recorded(point)[self.steps.index(epochs)]))
        pair = loss, math.log10(self._size(point))
        if epochs == self.steps[-1]:
            self._found.append(pair)
            volume = hypervolume(np.array(self._found), self.reference)
            if volume > (self.gains[-1][1] if self.gains else 0.0):
                self.gains.append((self.epochs, volume))
        return pair


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


@cache
def _cells() -> dict[tuple[int, ...], int]:
    arrays = read(DIGITS4096, SHIPPED)
    return dict(zip(map(tuple, arrays["ops"].tolist()), arrays["params"].tolist(), strict=True))


def _digits(point: dict[str, Any]) -> int:
    """Return the number of weights of a cell's network."""
    return _cells()[DIGITS.numbers(point)]


SIZES: dict[str, Callable[[dict[str, Any]], int]] = {"mlp": _mlp, "convnet": _convnet, "digits4096": _digits}


def _lamcts(objective: Objective, case: Case) -> None:
    def both(point: dict[str, Any], trial: Any) -> tuple[float, float]:
        return objective(point, trial.report)

    many = MANY if case.arm in CHEAPER else 1
    options: Any = {"budget": many * case.trials, "seed": case.seed, "progress": False, "objectives": NAMES}
    with suppress(Spent):
        lamcts.minimize(both, objective.recorded.space, pruner=(ARMS | CHEAPER)[case.arm], **options)


def _fidelity(objective: Objective, case: Case) -> None:
    space, reached = objective.recorded.space, dict[tuple[Any, ...], int]()
    members = dict(zip(space.names or (), space.members, strict=True))
    fidelity = lamcts.Fidelity(objective.steps[0], objective.steps[-1], resumes=True)

    def both(point: dict[str, Any]) -> tuple[float, float]:
        rest = {name: value for name, value in point.items() if name != EPOCHS}
        before, reached[(*rest.values(),)] = reached.get((*rest.values(),), 0), point[EPOCHS]
        return objective.trained(rest, point[EPOCHS], before)

    options: Any = {"seed": case.seed, "progress": False, "objectives": NAMES, "sampler": CHEAPER[case.arm]}
    budget = max(round(case.trials * SHARE), 2)
    lamcts.minimize(both, members | {EPOCHS: fidelity}, budget=budget, **options)


def _optuna(objective: Objective, case: Case) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = getattr(optuna.samplers, ARMS[case.arm])(seed=case.seed)
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * 2)
    space = objective.recorded.space
    study.optimize(lambda trial: objective(suggested(trial, space), lambda *report: None), n_trials=case.trials)


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


def cheaper(rows: list[dict[str, str]]) -> str:
    """Return a line for each problem and arm: hypervolumes at 40 % of the epochs, next to others, seed by seed."""
    lines = []
    for problem in SIZES:
        arms = {
            arm: {r["seed"]: r for r in rows if r["problem"] == problem and r["arm"] == arm}
            for arm in (PLAIN, "Optuna TPE", *CHEAPER)
        }
        for arm, mine in arms.items():
            if not mine:
                continue
            most = int(next(iter(mine.values()))["trials"]) * SHARE * Recorded(problem).steps[-1]
            volume = {seed: max(_until(row, most), 1e-9) for seed, row in mine.items()}
            cells = [f"{median(volume.values()):.4g}"]
            for other in (PLAIN, HYPERBAND):
                gaps = [
                    math.log(volume[seed] / max(_until(arms[other][seed], most), 1e-9))
                    for seed in mine
                    if seed in arms[other] and arm != other
                ]
                cells += [_change(gaps), f"{wilcoxon(gaps):.2g}"] if any(gaps) else ["", ""]
            lines.append((problem, arm, str(len(mine)), *cells))
    head = ("problem", "arm", "seeds", "hypervolume", "change to whole trials", "p", "change to Hyperband", "p")
    return markdown(head, lines)


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
