"""Tuning problems with the spaces of Bayesmark (Turner and Eriksson 2019) on tables of scikit-learn.

A problem is a model, a table and a metric, `svm-digits-acc` for example. Ranges and scales are those of Bayesmark. To
keep evaluations cheap, tables have at most 200 rows, cross-validation has three folds, AdaBoost at most 20 trees and
perceptrons at most 15 epochs. All random states are fixed, so that the same point has the same loss.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial, wraps
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.discrete.discrete_problems.base import Discrete, Point
from lamcts import Bool, Float, Int, Space

Floats = NDArray[np.float64]

FOLDS, ROWS, EPOCHS = 3, 200, 15  # Bayesmark has 5 folds, all rows, and 200 epochs
WORST = 1e6  # loss of a model that diverged


class Model(NamedTuple):
    """An estimator, its fixed arguments, and the parameters that are tuned; `logit` names those on a logit scale."""

    estimator: str
    fixed: Mapping[str, Any]
    parameters: Mapping[str, Any]
    logit: frozenset[str] = frozenset()


def _logit(low: float, high: float) -> Float:
    """Return a parameter on the scale log(x / (1 - x)): no peer has this scale, so all methods search on it."""
    return Float(math.log(low / (1 - low)), math.log(high / (1 - high)))


KNN = {"n_neighbors": Int(1, 25), "p": Int(1, 4)}
SVM = {"C": Float(1, 1e3, log=True), "gamma": Float(1e-4, 1e-3, log=True), "tol": Float(1e-5, 1e-1, log=True)}
LEAVES = {
    "max_depth": Int(1, 15),
    "min_samples_split": _logit(0.01, 0.99),
    "min_samples_leaf": _logit(0.01, 0.49),
    "min_weight_fraction_leaf": _logit(0.01, 0.49),
    "max_features": _logit(0.01, 0.99),
    "min_impurity_decrease": Float(0, 0.5),
}
LEAVES_LOGIT = frozenset({"min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "max_features"})
BOOST = {"n_estimators": Int(5, 20), "learning_rate": Float(1e-4, 10, log=True)}  # Bayesmark: 10 to 100 trees
LOGISTIC = {"C": Float(1e-2, 1e2, log=True), "intercept_scaling": Float(1e-2, 1e2, log=True)}
NET = {
    "hidden_layer_sizes": Int(50, 200),
    "alpha": Float(1e-5, 10, log=True),
    "batch_size": Int(10, 250),
    "learning_rate_init": Float(1e-5, 1e-1, log=True),
    "tol": Float(1e-5, 1e-1, log=True),
    "validation_fraction": _logit(0.1, 0.9),
}
ADAM = NET | {
    "beta_1": _logit(0.5, 0.99),
    "beta_2": _logit(0.9, 1 - 1e-6),
    "epsilon": Float(1e-9, 1e-6, log=True),
}
SGD = NET | {"power_t": _logit(0.1, 0.9), "momentum": _logit(0.001, 0.999)}
RIDGE = {
    "alpha": Float(1e-2, 1e2, log=True),
    "fit_intercept": Bool(),
    "normalize": Bool(),  # columns scaled to one length, as scikit-learn did until 1.2
    "max_iter": Int(10, 5000, log=True),
    "tol": Float(1e-4, 1e-1, log=True),
}
LASSO = RIDGE | {"tol": Float(1e-5, 1e-1, log=True), "positive": Bool()}
NET_FIXED = {"early_stopping": True, "random_state": 0, "max_iter": EPOCHS}
SGD_FIXED = NET_FIXED | {"solver": "sgd", "learning_rate": "invscaling"}
FIRST = {"random_state": 0}

CLASSIFIERS = {
    "knn": Model("neighbors.KNeighborsClassifier", {}, KNN),
    "svm": Model("svm.SVC", FIRST, SVM),
    "tree": Model("tree.DecisionTreeClassifier", FIRST, LEAVES, LEAVES_LOGIT),
    "forest": Model("ensemble.RandomForestClassifier", FIRST | {"n_estimators": 10}, LEAVES, LEAVES_LOGIT),
    "adam": Model(
        "neural_network.MLPClassifier", NET_FIXED, ADAM, frozenset({"validation_fraction", "beta_1", "beta_2"})
    ),
    "sgd": Model(
        "neural_network.MLPClassifier", SGD_FIXED, SGD, frozenset({"validation_fraction", "power_t", "momentum"})
    ),
    "ada": Model("ensemble.AdaBoostClassifier", FIRST, BOOST),
    "linear": Model("linear_model.LogisticRegression", FIRST | {"solver": "liblinear"}, LOGISTIC),  # two classes only
}
REGRESSORS = {
    "knn": Model("neighbors.KNeighborsRegressor", {}, KNN),
    "svm": Model("svm.SVR", {}, SVM),
    "tree": Model("tree.DecisionTreeRegressor", FIRST, LEAVES, LEAVES_LOGIT),
    "adam": Model(
        "neural_network.MLPRegressor", NET_FIXED, ADAM, frozenset({"validation_fraction", "beta_1", "beta_2"})
    ),
    "lasso": Model("linear_model.Lasso", FIRST, LASSO),
    "linear": Model("linear_model.Ridge", FIRST, RIDGE),
}
TABLES = {"digits": "load_digits", "wine": "load_wine", "breast": "load_breast_cancer", "iris": "load_iris"}
TABLES |= {"diabetes": "load_diabetes"}
METRICS = {"acc": "accuracy", "nll": "neg_log_loss", "mse": "neg_mean_squared_error", "mae": "neg_mean_absolute_error"}

SHARED = ("tree-breast-nll", "lasso-diabetes-mse")  # run by slow methods as well
QUICK = ("svm-diabetes-mse", "tree-diabetes-mse", "linear-diabetes-mae", "adam-iris-nll")
PROBLEMS = (*SHARED, *QUICK)


@cache
def find(name: str) -> Discrete:
    """Return a problem by its name, MODEL-TABLE-METRIC."""
    parts = name.split("-")
    if len(parts) != 3 or parts[1] not in TABLES or parts[2] not in METRICS:
        raise ValueError(f"expected a problem such as {PROBLEMS[0]!r}, got {name!r}")
    model, table, metric = parts
    kinds = REGRESSORS if table == "diabetes" else CLASSIFIERS
    if model not in kinds:
        raise ValueError(f"expected a model out of {', '.join(kinds)} for {table!r}, got {model!r}")
    return Discrete(name, Space(dict(kinds[model].parameters)), _remembered(partial(loss, kinds[model], table, metric)))


def _remembered(function: Callable[[Point], float]) -> Callable[[Point], float]:
    """Return the function with its values kept by point: methods propose the same points again."""
    values: dict[tuple[Any, ...], float] = {}

    @wraps(function)
    def value(point: Point) -> float:
        key = tuple(sorted(point.items()))
        if key not in values:
            values[key] = function(point)
        return values[key]

    return value


def loss(model: Model, table: str, metric: str, point: Point) -> float:
    """Return the mean loss over the folds, at most WORST."""
    from sklearn.model_selection import cross_val_score

    x, y = _table(table)
    arguments = {name: _value(model, name, value) for name, value in point.items()}
    if arguments.pop("normalize", False):
        x = x / np.maximum(np.linalg.norm(x - x.mean(0), axis=0), 1e-12)
    with _global_generator_kept(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # few epochs, large steps, folds that lack a class
        made = _estimator(model.estimator)(**model.fixed | arguments)
        found = -cross_val_score(made, x, y, scoring=METRICS[metric], cv=FOLDS, error_score=-WORST).mean()
    return min(float(found), WORST) if np.isfinite(found) else WORST


@contextmanager
def _global_generator_kept() -> Iterator[None]:
    """Restore the state of numpy's global generator: SVR draws from it without need."""
    state = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def _value(model: Model, name: str, value: Any) -> Any:
    return 1 / (1 + math.exp(-value)) if name in model.logit else value


def _estimator(path: str) -> Any:
    import importlib

    module, _, name = path.partition(".")
    return getattr(importlib.import_module(f"sklearn.{module}"), name)


@cache
def _table(name: str) -> tuple[Floats, NDArray[Any]]:
    """Return at most ROWS rows in a fixed random order; columns as they are, as in Bayesmark."""
    from sklearn import datasets

    x, y = getattr(datasets, TABLES[name])(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:ROWS]
    return np.asarray(x, float)[rows], y[rows]
