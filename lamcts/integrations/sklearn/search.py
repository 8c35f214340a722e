"""The search: what scikit-learn calls."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state

import lamcts
from lamcts.integrations.sklearn.cross_validated import CrossValidated, SameSplits
from lamcts.integrations.sklearn.parameters import SklearnParameters, whole

N_ITER = 50  # candidates by default: four times an initial design or more (untuned)


class LamctsSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Parameters of an estimator chosen by `lamcts.Optimizer`, by cross-validated scores; else a `RandomizedSearchCV`.

    Attributes after `fit`, methods, `cv_results_` and what goes through pipelines are scikit-learn's. All candidates
    meet the same splits, also of a splitter that shuffles (but under scikit-learn 1.5, which hides it). A candidate of
    which a fit fails, or has no finite score, is a failure to the search; in `cv_results_` it has `error_score`. A
    finite space that is smaller than `n_iter` is gone through once.

    estimator: what is fitted.
    param_distributions: by name a distribution of scipy.stats, a list, or a space such as `lamcts.Float(1e-3, 1,
        log=True)`; several such dicts, of which a candidate is of one; or one `lamcts.Space` with names, so that it
        may have rules (`lamcts.Valid`).
    n_iter: candidates in all (50).
    batch: candidates that are evaluated together (None: as few as give each job a fit). The initial design, which
        rests on no score, is evaluated at once. The points depend on it.
    sampler: the local search, as of `lamcts.Optimizer` ("auto").
    tree: how the space is split, as of `lamcts.Optimizer` ("auto").
    n_init: size of the initial design, as of `lamcts.Optimizer` (None; candidates).
    scoring: as in `RandomizedSearchCV`; of several scores the one that `refit` names is searched by, and the front of
        all of them where `refit` is False or a function.
    n_jobs: as in `RandomizedSearchCV`.
    refit: as in `RandomizedSearchCV`.
    cv: as in `RandomizedSearchCV`.
    verbose: as in `RandomizedSearchCV`.
    pre_dispatch: as in `RandomizedSearchCV`.
    random_state: a seed, or a `numpy.random.RandomState` to draw it from (None: a fresh one; numpy's global generator
        is left alone).
    error_score: as in `RandomizedSearchCV`.
    return_train_score: as in `RandomizedSearchCV`.
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = N_ITER,
        batch: int | None = None,
        sampler: Any = "auto",
        tree: Any = "auto",
        n_init: int | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions, self.n_iter, self.batch = param_distributions, n_iter, batch
        self.sampler, self.tree, self.n_init, self.random_state = sampler, tree, n_init, random_state
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

    def _run_search(self, evaluate_candidates: Callable[..., Any], callback_ctx: Any = None) -> None:
        self._course = CrossValidated(self._metrics(), self.error_score)
        splitter = getattr(self, "_checked_cv_orig", None)  # scikit-learn 1.5 keeps it to itself
        evaluate = partial(evaluate_candidates, cv=None if splitter is None else SameSplits(splitter))
        try:
            with Tasks(self, callback_ctx) as tasks:
                results = self._evaluated(evaluate, tasks)
            results |= super()._format_results(self._course.candidates, self._course.splits, self._course.fits)
        finally:
            del self._course

    def _evaluated(self, evaluate: Callable[..., Any], tasks: "Tasks") -> dict[str, Any]:
        """Evaluate all candidates, batch by batch; return the results that scikit-learn goes on with, still empty."""
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

    def _format_results(self, candidate_params: Any, n_splits: int, out: Any, more_results: Any = None) -> Any:
        """Take in what was evaluated; `_run_search` fills these results, which it gets handed on, once at its end."""
        with warnings.catch_warnings():  # of scores that are not finite the last results warn
            warnings.simplefilter("ignore", UserWarning)
            self._course.take(candidate_params, out, partial(super()._format_results, n_splits=n_splits))
        return {}

    def _search(self, space: Any) -> lamcts.Optimizer:
        several = len(metrics := self._metrics()) > 1
        goals: dict[str, Any] = {"objectives": dict.fromkeys(metrics, "max")} if several else {"maximize": True}
        seed, settings = _seed(self.random_state), {"sampler": self.sampler, "tree": self.tree, "n_init": self.n_init}
        return lamcts.Optimizer(space, seed=seed, **goals, **settings)

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

    def __getstate__(self) -> Any:
        """Leave out what only a running search has: scikit-learn sends a search to the jobs with each fit."""
        return {name: value for name, value in super().__getstate__().items() if name != "_course"}


def _asked(search: lamcts.Optimizer, n: int) -> list[lamcts.Trial]:
    try:
        return search.ask(n)
    except lamcts.Exhausted:
        return []


def _told(value: dict[str, float] | None) -> Any:
    """Return what our optimizer is told: a number, or several by name."""
    return next(iter(value.values())) if value is not None and len(value) == 1 else value


def _seed(random_state: Any) -> int | None:
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


class Tasks:
    """The task of a search, below that of the call of `fit`; nothing where scikit-learn has no callbacks.

    owner: the search. root: what scikit-learn hands to it, None before 1.9.
    """

    def __init__(self, owner: Any, root: Any) -> None:
        self._owner, self._context = owner, root

    def __enter__(self) -> "Tasks":
        self._context = self._begun(self._context, task_name="search", max_subtasks=None)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self._end(self._context)

    @contextmanager
    def batch(self) -> Iterator[dict[str, Any]]:
        """Yield the keyword arguments that scikit-learn takes with the candidates of a batch."""
        own = self._begun(self._context, task_name="batch", max_subtasks=None, sequential_subtasks=False)
        yield {} if own is None else {"callback_ctx": own}
        self._end(own)

    def _begun(self, above: Any, **task: Any) -> Any:
        return None if above is None else above.subcontext(**task).call_on_fit_task_begin(estimator=self._owner)

    def _end(self, context: Any) -> None:
        if context is not None:
            context.call_on_fit_task_end(estimator=self._owner)
