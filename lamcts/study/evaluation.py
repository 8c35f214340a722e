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

Call = Callable[..., object] | Guarded  # what is evaluated


class Job(NamedTuple):
    """One evaluation to do: what it is for, and the arguments."""

    what: Any
    point: Point
    seed: int
    memory: object = None
    trial: Reporter | None = None  # where the function asks for it
    packed: object = None
    deaths: int = 0  # workers that died on it

    @property
    def arguments(self) -> tuple[Point, int, object, Reporter | None]:
        """What `evaluate` takes after the function."""
        return self.point, self.seed, self.memory if self.packed is None else self.packed, self.trial


class Outcome(NamedTuple):
    """What came of an evaluation."""

    value: Any
    error: tuple[str, str] | None  # name and text of the exception
    seconds: float  # the evaluation's own time
    note: object = None  # what a learner has seen, None where it failed
    held: dict[str, float] | None = None  # what constraints that are functions bound, by name
    pruned: bool = False  # whether it was stopped on its way, as `error` says
    reports: tuple[tuple[int, Value], ...] = ()  # step and value of each
    metrics: Metrics | None = None  # what `trial.note` was given; None for functions without a trial

    @property
    def told(self) -> object:
        """The value, or an exception of the name and text that the evaluation raised."""
        return self.value if self.error is None else type(self.error[0], (Exception,), {})(self.error[1])


def takes(f: Call, name: str) -> bool:
    """Return whether `f` takes an argument of this name from the run."""
    return free_parameter(f.f if isinstance(f, Guarded) else f, name) is not None


def required(f: Call, name: str) -> bool:
    """Return whether `f` cannot be called without a parameter of this name."""
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
    """Call `f` with a copy of the point, which it may change, and return its value or its exception as text."""
    point, start = own_copy(point), time.perf_counter()
    value = error = note = held = None
    run, pruned = True, False
    words: Json = ({"seed": seed} if seeded else {}) | ({} if trial is None else {"trial": trial})
    words |= {} if worker is None else {"worker": worker}
    try:
        if isinstance(f, Guarded):
            (held, run), f = f.measure(point), f.f
        if not run:
            pass  # checked: the function is not run
        elif memory is not None:
            value, note = f.recall(point, seed=seed, memory=own_copy(memory))
        else:
            value = f(point, **words)
    except (Exception, SystemExit) as raised:
        if isinstance(raised, SystemExit) and _handles_stops():
            raise
        value, error, pruned = None, (type(raised).__name__, safe_text(raised)), _is_pruned(raised)
    seconds = time.perf_counter() - start
    if trial is not None:
        trial.close()
    return said(Outcome(plain_value(value), error, seconds, note, held, pruned), trial)


def said(outcome: Outcome, trial: Reporter | None) -> Outcome:
    """Return an outcome with what the function has reported and noted on its way."""
    return outcome if trial is None else outcome._replace(reports=tuple(trial.reports), metrics=dict(trial.metrics))


def _is_pruned(raised: BaseException) -> bool:
    """Return whether an evaluation was stopped on its way; by hand, perhaps, and perhaps in Optuna's words."""
    return isinstance(raised, Pruned) or type(raised).__name__ == "TrialPruned"


def _handles_stops() -> bool:
    """Return whether a handler of the user for a signal that would end this process may have been called."""
    if threading.current_thread() is not threading.main_thread():  # where no handler is called
        return False
    stops = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    return any(callable(signal.getsignal(stop)) for stop in stops if stop is not None)


def plain_value(value: object) -> Any:
    """Return numbers, alone or in a row, as floats, those by name as numbers of Python, and anything else as it is."""
    if value is None:
        return value
    try:
        return number_of(value)
    except TypeError:
        if isinstance(value, Measured):
            return Measured(plain_value(value.value), plain_value(value.sem))
        if isinstance(value, Mapping):
            return {name: _plain_metric(each) for name, each in value.items()}
        if isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
            return _in_a_row(value)
        return value


def _plain_metric(value: object) -> Any:
    """Return a number as one of Python, whole or not, and anything else as `plain_value` does."""
    try:
        return None if value is None else scalar_of(value)
    except TypeError:
        return plain_value(value)


def _in_a_row(values: object) -> Any:
    """Return a row of numbers, some with their standard errors, as a list of floats; anything else as it is."""
    try:
        row = list(values) if isinstance(values, (list, tuple)) else _items(array_of(values))
    except TypeError:  # no row at all
        return values
    floats = {*map(type, row)} == {float}  # often, and there may be a million
    plain = row if floats else [None if each is None else plain_value(each) for each in row]
    if not all(each is None or isinstance(each, (float, Measured, tuple)) for each in plain):
        return values
    return tuple(plain) if isinstance(values, tuple) else plain


def _items(values: NDArray[Any]) -> list[Any]:
    """Return the items of an array, numbers as floats of Python; TypeError if it has no dimension."""
    return list(values.astype(float).tolist() if values.ndim == 1 and values.dtype.kind in "fiub" else values)


def evaluate_together(f: Call, seeded: bool, jobs: list[tuple[Any, ...]]) -> list[Outcome]:
    """Call `f(points)`, or `f(points, seed=seeds)`, once, with the points whose constraints let it be run."""
    if not isinstance(f, Guarded):
        return _called(f, seeded, jobs)
    found = [evaluate(f.measure, False, point, seed) for point, seed, *_ in jobs]
    run = [outcome.error is None and bool(outcome.value[1]) for outcome in found]
    ran = iter(_called(f.f, seeded, [job for job, runs in zip(jobs, run, strict=True) if runs]))
    made = []
    for checked, runs in zip(found, run, strict=True):
        held = None if checked.error is not None else checked.value[0]
        made.append(next(ran)._replace(held=held) if runs else checked._replace(value=None, held=held))
    return made


def _called(f: Callable[..., object], seeded: bool, jobs: list[tuple[Any, ...]]) -> list[Outcome]:
    if not jobs:
        return []
    points, seeds, *_ = zip(*jobs, strict=True)
    values: Any = [*seeds]
    whole = evaluate(f, seeded, [*points], values)
    one = Outcome(None, whole.error, whole.seconds / len(jobs))
    if whole.error is not None:
        return [one] * len(jobs)
    return [one._replace(value=plain_value(value)) for value in _each(whole.value, len(jobs))]


def _each(values: object, n: int) -> list[Any]:
    """Return a value for each of `n` points; a dict may have a list for each name. ValueError for another number."""
    if isinstance(values, Mapping):
        columns = {name: as_list(column, n, f"vectorized: values of {name!r}") for name, column in values.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(n)]
    return as_list(values, n, "vectorized: values")
