"""Does pruning come to the same end in half of the epochs? A network on digits, 50 trials of 40 epochs.

    python -m benchmarks.neural.pruning [--seeds 0-9] [--arms lamcts "lamcts median"] [--trials 50]

scikit-learn's MLP, seven parameters of which four are whole numbers or choices, one partial_fit an epoch, each epoch
reported: the mean log loss of 600 pictures, of which the network has seen none (400 others). The seed says which are
which and seeds the search; the network's own is always the same. A loss is at most 3, guessing is 2.3, and weights that
are no numbers any more count as 3. Arms: the default alone and with each rule, and Optuna's TPE with its median rule
and without, all with their defaults but for "patient" (10 trials and 5 epochs are left alone), one trial at a time.
Rows go to results/pruning.csv; the table pairs each arm with the same search without pruning, seed by seed.
"""

import math
import time
import warnings
from collections.abc import Callable
from functools import cache
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.measure import digits
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.tables.discrete import wilcoxon
from benchmarks.tables.markdown import markdown

EPOCHS = 40
TRAINED, TESTED = 400, 600  # pictures: an epoch takes some 3 ms
WORST = 3.0  # the loss of whatever is worse
OPTUNA = "Optuna TPE"
ARMS: dict[str, Any] = {  # arm -> its pruner; the first of a library is without
    "lamcts": None,
    "lamcts median": "median",
    "lamcts median, patient": lamcts.pruners.Median(startup=10, warmup=5),
    "lamcts model": "model",
    "lamcts halving": "halving",
    "lamcts hyperband": "hyperband",
    OPTUNA: None,
    f"{OPTUNA} median": "median",
}
SPACE = lamcts.Space(
    {
        "layers": lamcts.Int(1, 3),
        "units": lamcts.Int(8, 64, log=True),
        "batch": lamcts.Int(32, 256, log=True),
        "solver": lamcts.Choice(["adam", "sgd"]),
        "alpha": lamcts.Float(1e-6, 1.0, log=True),
        "rate": lamcts.Float(1e-4, 1.0, log=True),
        "momentum": lamcts.Float(0.0, 0.99),
    }
)
Report = Callable[[int, float], None]


class Case(NamedTuple):
    """One run; its fields are the key of its row."""

    arm: str
    seed: int
    trials: int


COLUMNS = (*Case._fields, "best", "epochs", "pruned", "cpu_s", "versions")


def main() -> None:
    given = script.parser(__doc__, "pruning.csv", "two arms, two trials")
    script.many(given, "0-9")
    given.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS), metavar="NAME")
    given.add_argument("--trials", type=int, default=50)
    arguments = script.parsed(given, arms=["lamcts median", f"{OPTUNA} median"], seeds=[0], trials=2)
    cases = [Case(arm, seed, arguments.trials) for seed in arguments.seeds for arm in arguments.arms]
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    script.record(cases, sheet, "benchmarks.neural.pruning:measure", arguments.jobs)
    print(table([row for row in sheet.rows() if int(row["trials"]) == arguments.trials]))


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    network, start = Network(case.seed), time.process_time()
    search = _optuna if case.arm.startswith(OPTUNA) else _lamcts
    best, pruned = search(network, case)
    row = case._asdict() | {"best": digits(best), "epochs": network.epochs, "pruned": pruned}
    made = f"commit {commit()} {versions((*OURS, 'optuna'))}"
    return row | {"cpu_s": f"{time.process_time() - start:.1f}", "versions": made}, None


class Network:
    """The loss of a network after its last epoch, by its parameters; counts epochs."""

    def __init__(self, seed: int) -> None:
        self.pictures, self.epochs = _split(seed), 0

    def __call__(self, point: dict[str, Any], report: Report) -> float:
        from sklearn.neural_network import MLPClassifier

        train_x, train_y, test_x, test_y = self.pictures
        network = MLPClassifier(
            (point["units"],) * point["layers"],
            solver=point["solver"],
            alpha=point["alpha"],
            batch_size=point["batch"],
            learning_rate_init=point["rate"],
            momentum=point["momentum"],
            random_state=0,
        )
        loss = WORST
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for epoch in range(EPOCHS):
                self.epochs += 1
                try:
                    network.partial_fit(train_x, train_y, classes=np.arange(10))
                except ValueError:  # weights that are no numbers any more
                    return WORST
                chance = network.predict_proba(test_x)[np.arange(len(test_y)), test_y]
                loss = float(np.nan_to_num(-np.log(np.clip(chance, 1e-15, 1)).mean(), nan=WORST))
                loss = min(loss, WORST)
                report(epoch, loss)
        return loss


