"""A perceptron of one to three layers on three tables of scikit-learn: ten epochs, log-loss or RMSE."""

import warnings
from functools import cache
from typing import Any

import numpy as np

from benchmarks.discrete.trained_models.parameters import Option, Parameter, Point, Real, Whole

EPOCHS, FOLDS, ROWS = 10, 3, 450  # so that a fit of all folds takes 0.02 to 0.3 s
WORST = 10.0  # of a loss: that of a net that diverged; random guesses have 2.3 and 1
PARAMETERS: tuple[Parameter, ...] = (
    Whole("layers", 1, 3),
    Whole("units_1", 8, 128, log=True),
    Whole("units_2", 8, 128, log=True, when=("layers", (2, 3))),
    Whole("units_3", 8, 128, log=True, when=("layers", (3,))),
    Option("activation", ("relu", "tanh", "logistic")),
    Option("solver", ("adam", "sgd")),
    Real("momentum", 0.0, 0.99, when=("solver", ("sgd",))),
    Real("alpha", 1e-7, 1.0, log=True),
    Real("learning_rate", 1e-4, 0.3, log=True),
    Whole("batch_size", 16, 128, log=True),
)


def loss(table: str, point: Point) -> float:
    """Return the mean over the folds, at most WORST; the same point gives the same number, bit for bit."""
    x, y, folds = _data(table)
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # that ten epochs are few, and that a rate was too high
        for train, test in folds:
            found.append(_score(_net(table, point), x[train], y[train], x[test], y[test]))
    return float(np.mean(found))


def _net(table: str, point: Point) -> Any:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    momentum = {"momentum": point["momentum"]} if "momentum" in point else {}
    return (MLPRegressor if table == "friedman" else MLPClassifier)(
        hidden_layer_sizes=[point[f"units_{i + 1}"] for i in range(point["layers"])],
        activation=point["activation"],
        solver=point["solver"],
        alpha=point["alpha"],
        learning_rate_init=point["learning_rate"],
        batch_size=point["batch_size"],
        max_iter=EPOCHS,
        n_iter_no_change=EPOCHS + 1,
        random_state=0,
        **momentum,
    )


def _score(net: Any, x: Any, y: Any, x_test: Any, y_test: Any) -> float:
    from sklearn.metrics import log_loss

    try:
        net.fit(x, y)
        if hasattr(net, "predict_proba"):
            found = log_loss(y_test, net.predict_proba(x_test), labels=net.classes_)
        else:
            found = np.sqrt(np.mean(np.square(y_test - net.predict(x_test))))
    except ValueError as error:
        if "finite" not in str(error):  # weights that are no numbers any more
            raise
        return WORST
    return min(float(found), WORST) if np.isfinite(found) else WORST


@cache
def _data(table: str) -> tuple[Any, Any, list[tuple[Any, Any]]]:
    from sklearn.datasets import load_digits, load_wine, make_friedman1
    from sklearn.model_selection import KFold

    if table == "digits":
        x, y = load_digits(return_X_y=True)
        x, y = x[:ROWS] / 16, y[:ROWS]
    elif table == "wine":
        x, y = load_wine(return_X_y=True)
        x = (x - x.mean(0)) / x.std(0)
    else:
        x, y = make_friedman1(ROWS, n_features=10, noise=1.0, random_state=0)
        y = (y - y.mean()) / y.std()
    return x, y, list(KFold(FOLDS, shuffle=True, random_state=0).split(x))
