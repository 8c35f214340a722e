"""The search that scikit-learn calls."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import BaseCrossValidator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state

import lamcts
from lamcts.integrations.options import Code, is_space, options_of
from lamcts.samplers import Sampler
from lamcts.spaces import SearchSpace
from lamcts.types import Point
from lamcts.utils.argument_hints import hint_range

PART = "part"  # the name of what says which of several dicts a candidate is of
TAIL = 1e-3  # share of a distribution without ends that is left out on each side (untuned)

Distribution = Any  # a frozen distribution of scipy.stats
Distributions = Mapping[str, Distribution | Sequence[Any] | SearchSpace] | SearchSpace | Sequence[Mapping[str, Any]]


class SklearnParameters:
    """The space of `param_distributions`: a `lamcts.Space`, a dict by name, or several dicts as alternatives."""

    def __init__(self, given: Distributions, **when: Any) -> None:
        self._codes: dict[str, Code] | None = None
        self._parts: list[SklearnParameters] = []
        if isinstance(given, Mapping):
            if not given:
                raise ValueError("param_distributions: expected at least one parameter, got none; name one to search")
            self._codes = {name: _code(name, one) for name, one in given.items()}
            self.space: SearchSpace = lamcts.Space({name: code.space for name, code in self._codes.items()}, **when)
        elif is_space(given):
            self.space = given
        elif isinstance(given, (list, tuple)) and given:
            self._parts = [SklearnParameters(one, when={PART: i}) for i, one in enumerate(given)]
            parts = {f"{PART} {i}": part.space for i, part in enumerate(self._parts)}
            self.space = lamcts.Space({PART: lamcts.Choice(tuple(range(len(parts))))} | parts)
        else:
            raise ValueError(
                "param_distributions: expected a dict of distributions, lists or spaces by name, several of them, or "
                f"a lamcts.Space, got {type(given).__name__}"
            )

    def candidate(self, point: Point) -> dict[str, Any]:
        """Return the parameters that scikit-learn sets in the estimator."""
        if self._parts:
            part: int = point[PART]
            return self._parts[part].candidate(point[f"{PART} {part}"])
        if self._codes is not None:
            return {name: code.value(point[name]) for name, code in self._codes.items() if name in point}
        if not isinstance(point, Mapping):
            raise ValueError(f"param_distributions: expected a space of named parameters, got points like {point}")
        return dict(point)


def whole(value: object, name: str) -> int:
    """Return a count; ValueError for anything else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name}: expected a whole number from 1 on, got {value!r}")
    return int(value)


def _code(name: str, given: Any) -> Code:
    if is_space(given):
        return Code(given)
    if hasattr(given, "ppf"):
        kind = getattr(getattr(given, "dist", None), "name", "")
        low, high = map(float, given.support())
        if hasattr(given, "pmf"):
            low, high = (_end(given, end, tail) for end, tail in ((low, TAIL), (high, 1 - TAIL)))
            return Code(lamcts.Int(math.ceil(low), math.floor(high)))
        if kind in ("uniform", "loguniform", "reciprocal"):
            return Code(lamcts.Float(low, high, log=kind != "uniform"))
        first, last = (0.0 if math.isfinite(low) else TAIL), (1.0 if math.isfinite(high) else 1 - TAIL)
        return Code(lamcts.Float(first, last), lambda share: float(given.ppf(share)))
    if (call := hint_range(given)) is not None:
        options = f", or the list {list(given)} for options" if isinstance(given, tuple) and len(given) == 2 else ""
        raise ValueError(f"{name}: expected a distribution, a list or a space, got {given}; write {call}{options}")
    if isinstance(given, (str, bytes)) or not (hasattr(given, "__len__") and hasattr(given, "__getitem__")):
        cure = "pass scipy.stats.uniform(low, width), a list, or a space such as lamcts.Float(low, high)"
        raise ValueError(f"{name}: expected a distribution, a list or a space, got {type(given).__name__}; {cure}")
    return _options(name, [given[i] for i in range(len(given))])


def _options(name: str, options: list[Any]) -> Code:
    if not options:
        raise ValueError(f"{name}: expected at least one value, got an empty list; add one, or leave {name} out")
    return options_of(options)


def _end(given: Distribution, end: float, share: float) -> float:
    return end if math.isfinite(end) else float(given.ppf(share))


Fit = dict[str, Any]  # what scikit-learn keeps of one fit
Candidate = dict[str, Any]
Split = tuple[Any, Any]  # indices of a training and a test set
Values = list[dict[str, float] | None]
ALL_FAILED = "\nAll the "  # what scikit-learn's error begins with where no fit of a call succeeds
N_ITER = 50  # candidates by default: four times an initial design or more (untuned)
Function = Callable[..., Any]
Scoring = str | Function | list[str] | tuple[str, ...] | dict[str, str | Function] | None
RandomState = int | np.random.RandomState | None
Context = Any  # a callback context of scikit-learn 1.9, or None


