"""Our search in the place of a `RandomizedSearchCV`."""

import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lamcts
from lamcts.integrations.sklearn.search import SklearnParameters
from lamcts.sklearn import LamctsSearchCV

X, Y = np.random.default_rng(0).random((24, 2)), np.arange(24) % 2
FAST = {"sampler": "uniform", "cv": 2, "random_state": 0}


class Bowl(BaseEstimator):
    """Its score is best where x is 1 and y is 0; it cannot be fitted where x is below `least`."""

    def __init__(self, x=0.0, y=0.0, kind="round", least=-9.0):
        self.x, self.y, self.kind, self.least = x, y, kind, least

    def fit(self, X, y=None):
        if self.x < self.least:
            raise RuntimeError("x is too small")
        return self

    def score(self, X, y=None):
        return -((self.x - 1) ** 2) - self.y**2 - (self.kind == "square")


def two_scores(estimator, X, y=None):
    return {"bowl": estimator.score(X), "slope": estimator.x}


SPACE = {"x": stats.uniform(-5, 10), "y": lamcts.Float(-5, 5), "kind": ["square", "round"]}


def candidates(search):
    return [tuple(candidate.values()) for candidate in search.cv_results_["params"]]


def test_it_finds_what_draws_do_not():
    search = LamctsSearchCV(Bowl(), SPACE, n_iter=40, cv=2, random_state=0).fit(X)
    assert search.best_score_ > -1e-3 and search.best_params_["kind"] == "round"
    drawn = RandomizedSearchCV(Bowl(), SPACE | {"y": stats.uniform(-5, 10)}, n_iter=40, cv=2, random_state=0).fit(X)
    assert drawn.best_score_ < -0.1
    assert {*search.cv_results_} == {*drawn.cv_results_} and len(candidates(search)) == 40


def test_the_seed_decides_and_numpys_own_generator_is_left_alone():
    def points(random_state):
        settings = FAST | {"random_state": random_state}
        return candidates(LamctsSearchCV(Bowl(), SPACE, n_iter=12, **settings).fit(X))

    assert points(3) == points(np.int64(3)) != points(4)
    assert points(np.random.RandomState(3)) == points(np.random.RandomState(3)) != points(3)
    assert points(None) != points(None)


@pytest.mark.parametrize(
    ("given", "space"),
    [
        (stats.uniform(1, 2), {"kind": "float", "low": 1.0, "high": 3.0, "log": False}),
        (stats.loguniform(1e-3, 10), {"kind": "float", "low": 1e-3, "high": 10.0, "log": True}),
        (stats.randint(2, 9), {"kind": "int", "low": 2, "high": 8, "log": False}),
        (stats.poisson(3), {"kind": "int", "low": 0, "high": 10, "log": False}),
        (np.array([4.0, 1.0, 2.0]), {"kind": "choice", "options": [1.0, 2.0, 4.0], "ordered": True}),
        ([1, True, None], {"kind": "choice", "options": [1, True, None], "ordered": False}),
        (range(3), {"kind": "choice", "options": [0, 1, 2], "ordered": True}),
        ((7, 7), {"kind": "choice", "options": [0, 1], "ordered": True}),
        ([0.1, 1], {"kind": "choice", "options": [0.1, 1], "ordered": True}),
        (("uniform", "distance"), {"kind": "choice", "options": ["uniform", "distance"], "ordered": False}),
        ((True, False), {"kind": "choice", "options": [True, False], "ordered": False}),
        (lamcts.Bool(), {"kind": "bool"}),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_random_searches_take_is_searched_as_what_it_is(given, space):
    assert SklearnParameters({"p": given}).space.signature()["members"] == [space]


def test_values_arrive_as_they_were_given():
    two = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    made = SklearnParameters({"equal": [7, 7], "arrays": np.array(two), "wide": stats.expon(scale=10)})
    low = made.candidate(made.space.decode(np.zeros(made.space.dim)))
    assert low["equal"] == 7 and low["arrays"].tolist() == [1.0, 2.0] and low["wide"] == 0
    high = made.candidate({"equal": 1, "arrays": two[1], "wide": made.space.members[2].high})
    assert high["wide"] == pytest.approx(stats.expon(scale=10).ppf(0.999))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "expected at least one parameter"),
        ([], "expected a dict of distributions, lists or spaces by name, several of them, or a lamcts.Space, got list"),
        ([{"x": [1]}, {}], "expected at least one parameter"),
        ({"x": []}, "x: expected at least one value"),
        ({"x": "abc"}, "x: expected a distribution, a list or a space, got str"),
        ({"x": 3}, "got int; pass scipy.stats.uniform"),
        ({"x": (1e-3, 1e3, "log-uniform")}, r"write lamcts\.Float\(0.001, 1000.0, log=True\)$"),
        ({"x": [2, 64, "uniform", 10]}, r"write lamcts\.Int\(2, 64\)$"),
        ({"x": (2, 64)}, r"write lamcts\.Int\(2, 64\), or the list \[2, 64\] for options"),
        ({"x": (0.25, np.float32(0.5))}, r"write lamcts\.Float\(0.25, 0.5\), or the list"),
        (lamcts.Box(0, 1, dim=2), "expected a space of named parameters"),
    ],
)
def test_parameters_that_cannot_be_searched_are_told(given, message):
    with pytest.raises(ValueError, match=message):
        LamctsSearchCV(Bowl(), given, n_iter=2, **FAST).fit(X)
    with pytest.raises(ValueError, match="n_iter: expected a whole number"):
        LamctsSearchCV(Bowl(), SPACE, n_iter=0, **FAST).fit(X)


