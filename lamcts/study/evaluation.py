"""One evaluation: the job, what came of it, and who does jobs; here, in this process, one after another."""

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from lamcts.errors import Pruned
from lamcts.outcomes.measured import Measured
from lamcts.outcomes.metrics import Metrics
from lamcts.outcomes.trial import free_parameter
from lamcts.study.devices import Worker
from lamcts.study.reporting import Reporter, Value
from lamcts.study.scipy_constraints import Guarded
from lamcts.text import safe_text
from lamcts.types import Json, Point, array_of, number_of, scalar_of
from lamcts.utils import interrupts

Call = Callable[..., object] | Guarded  # what is evaluated


class Job(NamedTuple):
    """One evaluation to do: what it is for, and the arguments.

    `memory`: the state of a `StatefulObjective`, else None. `packed`: what the evaluation gets of it; None: all of it.
    """

    what: Any
    point: Point
    seed: int
    memory: object = None
    trial: Reporter | None = None  # where the function asks for it
    packed: object = None

    @property
    def arguments(self) -> tuple[Point, int, object, Reporter | None]:
        """What `evaluate` takes after the function."""
        return self.point, self.seed, self.memory if self.packed is None else self.packed, self.trial


class Outcome(NamedTuple):
    """What came of it: the value, or the name and text of the exception; `seconds` is the evaluation's own time.

    `note` is what a learner has seen, None for other functions and where it failed. `held`: what constraints bound, by
    name, where they are functions. `pruned`: it was stopped on its way, as `error` says. `reports`: step and value of
    each. `metrics`: what `trial.note` was given, None for functions without a trial.
    """

    value: Any
    error: tuple[str, str] | None
    seconds: float
    note: object = None
    held: dict[str, float] | None = None
    pruned: bool = False
    reports: tuple[tuple[int, Value], ...] = ()
    metrics: Metrics | None = None

    @property
    def told(self) -> object:
        """The value, or an exception of the name and text that the evaluation raised."""
        return self.value if self.error is None else type(self.error[0], (Exception,), {})(self.error[1])


class Workers(Protocol):
    """Something that does jobs."""

    @property
    def free(self) -> int:
        """How many jobs may be started now."""

    @property
    def running(self) -> int:
        """How many started jobs have not been handed back by `wait`."""

    def start(self, job: Job) -> None:
        """Start a job; only while `free`."""

    @property
    def ready(self) -> bool:
        """Whether results are to be had at once, which are worth taking before more points are asked for."""

    def wait(self) -> tuple[Job, Outcome] | None:
        """Wait for a job to end and return it; of several that have ended, the one started first.

        None: none has, and more may be started than before.
        """

    def close(self) -> None:
        """Give up what still runs."""


def takes_seed(f: Call) -> bool:
    """Return whether `f` has a parameter called `seed` that can be passed by name."""
    return takes(f, "seed")


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
    """Call `f`, and return its value or its exception as text, which always survives the way back from a worker.

    `sys.exit` is a failure too, unless a signal handler of the user may have called it.
    """
    start = time.perf_counter()
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
            value, note = f.recall(point, seed=seed, memory=memory)
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
    """Return whether a handler may have been called that somebody set for a signal that would end this process."""
    if threading.current_thread() is not threading.main_thread():  # where no handler is called
        return False
    stops = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    return any(callable(signal.getsignal(stop)) for stop in stops if stop is not None)


def plain_value(value: object) -> Any:
    """Return numbers, alone or in a row, as floats, those by name as numbers of Python, and anything else as it is.

    A tensor, say, would not travel well.
    """
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


class Serial:
    """Evaluates in this process, in order."""

    def __init__(self, f: Call) -> None:
        self._f, self._seeded = f, takes_seed(f)
        self._worker = Worker(0) if takes(f, "worker") else None
        self._jobs: deque[Job] = deque()

    @property
    def free(self) -> int:
        return 1 - len(self._jobs)

    @property
    def running(self) -> int:
        return len(self._jobs)

    @property
    def ready(self) -> bool:
        return False  # a job is done when it is waited for

    def start(self, job: Job) -> None:
        self._jobs.append(job)

    def wait(self) -> tuple[Job, Outcome]:
        with interrupts.raised():
            outcome = self._outcome(self._jobs[0])
        return self._jobs.popleft(), outcome

    def close(self) -> None:
        self._jobs.clear()

    def _outcome(self, job: Job) -> Outcome:
        return evaluate(self._f, self._seeded, *job.arguments, self._worker)
