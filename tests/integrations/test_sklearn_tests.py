"""Tests that scikit-learn has for `RandomizedSearchCV`, with our search in its place.

Left out are those that know which candidates are drawn, and in what order, and one that times fits.
"""

import inspect
from itertools import product

import pytest

from lamcts.samplers.nevergrad.method import preserved_globals
from lamcts.sklearn import LamctsSearchCV

with preserved_globals():
    own = pytest.importorskip("sklearn.model_selection.tests.test_search", reason="needs what scikit-learn tests with")
THEIRS = own.RandomizedSearchCV
CHEAP = [
    "test_SearchCV_with_fit_params",
    "test_trivial_cv_results_attr",
    "test_refit_callable_out_bound",
    "test_search_cv_score_samples_error",
    "test_search_cv_score_samples_method",
    "test_pickle",
    "test_empty_cv_iterator_error",
    "test_random_search_bad_cv",
    "test_searchcv_raise_warning_with_non_finite_score",
    "test_search_estimator_param",
    "test_multi_metric_search_forwards_metadata",
    "test_score_rejects_params_with_no_routing_enabled",
    "test_search_callbacks_receive_search_instance",
]
DEAR = [
    "test_random_search_cv_results",
    "test_random_search_cv_results_multimetric",
    "test_search_cv_sample_weight_equivalence",
    "test_grid_search_with_multioutput_data",
    "test_n_features_in",
    "test_scalar_fit_param",
    "test_scalar_fit_param_compat",
    "test_search_cv_using_minimal_compatible_estimator",
]


def ours(value):
    """Return the class or the search that stands for one of theirs; other values as they are."""
    if isinstance(value, THEIRS):
        return LamctsSearchCV(**value.get_params(deep=False))
    return LamctsSearchCV if value is THEIRS else value


def is_theirs(value):
    return value is THEIRS or isinstance(value, THEIRS)


def is_search(value):
    return isinstance(value, own.BaseSearchCV) or (isinstance(value, type) and issubclass(value, own.BaseSearchCV))


def calls(test):
    """Yield the arguments with which pytest would call a test of theirs on a `RandomizedSearchCV`."""
    sets = []
    for mark in (mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"):
        names, values = mark.args
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        sets.append([dict(zip(names, [one] if len(names) == 1 else one, strict=True)) for one in values])
    for parts in product(*sets):
        given = {name: value for part in parts for name, value in part.items()}
        if any(map(is_theirs, given.values())) or not any(map(is_search, given.values())):
            yield {name: ours(value) for name, value in given.items()}


@pytest.mark.parametrize("name", [*CHEAP, *(pytest.param(name, marks=pytest.mark.dear) for name in DEAR)])
@pytest.mark.filterwarnings("ignore")  # their tests are not written for warnings as errors
def test_it_passes_a_test_of_scikit_learns(name, monkeypatch):
    test = getattr(own, name, None)
    if test is None:
        pytest.skip("this scikit-learn has no such test")
    found = list(calls(test))
    assert found and ("RandomizedSearchCV" in inspect.getsource(test) or any(map(is_search, found[0].values())))
    monkeypatch.setattr(own, "RandomizedSearchCV", LamctsSearchCV)
    with preserved_globals():  # their data come from numpy's global generator
        for given in found:
            test(**given)