def test_a_space_with_a_rule_is_kept_to():
    ring = lamcts.Valid(lamcts.Space({"x": lamcts.Float(-5, 5), "y": lamcts.Float(-5, 5)}), lambda p: p["x"] > p["y"])
    search = LamctsSearchCV(Bowl(), ring, n_iter=12, **FAST)
    found = candidates(clone(search).fit(X))
    assert len(found) == 12 and all(x > y for x, y in found)


def test_a_finite_space_is_gone_through_once():
    search = LamctsSearchCV(Bowl(), {"x": [0, 1, 2], "kind": ["square", "round"]}, n_iter=50, **FAST).fit(X)
    assert len(set(candidates(search))) == len(candidates(search)) == 6
    assert search.best_params_ == {"x": 1, "kind": "round"}


@pytest.mark.filterwarnings("ignore:One or more of the t")
def test_a_candidate_that_fails_alone_in_its_batch_does_not_end_the_search():
    settings = FAST | {"n_init": 6, "batch": 1, "return_train_score": True}
    with pytest.warns(FitFailedWarning):
        search = LamctsSearchCV(Bowl(least=-2.0), SPACE, n_iter=30, **settings).fit(X)
    found, x = search.cv_results_, np.array([x for x, *_ in candidates(search)])
    assert len(x) == 30 and (x[6:] < -2).any()
    for name in ("mean_test_score", "split1_test_score", "mean_train_score"):
        assert np.isnan(found[name]).tolist() == (x < -2).tolist()
    assert set(found["rank_test_score"][x < -2]) == {(x >= -2).sum() + 1} and found["rank_test_score"].min() == 1


def test_what_stands_for_a_failure_is_none_to_the_search(monkeypatch):
    told = []
    tell = lamcts.Optimizer.tell
    monkeypatch.setattr(lamcts.Optimizer, "tell", lambda self, *args: (told.extend(args[1]), tell(self, *args)))
    with pytest.warns(FitFailedWarning):
        settings = FAST | {"error_score": 99.0, "batch": 2, "refit": False}
        search = LamctsSearchCV(Bowl(least=-2.0), SPACE, n_iter=20, **settings).fit(X)
    failed = np.array([x for x, *_ in candidates(search)]) < -2
    assert [value is None for value in told] == failed.tolist() and failed.any()
    assert (search.cv_results_["mean_test_score"] == 99.0).tolist() == failed.tolist()


def test_an_estimator_that_never_fits_is_told_as_scikit_learn_does():
    with pytest.raises(ValueError, match="All the 20 fits failed"):
        LamctsSearchCV(Bowl(least=99.0), SPACE, n_iter=30, n_init=10, **FAST).fit(X)
    with pytest.raises(RuntimeError, match="x is too small"):
        LamctsSearchCV(Bowl(least=99.0), SPACE, n_iter=30, error_score="raise", **FAST).fit(X)


