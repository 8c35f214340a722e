"""Models of real libraries to tune, by name; each is deterministic, 0.01 to 0.3 seconds of one thread an evaluation.

TUNE: what may be looked at while the search is built; JUDGE: data that no decision may rest on. `lacking` says what is
not installed.
"""

from functools import partial
from importlib.util import find_spec

from benchmarks.discrete.trained_models import boosting, perceptron
from benchmarks.discrete.trained_models.parameters import Model

TUNE = ("lightgbm-friedman2", "mlp-wine", "lightgbm-cancer", "mlp-digits")
JUDGE = ("lightgbm-diabetes", "mlp-friedman")
ALL = {
    "lightgbm-cancer": Model(boosting.PARAMETERS, partial(boosting.loss, "cancer"), "lightgbm"),
    "lightgbm-friedman2": Model(boosting.PARAMETERS, partial(boosting.loss, "friedman2"), "lightgbm"),
    "lightgbm-diabetes": Model(boosting.PARAMETERS, partial(boosting.loss, "diabetes"), "lightgbm"),
    "mlp-digits": Model(perceptron.PARAMETERS, partial(perceptron.loss, "digits")),
    "mlp-wine": Model(perceptron.PARAMETERS, partial(perceptron.loss, "wine")),
    "mlp-friedman": Model(perceptron.PARAMETERS, partial(perceptron.loss, "friedman")),
}


def find(name: str) -> Model:
    """Return the model called `name`."""
    if name not in ALL:
        raise ValueError(f"expected a problem out of {', '.join(ALL)}, or tune, judge, got {name!r}")
    return ALL[name]


def lacking(name: str) -> str:
    """Return the package that a problem needs and that is not there, "" where nothing is missing."""
    package = find(name).package
    return package if package and find_spec(package) is None else ""
