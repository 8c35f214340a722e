"""Evaluated candidates in the form from which scikit-learn makes `cv_results_`.

Scikit-learn evaluates all candidates in one call, and takes it for a misconfigured estimator where each fit of a call
fails. A search in batches has small calls: here candidates of such a batch have failed, as they would in a large call.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import BaseCrossValidator

Fit = dict[str, Any]  # what scikit-learn keeps of one fit
Candidate = dict[str, Any]
Split = tuple[Any, Any]  # indices of a training and a test set
Values = list[dict[str, float] | None]
ALL_FAILED = "\nAll the "  # what scikit-learn's error begins with where no fit of a call succeeds


class CrossValidated:
    """Candidates in the order of their evaluation, and the fits of each.

    metrics: the names of the scores that are searched by. error_score: the scores of a fit that failed.
    """

    def __init__(self, metrics: Sequence[str], error_score: float | str) -> None:
        self.metrics, self._error_score = list(metrics), error_score
        self.candidates: list[Candidate] = []
        self.fits: list[Fit] = []
        self.values: Values = []  # of the candidates, by metric; None where one failed
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
            failed = any(fit.get("fit_error") for fit in own) or not all(map(math.isfinite, scores.values()))
            self._add(candidate, own, None if failed else scores)

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
