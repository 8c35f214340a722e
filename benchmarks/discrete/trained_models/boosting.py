"""LightGBM on three tables of scikit-learn: 40 trees, log-loss or root mean squared error by three fixed folds."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.discrete.trained_models.parameters import Option, Parameter, Point, Real, Whole

Floats = NDArray[np.float64]

TREES, FOLDS = 40, 3  # so that a fit of all folds takes 0.05 to 0.2 s
DART = ("boosting", ("dart",))
PARAMETERS: tuple[Parameter, ...] = (  # names and ranges as in the guides of LightGBM and of Optuna's examples
    Option("boosting", ("gbdt", "dart")),
    Real("learning_rate", 0.005, 0.5, log=True),
    Whole("num_leaves", 2, 128, log=True),
    Whole("min_child_samples", 1, 100),
    Real("feature_fraction", 0.3, 1.0),
    Real("bagging_fraction", 0.4, 1.0),
    Whole("bagging_freq", 1, 7),
    Real("lambda_l1", 1e-8, 10.0, log=True),
    Real("lambda_l2", 1e-8, 10.0, log=True),
    Whole("max_bin", 15, 255, log=True),
    Real("drop_rate", 0.02, 0.5, when=DART),
    Real("skip_drop", 0.1, 0.9, when=DART),
)
SAME = {"num_threads": 1, "verbosity": -1, "deterministic": True, "force_col_wise": True, "seed": 0}


def loss(table: str, point: Point) -> float:
    """Return the mean over the folds; the same point gives the same number, bit for bit."""
    import lightgbm

    x, y, objective, folds = _data(table)
    found = []
    for train, test in folds:
        made = lightgbm.Dataset(x[train], y[train], params=SAME | {"max_bin": point["max_bin"]})
        fitted: Any = lightgbm.train(SAME | {"objective": objective} | dict(point), made, TREES)
        found.append(_score(objective, y[test], fitted.predict(x[test])))
    return float(np.mean(found))


def _score(objective: str, y: Floats, said: Floats) -> float:
    if objective == "regression":
        return float(np.sqrt(np.mean(np.square(y - said))))
    from sklearn.metrics import log_loss

    return float(log_loss(y, said))


@cache
def _data(table: str) -> tuple[Floats, Floats, str, list[tuple[Any, Any]]]:
    from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman2
    from sklearn.model_selection import KFold

    if table == "friedman2":
        (x, y), objective = make_friedman2(300, noise=100.0, random_state=0), "regression"
    elif table == "diabetes":
        (x, y), objective = load_diabetes(return_X_y=True), "regression"
    else:
        (x, y), objective = load_breast_cancer(return_X_y=True), "binary"
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(x))
    return np.asarray(x, float), np.asarray(y, float), objective, folds
