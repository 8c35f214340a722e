"""Calls of Nevergrad, which contain its threads, its warnings and its use of global generators."""

import math
import random
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, Protocol, TypeVar

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.types import Floats

ASSUMED_BUDGET = 1000  # budget of methods that require one, such as NGOpt: more explore longer, fewer converge earlier
LARGEST_LOSS = 1e15  # bound over the first loss: below Nevergrad's own bound of 5e20, which warns
Result = TypeVar("Result")


def library() -> ModuleType:
    """Return the module `nevergrad`, or raise MissingExtra."""
    with preserved_globals():  # its import draws from numpy's generator
        try:
            import nevergrad
        except ImportError:
            raise MissingExtra.of("nevergrad", "nevergrad") from None
    module: ModuleType = nevergrad
    return module


@contextmanager
def preserved_globals() -> Iterator[None]:
    """Restore the global generators on exit."""
    saved = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(saved[0])
        np.random.set_state(saved[1])  # noqa: NPY002


class Candidate(Protocol):
    """A candidate of the library."""

    value: Floats


class Method:
    """An optimiser of the library, whose warnings, threads and use of global generators are contained."""

    def __init__(
        self, name: str, budget: int | None, *, start: list[float], sigma: float, workers: int, seed: int
    ) -> None:
        nevergrad = library()
        entry = nevergrad.optimizers.registry[name]
        # With a single worker, NGOpt chooses a method with a seed from the clock.
        self.workers = 1 if entry.no_parallelization else max(workers, 2)
        self._asks_left = budget if budget or not entry.one_shot else ASSUMED_BUDGET
        self._unasked: type[Exception] = nevergrad.errors.TellNotAskedNotSupportedError
        self._globals = random.Random(seed).getstate(), np.random.RandomState(seed).get_state()
        self._threaded = self.workers == 1 or entry.recast  # may have a thread of another library
        self._next: Candidate | None = None
        self._exponent: int | None = None
        self._best = math.inf
        self._worst = -math.inf
        self.name = name
        self.spent = False
        self.failed = False

        def build() -> Any:
            cube = nevergrad.p.Array(init=np.array(start), lower=0.0, upper=1.0)
            cube.random_state = np.random.RandomState(seed)
            cube.set_mutation(sigma=sigma)
            return entry(cube, budget=budget or ASSUMED_BUDGET, num_workers=self.workers)

        self._optimizer: Any = self._call(build)

    def ask(self) -> Candidate | None:
        """Return a new candidate, or None if the method has failed."""
        candidate, self._next = self._next, None
        if candidate is None:
            candidate = self._call(self._optimizer.ask)
        if self._asks_left is not None:
            self._asks_left -= 1
            self.spent = self.spent or not self._asks_left
        return candidate

    def x(self, candidate: Candidate) -> Floats:
        """Return the point of a candidate, [d]."""
        x: Floats = np.clip(np.asarray(candidate.value, float), 0.0, 1.0)
        return x

    def tell(self, candidate: Candidate | None, y: float) -> None:
        loss = self._loss(y)

        def work() -> None:
            self._optimizer.tell(candidate, loss)
            if self.workers == 1 and not self.spent:
                # A thread continues after a tell. Wait here for its next point: its warnings and draws from global
                # generators are contained.
                self._next = self._optimizer.ask()

        self._call(work)

    def tell_other(self, x: Floats, y: float) -> None:
        """Tell a point that the method did not propose, if the method accepts it."""
        loss = self._loss(y)

        def work() -> None:
            candidate = self._optimizer.parametrization.spawn_child(new_value=x.copy())
            with suppress(self._unasked):
                self._optimizer.tell(candidate, loss)

        self._call(work)

    def _loss(self, y: float) -> float:
        """Return `y` divided by the power of two near the first loss; a failure is worse than all losses."""
        if math.isnan(y):
            return self._worst + max(self._worst - self._best, 1.0) if self._worst >= self._best else 1.0
        if self._exponent is None and y:
            self._exponent = math.frexp(y)[1]
        try:
            loss = math.ldexp(y, -(self._exponent or 0))
        except OverflowError:
            loss = math.copysign(LARGEST_LOSS, y)
        loss = min(max(loss, -LARGEST_LOSS), LARGEST_LOSS)
        self._best = min(self._best, loss)
        self._worst = max(self._worst, loss)
        return loss

    def _call(self, work: Callable[[], Result]) -> Result | None:
        """Return `work()`; None if the library fails, which ends the method with a warning."""
        if self.failed:
            return None
        result, problem = None, None
        with self._private_globals(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = self._in_daemon(work) if self._threaded else work()
            except Exception as error:  # 540 methods of many authors: one that fails must not end a long run
                problem = error
        self.spent = self.spent or any("FinishedUnderlying" in w.category.__name__ for w in caught)
        if problem is not None:
            self.give_up()
            reason = f"{type(problem).__name__}: {problem}"
            warnings.warn(f"nevergrad's {self.name} failed and is given up ({reason})", RuntimeWarning, stacklevel=2)
        return result

    def give_up(self) -> None:
        """Make no more calls of the library."""
        self.spent = self.failed = True

    @contextmanager
    def _private_globals(self) -> Iterator[None]:
        """Replace the global generators by those of this method: some methods draw from them."""
        saved = random.getstate(), np.random.get_state()  # noqa: NPY002  (restored below)
        random.setstate(self._globals[0])
        np.random.set_state(self._globals[1])  # noqa: NPY002
        try:
            yield
        finally:
            self._globals = random.getstate(), np.random.get_state()  # noqa: NPY002
            random.setstate(saved[0])
            np.random.set_state(saved[1])  # noqa: NPY002

    @staticmethod
    def _in_daemon(work: Callable[[], Result]) -> Result:
        """Run `work` in a daemon thread and wait for it.

        Threads started by a daemon are daemons, too. Other threads would block the end of the interpreter, since they
        wait for a value.
        """
        result: list[Result] = []
        problem: list[BaseException] = []

        def run() -> None:
            try:
                result.append(work())
            except BaseException as error:  # handed to the caller below
                problem.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
        if problem:
            raise problem[0]
        return result[0]
