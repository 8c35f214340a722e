"""One evaluation: the job, its outcome, and the call of the function; or one call for many points."""

import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from lamcts.errors import Pruned
from lamcts.optimizer.losses import as_list
from lamcts.outcomes.measured import Measured
from lamcts.outcomes.metrics import Metrics
from lamcts.outcomes.trial import free_parameter
from lamcts.spaces.values import own_copy
from lamcts.study.devices import Worker
from lamcts.study.reporting import Reporter, Value
from lamcts.study.scipy_constraints import Guarded
from lamcts.text import safe_text
from lamcts.types import Json, Point, array_of, number_of, scalar_of

Call = Callable[..., object] | Guarded  # the evaluated function


class Job(NamedTuple):
    """One evaluation to run: the trial or case `what`, and the arguments."""

    what: Any
    point: Point
    seed: int
    memory: object = None
    trial: Reporter | None = None  # None without a parameter `trial` of the function
    packed: object = None
    deaths: int = 0  # workers that died on the job

    @property
    def arguments(self) -> tuple[Point, int, object, Reporter | None]:
        """The arguments of `evaluate` after the function."""
        return self.point, self.seed, self.memory if self.packed is None else self.packed, self.trial


class Outcome(NamedTuple):
    """The outcome of an evaluation."""

    value: Any
    error: tuple[str, str] | None  # name and text of the exception
    seconds: float  # duration of the evaluation
    note: object = None  # note of a `StatefulObjective`, None after a failure
    constraints: dict[str, float] | None = None  # values of constraint functions by name
    pruned: bool = False
    reports: tuple[tuple[int, Value], ...] = ()  # (step, value) of each report
    metrics: Metrics | None = None  # metrics of `trial.note`; None for functions without a trial

    @property
    def value_or_error(self) -> object:
        """The value, or an exception with the name and text of the error."""
        return self.value if self.error is None else type(self.error[0], (Exception,), {})(self.error[1])


def takes(f: Call, name: str) -> bool:
    """Return whether `f` has a parameter of this name that the run sets."""
    return free_parameter(f.f if isinstance(f, Guarded) else f, name) is not None


def required(f: Call, name: str) -> bool:
    """Return whether `f` has a parameter of this name without a default."""
    parameter = free_parameter(f.f if isinstance(f, Guarded) else f, name)
    return parameter is not None and parameter.default is parameter.empty


def evaluate(
    f: Any,
    seeded: bool,
    point: Point,
    seed: int,
    memory: object = None,
    trial: Reporter | None = None,
    worker: Worker | None = None,
) -> Outcome:
    """Return the outcome of `f` at a copy of the point, which `f` may change."""
    point = own_copy(point)
    start = time.perf_counter()
    value = error = note = constraints = None
    should_run = True
    pruned = False
    options: Json = ({"seed": seed} if seeded else {}) | ({} if trial is None else {"trial": trial})
    options |= {} if worker is None else {"worker": worker}
    try:
        if isinstance(f, Guarded):
            constraints, should_run = f.measure(point)
            f = f.f
        if not should_run:
            pass  # the constraints are violated
        elif memory is not None:
            value, note = f.recall(point, seed=seed, memory=own_copy(memory))
        else:
            value = f(point, **options)
    except (Exception, SystemExit) as raised:
        if isinstance(raised, SystemExit) and _handles_stops():
            raise
        value = None
        error = (type(raised).__name__, safe_text(raised))
        pruned = isinstance(raised, Pruned) or type(raised).__name__ == "TrialPruned"  # the latter is Optuna's
    seconds = time.perf_counter() - start
    if trial is not None:
        trial.close()
    return said(Outcome(plain_value(value), error, seconds, note, constraints, pruned), trial)


def said(outcome: Outcome, trial: Reporter | None) -> Outcome:
    """Return an outcome with the reports and metrics of its trial."""
    return outcome if trial is None else outcome._replace(reports=tuple(trial.reports), metrics=dict(trial.metrics))


def _handles_stops() -> bool:
    """Return whether a user's handler of a termination signal may have raised SystemExit."""
    if threading.current_thread() is not threading.main_thread():  # handlers run in the main thread alone
        return False
    stops = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    return any(callable(signal.getsignal(stop)) for stop in stops if stop is not None)


def plain_value(value: object) -> Any:
    """Return a number or a list of numbers as floats, a dict with numbers of Python, and other values unchanged."""
    if value is None:
        return value
    try:
        return number_of(value)
    except TypeError:
        if isinstance(value, Measured):
            return Measured(plain_value(value.value), plain_value(value.sem))
        if isinstance(value, Mapping):
            return {name: _plain_metric(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
            return _in_a_row(value)
        return value


def _plain_metric(value: object) -> Any:
    """Return a number as an int or a float, and other values as `plain_value` does."""
    try:
        return None if value is None else scalar_of(value)
    except TypeError:
        return plain_value(value)


def _in_a_row(values: object) -> Any:
    """Return a sequence of numbers, some with standard errors, as a list of floats; other values unchanged."""
    try:
        row = list(values) if isinstance(values, (list, tuple)) else _items(array_of(values))
    except TypeError:  # not a sequence
        return values
    floats = {*map(type, row)} == {float}  # the usual case, with up to a million numbers
    plain = row if floats else [None if item is None else plain_value(item) for item in row]
    if not all(item is None or isinstance(item, (float, Measured, tuple)) for item in plain):
        return values
    return tuple(plain) if isinstance(values, tuple) else plain


def _items(values: NDArray[Any]) -> list[Any]:
    """Return the items of an array, numbers as floats; TypeError for an array without dimensions."""
    return list(values.astype(float).tolist() if values.ndim == 1 and values.dtype.kind in "fiub" else values)


def evaluate_together(f: Call, seeded: bool, jobs: list[tuple[Any, ...]]) -> list[Outcome]:
    """Return the outcomes of one call of `f(points)` or `f(points, seed=seeds)`, with the points to run."""
    if not isinstance(f, Guarded):
        return _called(f, seeded, jobs)
    checks = [evaluate(f.measure, False, point, seed) for point, seed, *_ in jobs]
    should_run = [outcome.error is None and bool(outcome.value[1]) for outcome in checks]
    results = iter(
        _called(f.f, seeded, [job for job, should_run_here in zip(jobs, should_run, strict=True) if should_run_here])
    )
    outcomes = []
    for checked, should_run_here in zip(checks, should_run, strict=True):
        constraints = None if checked.error is not None else checked.value[0]
        outcome = next(results) if should_run_here else checked._replace(value=None)
        outcomes.append(outcome._replace(constraints=constraints))
    return outcomes


def _called(f: Callable[..., object], seeded: bool, jobs: list[tuple[Any, ...]]) -> list[Outcome]:
    if not jobs:
        return []
    points, seeds, *_ = zip(*jobs, strict=True)
    values: Any = [*seeds]
    together = evaluate(f, seeded, [*points], values)
    shared = Outcome(None, together.error, together.seconds / len(jobs))
    if together.error is not None:
        return [shared] * len(jobs)
    return [shared._replace(value=plain_value(value)) for value in _each(together.value, len(jobs))]


def _each(values: object, n: int) -> list[Any]:
    """Return the values of `n` points from a list or a dict of lists; ValueError for another number of values."""
    if isinstance(values, Mapping):
        columns = {name: as_list(column, n, f"vectorized: values of {name!r}") for name, column in values.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(n)]
    return as_list(values, n, "vectorized: values")