class CrossValidated:
    """Candidates in the order of their evaluation, and the fits of each."""

    def __init__(self, metrics: Sequence[str], error_score: float | str) -> None:
        self.metrics, self._error_score = list(metrics), error_score
        self.candidates: list[Candidate] = []
        self.fits: list[Fit] = []
        self.values: Values = []  # of the candidates, by metric; None where a fit failed
        self._read = 0, 0  # candidates and fits of scikit-learn's own lists that are here already

    @property
    def splits(self) -> int:
        """Fits of a candidate."""
        return len(self.fits) // len(self.candidates)

    def take(self, candidates: list[Candidate], fits: list[Fit], means: Callable[..., dict[str, Any]]) -> None:
        """Take the new candidates; `means(candidates, fits)` returns their `cv_results_`."""
        new, done = candidates[self._read[0] :], fits[self._read[1] :]
        self._read = len(candidates), len(fits)
        found = means(new, out=done)
        missing = [name for name in self.metrics if f"mean_test_{name}" not in found]
        if missing:
            names = [name.removeprefix("mean_test_") for name in found if name.startswith("mean_test_")]
            raise ValueError(f"refit: expected the score to search by, out of {names}; pass refit={names[0]!r}")
        each = len(done) // len(new)
        for i, candidate in enumerate(new):
            own = done[i * each : (i + 1) * each]
            scores = {name: float(found[f"mean_test_{name}"][i]) for name in self.metrics}
            self._add(candidate, own, None if any(fit.get("fit_error") for fit in own) else scores)

    def take_failed(self, candidates: Sequence[Candidate], error: ValueError) -> None:
        """Take candidates without a successful fit; raise the error if no fit has succeeded yet."""
        if not str(error).startswith(ALL_FAILED) or not self.candidates:
            raise error
        warnings.warn(str(error).strip(), FitFailedWarning, stacklevel=2)
        like = self.fits[0]
        fit = {name: self._failed(name, value) for name, value in like.items()} | {"fit_error": str(error)}
        for candidate in candidates:
            self._add(candidate, [fit] * self.splits, None)

    def _failed(self, name: str, value: Any) -> Any:
        if name.endswith("_scores"):
            return dict.fromkeys(value, self._error_score) if isinstance(value, dict) else self._error_score
        return math.nan if name.endswith("_time") else value

    def _add(self, candidate: Candidate, fits: Sequence[Fit], value: dict[str, float] | None) -> None:
        self.candidates.append(candidate)
        self.fits += fits
        self.values.append(value)


class SameSplits:
    """A splitter that repeats the splits of its first call, so that all batches have the same splits."""

    def __init__(self, inner: BaseCrossValidator) -> None:
        self._inner = inner
        self._splits: list[Split] | None = None

    def split(self, *args: Any, **kwargs: Any) -> Iterator[Split]:
        if self._splits is None:
            self._splits = list(self._inner.split(*args, **kwargs))
        return iter(self._splits)


class LamctsSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search over parameters of an estimator by cross-validated scores, as `RandomizedSearchCV`.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted.
    param_distributions : dict, list of dict, or lamcts.Space
        By name a distribution of scipy.stats, a list, or a space such as `lamcts.Float(1e-3, 1, log=True)`. With
        several dicts a candidate has the parameters of one. A `lamcts.Space` with names may have rules
        (`lamcts.Valid`).
    n_iter : int, default 50
        Number of candidates.
    batch : int, default None
        Candidates that are evaluated together; None: as few as give each job a fit. The points depend on it. The
        initial design is one batch.
    sampler, n_init : default "auto", None
        As in `lamcts.Optimizer`.
    scoring : str, callable, list or dict, default None
        As in `RandomizedSearchCV`. Of several scores the search maximises the one that `refit` names, or finds the
        front of all if `refit` is False or a function.
    n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in `RandomizedSearchCV`.
    random_state : int or numpy.random.RandomState, default None
        A seed, or a generator to draw it from; None: a fresh seed, without numpy's global generator.

    Notes
    -----
    Attributes after `fit`, methods, `cv_results_` and metadata routing are scikit-learn's. All candidates have the same
    splits (except under scikit-learn 1.5). A failed fit or a score that is not finite is a failure of the search.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from lamcts.sklearn import LamctsSearchCV
    >>> search = LamctsSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 20]}, n_iter=3, random_state=0)
    >>> search.fit(*load_iris(return_X_y=True)).best_params_
    {'n_neighbors': 5}
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        param_distributions: Distributions,
        *,
        n_iter: int = N_ITER,
        batch: int | None = None,
        sampler: Sampler | str = "auto",
        n_init: int | None = None,
        scoring: Scoring = None,
        n_jobs: int | None = None,
        refit: bool | str | Function = True,
        cv: int | BaseCrossValidator | Iterable[Split] | None = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: RandomState = None,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions, self.n_iter, self.batch = param_distributions, n_iter, batch
        self.sampler, self.n_init, self.random_state = sampler, n_init, random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def _run_search(self, evaluate_candidates: Function, callback_ctx: Context = None) -> None:
        self._course = CrossValidated(self._metrics(), self.error_score)
        splitter = getattr(self, "_checked_cv_orig", None)  # scikit-learn 1.5 keeps it to itself
        evaluate = partial(evaluate_candidates, cv=None if splitter is None else SameSplits(splitter))
        try:
            with Tasks(self, callback_ctx) as tasks:
                results = self._evaluated(evaluate, tasks)
            results |= super()._format_results(self._course.candidates, self._course.splits, self._course.fits)
        finally:
            del self._course

    def _evaluated(self, evaluate: Function, tasks: "Tasks") -> dict[str, Any]:
        """Evaluate all candidates in batches; return the dict of results, still empty."""
        parameters, left, course = (
            SklearnParameters(self.param_distributions),
            whole(self.n_iter, "n_iter"),
            self._course,
        )
        search, results = self._search(parameters.space), {}
        n = max(search.n_init, 1)
        while left and (trials := _asked(search, min(n, left))):
            candidates, left = [parameters.candidate(one.point) for one in trials], left - len(trials)
            try:
                with tasks.batch() as context:
                    results = evaluate(candidates, **context)
            except ValueError as error:
                course.take_failed(candidates, error)
            search.tell(trials, [_told(value) for value in course.values[-len(trials) :]])
            n = self._batch(course.splits)
        return results

    def _format_results(
        self, candidate_params: list[Candidate], n_splits: int, out: list[Fit], more_results: object = None
    ) -> dict[str, Any]:
        """Take the evaluated candidates; `_run_search` fills the returned dict at its end."""
        with warnings.catch_warnings():  # of scores that are not finite the last results warn
            warnings.simplefilter("ignore", UserWarning)
            self._course.take(candidate_params, out, partial(super()._format_results, n_splits=n_splits))
        return {}

    def _search(self, space: SearchSpace) -> lamcts.Optimizer:
        several = len(metrics := self._metrics()) > 1
        goals: dict[str, Any] = {"objectives": dict.fromkeys(metrics, "max")} if several else {"maximize": True}
        seed = _seed(self.random_state)
        return lamcts.Optimizer(space, seed=seed, sampler=self.sampler, n_init=self.n_init, **goals)

    def _metrics(self) -> list[str]:
        """Return the names of the scores that are searched by."""
        several = isinstance(self.scoring, (list, tuple, set, dict))
        if isinstance(self.refit, str) and (several or callable(self.scoring)):
            return [self.refit]
        return list(self.scoring) if several else ["score"]

    def _batch(self, splits: int) -> int:
        if self.batch is not None:
            return whole(self.batch, "batch")
        jobs: int = effective_n_jobs(self.n_jobs)
        return ceil(jobs / splits)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without that of a running search: scikit-learn pickles it for each fit."""
        return {name: value for name, value in super().__getstate__().items() if name != "_course"}


def _asked(search: lamcts.Optimizer, n: int) -> list[lamcts.Trial]:
    try:
        return search.ask(n)
    except lamcts.Exhausted:
        return []


def _told(value: dict[str, float] | None) -> float | dict[str, float] | None:
    """Return a value as `lamcts.Optimizer.tell` takes it: a number, or several by name."""
    return next(iter(value.values())) if value is not None and len(value) == 1 else value


def _seed(random_state: RandomState) -> int | None:
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


class Tasks:
    """The callback task of a search below that of `fit`, which scikit-learn hands over; no effect before 1.9."""

    def __init__(self, owner: LamctsSearchCV, root: Context) -> None:
        self._owner, self._context = owner, root

    def __enter__(self) -> "Tasks":
        self._context = self._begun(self._context, task_name="search", max_subtasks=None)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._end(self._context)

    @contextmanager
    def batch(self) -> Iterator[dict[str, Context]]:
        """Yield the keyword arguments that scikit-learn takes with the candidates of a batch."""
        own = self._begun(self._context, task_name="batch", max_subtasks=None, sequential_subtasks=False)
        yield {} if own is None else {"callback_ctx": own}
        self._end(own)

    def _begun(self, above: Context, **task: object) -> Context:
        return None if above is None else above.subcontext(**task).call_on_fit_task_begin(estimator=self._owner)

    def _end(self, context: Context) -> None:
        if context is not None:
            context.call_on_fit_task_end(estimator=self._owner)
