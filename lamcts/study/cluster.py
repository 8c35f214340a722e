"""Evaluations on a Dask cluster: as many at a time as it has threads, asked again as it grows and shrinks.

The function travels once to each worker, also to those that come later. Dask itself runs again what a dead worker had,
elsewhere, until its allowed failures are used up. It counts a death against all that the worker had been given, so such
a job is sent once more, one of them at a time; after that the point has failed. Where the connection to the scheduler
is lost and comes back, what was out is sent again; where it does not, the run ends with an error.
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

import cloudpickle
import distributed

from lamcts.study.evaluation import Call, Outcome, evaluate, takes
from lamcts.study.executors import TRIES, ConnectionLost
from lamcts.text import safe_text
from lamcts.types import Json
from lamcts.utils import interrupts

LOOK_SECONDS = 1.0  # between two looks at how many workers there are: a look costs the scheduler a message (by eye)
STEP_SECONDS = 0.05  # between two looks at a connection that Dask is trying to get back (by eye)
LOST = "scheduler-connection-lost"  # Dask's reason of what it cancels then
logger = logging.getLogger("lamcts")


class CannotLoad(Exception):
    """A worker cannot load the function."""


class KilledWorker(CancelledError):
    """Workers died on a job, as often as Dask allows."""


class InstalledFunction(distributed.WorkerPlugin):
    """The function of a run, on each worker under a name."""

    def __init__(self, f: Call) -> None:
        self.name = f"lamcts-{uuid4().hex[:12]}"
        try:
            self._data = bytes(cloudpickle.dumps(f))
        except Exception as error:
            called = getattr(f, "__qualname__", type(f).__name__)
            raise ValueError(
                f"executor: expected a function that can be sent to Dask's workers, got {called} ({safe_text(error)}); "
                "let it open files, locks and connections itself, when it is called"
            ) from error

    def load(self) -> Any:
        """Return the function; loaded at the first call on a worker, so that its error comes with an evaluation."""
        with _loading:
            if not hasattr(self, "_f"):
                try:
                    self._f = cloudpickle.loads(self._data)
                except Exception as error:
                    raise CannotLoad(f"{type(error).__name__}: {safe_text(error)}") from None
            return self._f


_loading = threading.Lock()


def _evaluate_there(name: str, seeded: bool, *arguments: Any) -> Outcome:
    """Evaluate on a worker."""
    function: Any = distributed.get_worker().plugins[name]
    return evaluate(function.load(), seeded, *arguments)


class DaskExecutor(Executor):
    """Evaluates on the workers of a Dask client, which is left open, by `call`."""

    def __init__(self, f: Call, client: Any, options: Json | None = None) -> None:
        self._client, self._options = client, {**(options or {}), "pure": False}
        self._function = InstalledFunction(f)
        self.call = partial(_evaluate_there, self._function.name, takes(f, "seed"))
        self._out: set[Any] = set()  # Dask's futures
        self._threads, self._looked = 0, -math.inf
        self._comm: object = None  # the connection on which the function was installed
        self._unusable: RuntimeError | None = None
        self._connect()
        if not self._look():
            logger.info("the Dask cluster %s has no worker yet: the first evaluation waits for one", self._where)

    def size(self) -> int:
        """Return how many threads there are, and 1 where there is no worker yet; RuntimeError where it is closed."""
        if self._client.status in ("closing", "closed"):
            raise self._gone()
        return max(self._look(), 1)

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **words: Any) -> "Future[Any]":
        self._connect()
        try:
            key = f"{self._function.name}-{uuid4().hex[:12]}"
            there = self._client.submit(call, *arguments, key=key, **self._options)
        except Exception as error:  # of a client that is closed
            if self._client.status in ("running", "connecting"):
                raise
            raise self._gone() from error
        here: Future[Any] = Future()
        here.set_running_or_notify_cancel()
        self._out.add(there)
        self._client.loop.add_callback(self._pass_on, there, here)
        return here

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel queued tasks; running ones finish and their results are dropped. A second call does nothing."""
        futures, self._out, comm, self._comm = [*self._out], set(), self._comm, None
        with suppress(Exception):  # whatever a connection that is lost has to say: the run is over
            if comm is not None and self._client.status == "running":
                self._client.cancel(futures, force=True)
                self._client.unregister_worker_plugin(self._function.name)

    async def _pass_on(self, there: Any, here: "Future[Any]") -> None:
        """Wait for a task of Dask, in Dask's thread, and pass on how it has ended."""
        try:
            (outcome,) = await self._client.gather([there], asynchronous=True)
            here.set_result(outcome)
        except Exception as raised:
            here.set_exception(self._meaning(raised))
        finally:
            self._out.discard(there)

    def _meaning(self, raised: Exception) -> Exception:
        """Return what an error of Dask's means for a job."""
        if isinstance(raised, CannotLoad):
            self._unusable = RuntimeError(
                f"executor: a worker of {self._where} cannot load the function ({raised}); expected a module that the "
                "workers can import: client.upload_file('module.py'), or define the function in the main program"
            )
        if self._unusable or getattr(raised, "reason", None) == LOST or self._client.status != "running":
            return ConnectionLost()
        if isinstance(raised, distributed.KilledWorker):
            deaths = TRIES * (raised.allowed_failures + 1)
            return KilledWorker(f"{deaths} workers died at this point, the last of them {raised.last_worker.address}")
        return CancelledError(safe_text(raised)) if isinstance(raised, CancelledError) else raised

    def _connect(self) -> None:
        """Give the function to all workers, those to come too, once Dask is connected (Client(timeout=) limits it)."""
        while self._client.status == "connecting":
            interrupts.check()
            time.sleep(STEP_SECONDS)
        if self._client.status != "running":
            raise self._gone()
        if self._unusable is not None:
            raise self._unusable
        if self._comm is not None and self._comm is self._client.scheduler_comm:
            return  # another one is of a scheduler that was started again and knows nothing
        try:
            self._comm = self._client.scheduler_comm
            self._client.register_plugin(self._function, name=self._function.name)
        except Exception as error:
            if self._client.status != "running":
                raise self._gone() from error
            raise RuntimeError(
                f"executor: the workers of {self._where} do not take the function ({safe_text(error)}); expected them "
                "to have lamcts, and the versions of Python and Dask that this process has: client.get_versions(True)"
            ) from error

    def _look(self) -> int:
        """Return how many threads there are; they are counted now and then."""
        now = time.monotonic()
        if self._client.status == "running" and now - self._looked >= LOOK_SECONDS:
            self._looked = now
            with suppress(OSError):  # lost just now: the futures will say so
                before, self._threads = self._threads, sum(self._client.nthreads().values())
                if before and not self._threads:
                    text = "the Dask cluster %s has no worker left: %d evaluations wait for one to come"
                    logger.warning(text, self._where, len(self._out))
        return self._threads

    def _gone(self) -> RuntimeError:
        return RuntimeError(
            f"the Dask scheduler of {self._where} is gone (the client is {self._client.status}); what was evaluated is "
            "in the journal, if there is one: start a cluster, and make the same call again with its client"
        )

    @property
    def _where(self) -> str:
        return str(getattr(self._client.scheduler, "address", "a closed client"))
