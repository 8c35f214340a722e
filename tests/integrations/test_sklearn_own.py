"""Our search passes the tests that scikit-learn has for its own searches."""

import pytest
from sklearn.base import is_regressor
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from lamcts.samplers.nevergrad.method import preserved_globals
from lamcts.sklearn import LamctsSearchCV

GIVEN = {"cv": 2, "error_score": "raise", "random_state": 0}
LINEAR = [LamctsSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, **GIVEN)]
LINEAR += [LamctsSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, **GIVEN)]
PIPED = [
    LamctsSearchCV(
        Pipeline([("pca", PCA()), ("last", one.estimator)]),
        {f"last__{name}": values for name, values in one.param_distributions.items()},
        **GIVEN,
    )
    for one in LINEAR
]


def failing(search):
    """Return what fails, and says scikit-learn of its own searches too, where nothing is a classifier."""
    name = "check_supervised_y_2d"
    return {name: "DataConversionWarning not caught"} if is_regressor(search) else {}


@pytest.fixture(autouse=True)
def _apart():
    """Their tests draw from numpy's global generator."""
    with preserved_globals():
        yield


@parametrize_with_checks(LINEAR[1:], expected_failed_checks=failing)
@pytest.mark.filterwarnings("ignore")
def test_it_passes_the_checks_of_every_estimator(estimator, check):
    check(estimator)


@pytest.mark.dear
@parametrize_with_checks([*LINEAR[:1], *PIPED], expected_failed_checks=failing)
@pytest.mark.filterwarnings("ignore")
def test_it_passes_the_checks_of_every_estimator_round_others_too(estimator, check):
    check(estimator)
