"""Evaluations on a Dask cluster, one at a time for each thread of its workers, whose number may change.

The function is sent once to each worker. Dask runs the jobs of a dead worker again on other workers, up to its number
of allowed failures. Dask counts a death against all jobs of the worker. Such a job is therefore sent again, without
other such jobs at the same time, and fails at the next death. After a lost connection to the scheduler, pending jobs
are sent again; if the connection does not come back, the run ends with an error.
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

LOOK_SECONDS = 1.0  # between two counts of the threads, each of which costs the scheduler a message
STEP_SECONDS = 0.05  # between two checks of a connection that Dask restores
LOST = "scheduler-connection-lost"  # Dask's reason to cancel jobs after a lost connection
logger = logging.getLogger("lamcts")


class CannotLoad(Exception):
    """A worker cannot load the function."""


class KilledWorker(CancelledError):
    """Workers died on a job until Dask gave up."""


class InstalledFunction(distributed.WorkerPlugin):
    """The function of a run, installed on each worker under a name."""

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
        """Return the function, loaded at the first call, so that an evaluation reports the error."""
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
    """Evaluates by `call` on the workers of a Dask client, which stays open."""

    def __init__(self, f: Call, client: Any, options: Json | None = None) -> None:
        self._client = client
        self._options = {**(options or {}), "pure": False}
        self._function = InstalledFunction(f)
        self.call = partial(_evaluate_there, self._function.name, takes(f, "seed"))
        self._futures: set[Any] = set()  # Dask's futures
        self._n_threads = 0
        self._counted_at = -math.inf
        self._comm: object = None  # the connection on which the function was installed
        self._unusable: RuntimeError | None = None
        self._connect()
        if not self._n_threads_now():
            logger.info("the Dask cluster %s has no worker yet: the first evaluation waits for one", self._where)

    def size(self) -> int:
        """Return the number of threads, at least 1; RuntimeError for a closed client."""
        if self._client.status in ("closing", "closed"):
            raise self._closed_error()
        return max(self._n_threads_now(), 1)

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **words: Any) -> "Future[Any]":
        self._connect()
        try:
            key = f"{self._function.name}-{uuid4().hex[:12]}"
            remote = self._client.submit(call, *arguments, key=key, **self._options)
        except Exception as error:  # the client may be closed
            if self._client.status in ("running", "connecting"):
                raise
            raise self._closed_error() from error
        local: Future[Any] = Future()
        local.set_running_or_notify_cancel()
        self._futures.add(remote)
        self._client.loop.add_callback(self._pass_on, remote, local)
        return local

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel queued tasks; running ones finish and their results are dropped. A second call does nothing."""
        futures = [*self._futures]
        self._futures = set()
        comm = self._comm
        self._comm = None
        with suppress(Exception):  # the run is over, and the connection may be lost
            if comm is not None and self._client.status == "running":
                self._client.cancel(futures, force=True)
                self._client.unregister_worker_plugin(self._function.name)

    async def _pass_on(self, remote: Any, local: "Future[Any]") -> None:
        """Wait for a task of Dask, in Dask's thread, and pass on its result or its error."""
        try:
            (outcome,) = await self._client.gather([remote], asynchronous=True)
            local.set_result(outcome)
        except Exception as raised:
            local.set_exception(self._error_of(raised))
        finally:
            self._futures.discard(remote)

    def _error_of(self, raised: Exception) -> Exception:
        """Return the error of a job for an error of Dask."""
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
        """Install the function on all present and future workers, once Dask is connected (see Client(timeout=))."""
        while self._client.status == "connecting":
            interrupts.check()
            time.sleep(STEP_SECONDS)
        if self._client.status != "running":
            raise self._closed_error()
        if self._unusable is not None:
            raise self._unusable
        if self._comm is not None and self._comm is self._client.scheduler_comm:
            return  # a restarted scheduler has another connection, and no function
        try:
            self._comm = self._client.scheduler_comm
            self._client.register_plugin(self._function, name=self._function.name)
        except Exception as error:
            if self._client.status != "running":
                raise self._closed_error() from error
            raise RuntimeError(
                f"executor: the workers of {self._where} do not take the function ({safe_text(error)}); expected them "
                "to have lamcts, and the versions of Python and Dask that this process has: client.get_versions(True)"
            ) from error

    def _n_threads_now(self) -> int:
        """Return the number of threads, counted once in `LOOK_SECONDS`."""
        now = time.monotonic()
        if self._client.status == "running" and now - self._counted_at >= LOOK_SECONDS:
            self._counted_at = now
            with suppress(OSError):  # the connection is lost, which the futures report
                before = self._n_threads
                self._n_threads = sum(self._client.nthreads().values())
                if before and not self._n_threads:
                    text = "the Dask cluster %s has no worker left: %d evaluations wait for one to come"
                    logger.warning(text, self._where, len(self._futures))
        return self._n_threads

    def _closed_error(self) -> RuntimeError:
        return RuntimeError(
            f"the Dask scheduler of {self._where} is gone (the client is {self._client.status}); what was evaluated is "
            "in the journal, if there is one: start a cluster, and make the same call again with its client"
        )

    @property
    def _where(self) -> str:
        return str(getattr(self._client.scheduler, "address", "a closed client"))