@cache
def _split(seed: int) -> tuple[Any, ...]:
    """Return pictures to train on and their digits, and others to test on and theirs."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = x[order] / 16, y[order]
    return x[:TRAINED], y[:TRAINED], x[TRAINED : TRAINED + TESTED], y[TRAINED : TRAINED + TESTED]


def _lamcts(network: Network, case: Case) -> tuple[float, int]:
    def loss(point: dict[str, Any], trial: Any) -> float:
        return network(point, trial.report)

    options = {"budget": case.trials, "seed": case.seed, "progress": False}
    result = lamcts.minimize(loss, SPACE, pruner=ARMS[case.arm], **options)
    return float(result.fun), int(result.pruned)


def _optuna(network: Network, case: Case) -> tuple[float, int]:
    import optuna

    def loss(trial: Any) -> float:
        def report(epoch: int, value: float) -> None:
            trial.report(value, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned

        return network(_suggested(trial), report)

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner() if ARMS[case.arm] else optuna.pruners.NopPruner()
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=case.seed), pruner=pruner)
    study.optimize(loss, n_trials=case.trials)
    states = [trial.state for trial in study.trials]
    return float(study.best_value), states.count(optuna.trial.TrialState.PRUNED)


def _suggested(trial: Any) -> dict[str, Any]:
    """Return a point of `SPACE` in Optuna's words."""
    return {
        "layers": trial.suggest_int("layers", 1, 3),
        "units": trial.suggest_int("units", 8, 64, log=True),
        "batch": trial.suggest_int("batch", 32, 256, log=True),
        "solver": trial.suggest_categorical("solver", ["adam", "sgd"]),
        "alpha": trial.suggest_float("alpha", 1e-6, 1.0, log=True),
        "rate": trial.suggest_float("rate", 1e-4, 1.0, log=True),
        "momentum": trial.suggest_float("momentum", 0.0, 0.99),
    }


def table(rows: list[dict[str, str]]) -> str:
    """Return a line an arm: medians, the share of epochs, its best losses beside those without pruning."""
    lines = []
    for arm in ARMS:
        mine = {row["seed"]: row for row in rows if row["arm"] == arm}
        plain = {row["seed"]: row for row in rows if row["arm"] == (OPTUNA if arm.startswith(OPTUNA) else "lamcts")}
        both = [(mine[seed], plain[seed]) for seed in mine if seed in plain]
        if mine:
            lines.append((arm, str(len(mine)), *_middles([*mine.values()]), *_beside(both)))
    head = (
        "arm",
        "seeds",
        "best loss",
        "epochs",
        "pruned",
        "share of epochs",
        "log ratio of losses",
        "better",
        "worse",
        "p",
    )
    return markdown(head, lines)


def _middles(rows: list[dict[str, str]]) -> list[str]:
    return [f"{median(float(row[name]) for row in rows):.4g}" for name in ("best", "epochs", "pruned")]


def _beside(both: list[tuple[dict[str, str], dict[str, str]]]) -> tuple[str, ...]:
    """Return the share of epochs, by how much losses differ (below 0: lower than without), and Wilcoxon's test."""
    if not both or all(mine is plain for mine, plain in both):
        return ("",) * 5
    share = sum(int(mine["epochs"]) for mine, _ in both) / sum(int(plain["epochs"]) for _, plain in both)
    gaps = [math.log(float(mine["best"]) / float(plain["best"])) for mine, plain in both]
    better, worse = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
    return f"{share:.2f}", f"{median(gaps):+.3f}", str(better), str(worse), f"{wilcoxon(gaps):.2g}"


if __name__ == "__main__":
    main()