def test_of_several_scores_the_one_that_refit_names_is_searched_by_or_their_front():
    scoring = {"bowl": lambda e, X, y=None: e.score(X), "slope": lambda e, X, y=None: e.x}
    settings = {"cv": 2, "random_state": 0, "n_iter": 20}
    one = LamctsSearchCV(Bowl(), {"x": stats.uniform(-5, 10)}, scoring=scoring, refit="slope", **settings).fit(X)
    assert one.best_params_["x"] == pytest.approx(5, abs=0.05) and one.multimetric_
    called = LamctsSearchCV(Bowl(), {"x": stats.uniform(-5, 10)}, scoring=two_scores, refit="bowl", **settings).fit(X)
    assert called.best_params_["x"] == pytest.approx(1, abs=0.05)
    front = LamctsSearchCV(Bowl(), {"x": stats.uniform(-5, 10)}, scoring=scoring, refit=False, **settings).fit(X)
    assert ((front.cv_results_["param_x"] > 1) & (front.cv_results_["param_x"] < 5)).sum() > 10
    with pytest.raises(ValueError, match=r"out of \['bowl', 'slope'\]; pass refit='bowl'"):
        LamctsSearchCV(Bowl(), SPACE, scoring=two_scores, refit=False, n_iter=3, **FAST).fit(X)


def test_all_candidates_meet_the_same_splits():
    class Mean(Bowl):
        def score(self, X, y=None):
            return X.sum()

    splits = KFold(2, shuffle=True, random_state=np.random.RandomState(0))
    search = LamctsSearchCV(Mean(), SPACE, n_iter=20, **FAST | {"cv": splits, "batch": 1}).fit(X)
    assert np.ptp(search.cv_results_["split0_test_score"]) == 0


@pytest.mark.parametrize(("n_jobs", "cv", "batch"), [(None, 3, 1), (4, 2, 2), (5, 2, 3)])
def test_a_batch_gives_each_job_a_fit(n_jobs, cv, batch):
    assert LamctsSearchCV(Bowl(), SPACE, n_jobs=n_jobs)._batch(cv) == batch


@pytest.mark.dear
def test_two_jobs_find_what_one_does():
    one, two = (LamctsSearchCV(Bowl(), SPACE, n_iter=14, batch=2, n_jobs=n, **FAST).fit(X) for n in (1, 2))
    assert candidates(one) == candidates(two)
    assert one.cv_results_["mean_test_score"].tolist() == two.cv_results_["mean_test_score"].tolist()


def test_it_goes_into_pipelines_and_they_into_it():
    inner = make_pipeline(StandardScaler(with_mean=False), LogisticRegression())
    search = LamctsSearchCV(inner, {"logisticregression__C": stats.loguniform(1e-3, 1e3)}, n_iter=4, **FAST)
    outer = make_pipeline(StandardScaler(with_mean=False), search)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outer.fit(X, Y).predict_proba(X).shape == (24, 2)
        assert list(search.fit(sparse.csr_array(X), Y).classes_) == [0, 1]
    assert clone(outer).get_params()["lamctssearchcv__estimator__logisticregression__C"] == 1.0
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install '.[pandas]'")
    assert search.fit(pandas.DataFrame(X, columns=["a", "b"]), Y).feature_names_in_.tolist() == ["a", "b"]


def test_a_parameter_may_be_there_under_a_condition_alone():
    space = {"kind": ["square", "round"], "x": stats.uniform(-5, 10), "y": lamcts.Float(1, 2, when={"kind": "square"})}
    search = LamctsSearchCV(Bowl(), space, n_iter=12, **FAST).fit(X)
    masked = np.ma.getmaskarray(search.cv_results_["param_y"])
    assert masked.tolist() == [kind == "round" for kind in search.cv_results_["param_kind"]] and masked.any()


def test_of_several_dicts_a_candidate_is_of_one():
    parts = [{"kind": ["round"], "x": stats.uniform(-5, 10)}, {"kind": ["square"], "y": [0.0, 1.0, 2.0]}]
    search = LamctsSearchCV(Bowl(), parts, n_iter=30, cv=2, random_state=0).fit(X)
    found = search.cv_results_["params"]
    assert {tuple(one) for one in found} == {("kind", "x"), ("kind", "y")}
    assert all((one["kind"] == "round") == ("x" in one) for one in found)
    assert search.best_params_["x"] == pytest.approx(1, abs=0.05) and 1 <= sum("y" in one for one in found) <= 3
