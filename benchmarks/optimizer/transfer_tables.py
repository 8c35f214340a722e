"""Make results/transfer_tables.npz: losses of two models on five data sets of scikit-learn, some minutes of one core.

    python -m benchmarks.optimizer.transfer_tables [--out FILE]

The tables behind `benchmarks.optimizer.transfer`. A support vector machine: the error of three folds, by cost and
width.
Gradient boosting: the log loss of two folds, by learning rate, depth, share of rows and number of trees. `digits-a`
and `digits-b` are halves of the digits (boosting tells odd from even ones), and `cancer-a` and `cancer-b` those of the
breast cancer data.
"""

from itertools import product
from typing import Any

import numpy as np

from benchmarks.harness import script

COSTS, WIDTHS = np.logspace(-2, 4, 13), np.logspace(-6, 1, 15)
RATES, DEPTHS, SHARES, TREES = np.logspace(-2, 0, 7), (1, 2, 3, 4), (0.5, 1.0), 100
DATA = ("digits-a", "digits-b", "cancer-a", "cancer-b", "wine")
FOLDS = {"svm": 3, "boost": 2}


def main() -> None:
    arguments = script.parsed(
        script.parser(__doc__, "transfer_tables.npz", "wine alone, at one rate, into a temporary file")
    )
    found = {}
    for data in DATA[-1:] if arguments.smoke else DATA:
        found[f"svm {data}"] = svm(data)
        found[f"boost {data}"] = boost(data, RATES[:1] if arguments.smoke else RATES)
        print(data, {name: float(table.min()) for name, table in found.items() if name.endswith(data)}, flush=True)
    out = arguments.out / "transfer_tables.npz" if arguments.out.is_dir() else arguments.out
    np.savez_compressed(out, **found)


def svm(data: str) -> Any:
    """Return the errors [costs, widths]."""
    from sklearn.svm import SVC

    x, y = rows(data)
    errors = np.zeros((len(COSTS), len(WIDTHS)), np.float32)
    for train, test in folds(len(x), FOLDS["svm"]):
        inside, outside = scaled(x, train, test)
        for i, j in product(range(len(COSTS)), range(len(WIDTHS))):
            model = SVC(C=COSTS[i], gamma=WIDTHS[j]).fit(inside, y[train])
            errors[i, j] += np.mean(model.predict(outside) != y[test]) / FOLDS["svm"]
    return errors


def boost(data: str, rates: Any) -> Any:
    """Return the log losses [rates, depths, shares, trees]."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.metrics import log_loss

    x, y = rows(data)
    y = y % 2 if data.startswith("digits") else y
    losses = np.zeros((len(rates), len(DEPTHS), len(SHARES), TREES), np.float32)
    for train, test in folds(len(x), FOLDS["boost"]):
        for i, j, k in product(range(len(rates)), range(len(DEPTHS)), range(len(SHARES))):
            model = GradientBoostingClassifier(
                learning_rate=rates[i], max_depth=DEPTHS[j], subsample=SHARES[k], n_estimators=TREES, random_state=0
            )
            stages = model.fit(x[train], y[train]).staged_predict_proba(x[test])
            losses[i, j, k] += [log_loss(y[test], shares) / FOLDS["boost"] for shares in stages]
    return losses


def rows(data: str) -> tuple[Any, Any]:
    """Return the rows and classes of a data set, or of the half that its name ends with."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    name, _, half = data.partition("-")
    x, y = {"digits": load_digits, "cancer": load_breast_cancer, "wine": load_wine}[name](return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    part = order[::2] if half == "a" else order[1::2] if half else order
    return x[part], y[part]


def folds(n: int, k: int) -> Any:
    """Yield the training and the test rows of each fold."""
    fold = np.arange(n) % k
    return ((np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(k))


def scaled(x: Any, train: Any, test: Any) -> tuple[Any, Any]:
    """Return training and test rows in standard units of the training rows."""
    mean, spread = x[train].mean(0), x[train].std(0)
    spread = np.where(spread > 0, spread, 1.0)
    return (x[train] - mean) / spread, (x[test] - mean) / spread


if __name__ == "__main__":
    main()
