"""Evaluations on a Dask cluster: as many at a time as it has threads, asked again as it grows and shrinks.

The function travels once to each worker, also to those that come later. Dask itself runs again what a dead worker had,
elsewhere, until its allowed failures are used up. It counts a death against all that the worker had been given, so such
a job is sent once more, one of them at a time; after that the point has failed. Where the connection to the scheduler
is lost and comes back, what was out is sent again; where it does not, the run ends with an error.
"""

import heapq
import logging
import queue
import threading
import time
from collections import deque
from contextlib import suppress
from itertools import count
from typing import Any
from uuid import uuid4

import cloudpickle
import distributed

from lamcts.study.devices import Worker
from lamcts.study.evaluation import Call, Job, Outcome, evaluate, takes, takes_seed
from lamcts.text import safe_text
from lamcts.types import Json
from lamcts.utils import interrupts

TRIES = 2  # a job that Dask gave up, or that somebody else cancelled, is sent once more
LOOK_SECONDS = 1.0  # between two looks at how many workers there are: a look costs the scheduler a message (by eye)
STEP_SECONDS = 0.05  # between two looks at a connection that Dask is trying to get back (by eye)
LOST = "scheduler-connection-lost"  # Dask's reason of what it cancels then
logger = logging.getLogger("lamcts")


class CannotLoad(Exception):
    """A worker cannot load the function."""


class InstalledFunction(distributed.WorkerPlugin):
    """The function of a run, on each worker under a name."""

    def __init__(self, f: Call) -> None:
        self.name = f"lamcts-{uuid4().hex[:12]}"
        self._data: bytes = _packed(f)

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


def _packed(f: Call) -> bytes:
    try:
        return bytes(cloudpickle.dumps(f))
    except Exception as error:
        name = getattr(f, "__qualname__", type(f).__name__)
        raise ValueError(
            f"executor: expected a function that can be sent to Dask's workers, got {name} ({safe_text(error)}); "
            "let it open files, locks and connections itself, when it is called"
        ) from error


def _evaluate_there(name: str, seeded: bool, *arguments: Any) -> Outcome:
    """Evaluate on a worker."""
    function: Any = distributed.get_worker().plugins[name]
    return evaluate(function.load(), seeded, *arguments)


class Cluster:
    """Evaluates on the workers of a Dask client, which is left open.

    size: evaluations at a time (None: as many as there are threads, and one where there is no worker yet). options: of
    `client.submit`, such as `resources`.
    """

    def __init__(self, f: Call, client: Any, size: int | None = None, options: Json | None = None) -> None:
        self._client, self._size, self._options = client, size, {**(options or {}), "pure": False}
        self._function, self._seeded, self._tells = InstalledFunction(f), takes_seed(f), takes(f, "worker")
        self._workers: dict[str, int] = {}  # by key: the number that the function gets as that of its worker
        self._out: dict[str, tuple[int, Job, Any]] = {}  # by key: which it is in order of start, and its future
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()  # keys; filled by Dask's thread
        self._done: list[tuple[int, Job, Outcome]] = []  # a heap: of several that have ended, the one started first
        self._suspects: deque[tuple[int, Job]] = deque()  # on which workers may have died; the first one is out
        self._started, self._given_up = 0, dict[int, int]()  # how often Dask gave up a job
        self._threads, self._looked = 0, 0.0
        self._comm: object = None  # the connection on which the function was installed
        self._install()
        self._look()
        if not self._threads and size is None:
            logger.info("the Dask cluster %s has no worker yet: the first evaluation waits for one", self._where)

    @property
    def free(self) -> int:
        return max((self._size or max(self._threads, 1)) - self.running, 0)

    @property
    def running(self) -> int:
        waiting = max(len(self._suspects) - 1, 0)
        return len(self._out) + len(self._done) + waiting

    @property
    def ready(self) -> bool:
        return bool(self._done) or not self._ended.empty()

    def start(self, job: Job) -> None:
        self._submit(self._started, job)
        self._started += 1

    def wait(self) -> tuple[Job, Outcome] | None:
        """Wait for a job to end and return it, or None where workers have come, so that more can be started."""
        before = self.free
        while not self._done:
            interrupts.check()
            self._look()
            if self.free > before:
                return None
            with suppress(queue.Empty):
                self._collect(self._ended.get(timeout=interrupts.CHECK_SECONDS))
        _, job, outcome = heapq.heappop(self._done)
        return job, outcome

    def close(self) -> None:
        """Cancel queued tasks; running ones finish and their results are dropped."""
        futures = [future for _, _, future in self._out.values()]
        self._out.clear()
        self._done.clear()
        self._suspects.clear()
        with suppress(Exception):  # whatever a connection that is lost has to say: the run is over
            if self._client.status == "running":
                self._client.cancel(futures, force=True)
                self._client.unregister_worker_plugin(self._function.name)

    def _install(self) -> None:
        """Give the function to all workers, those to come too."""
        if self._comm is not None and self._comm is self._client.scheduler_comm:
            return
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

    def _look(self) -> None:
        """Ask how many threads there are, now and then."""
        now = time.monotonic()
        if self._client.status != "running" or (self._looked and now - self._looked < LOOK_SECONDS):
            return
        self._looked = now
        with suppress(OSError):  # lost just now: the futures will say so
            before, self._threads = self._threads, sum(self._client.nthreads().values())
            if before and not self._threads:
                text = "the Dask cluster %s has no worker left: %d evaluations wait for one to come"
                logger.warning(text, self._where, self.running)

    def _submit(self, order: int, job: Job) -> None:
        key = f"{self._function.name}-{order}-{uuid4().hex[:8]}"
        index = next(i for i in count() if i not in self._workers.values())
        worker = Worker(index) if self._tells else None
        arguments = self._function.name, self._seeded, *job.arguments, worker
        try:
            future = self._client.submit(_evaluate_there, *arguments, key=key, **self._options)
        except Exception as error:  # of a client that is closed
            if self._client.status in ("running", "connecting"):
                raise
            raise self._gone() from error
        self._out[key], self._workers[key] = (order, job, future), index
        self._watch(key)

    def _watch(self, key: str) -> None:
        self._out[key][2].add_done_callback(lambda _: self._ended.put(key))

    def _collect(self, key: str) -> None:
        """Take what has ended: `key`, and all that came after it, whose values are fetched in one go."""
        keys = [key]
        with suppress(queue.Empty):
            while True:
                keys.append(self._ended.get_nowait())
        futures = {key: self._out[key][2] for key in keys}
        for key in [key for key, future in futures.items() if future.status in ("pending", "lost")]:
            del futures[key]  # its worker died with the value: Dask evaluates it again
            self._watch(key)
        good = [key for key, future in futures.items() if future.status == "finished"]
        values: dict[str, Outcome] = {}
        if len(good) > 1:
            with suppress(Exception):  # then each says its own
                values = dict(zip(good, self._client.gather([futures[key] for key in good]), strict=True))
        for key in futures:
            self._take(key, values.get(key))

    def _take(self, key: str, outcome: Outcome | None) -> None:
        order, job, future = self._out.pop(key)
        del self._workers[key]
        try:
            outcome = future.result() if outcome is None else outcome
        except CannotLoad as error:
            raise RuntimeError(
                f"executor: a worker of {self._where} cannot load the function ({error}); expected a module that the "
                "workers can import: client.upload_file('module.py'), or define the function in the main program"
            ) from None
        except distributed.CancelledError as cancelled:
            outcome = self._again(order, job, cancelled)
        except distributed.KilledWorker as killed:
            outcome = self._suspect(order, job, killed)
        except Exception as raised:  # what Dask itself has to say
            outcome = Outcome(None, (type(raised).__name__, safe_text(raised)), float("nan"))
        if outcome is not None:
            self._given_up.pop(order, None)
            heapq.heappush(self._done, (order, job, outcome))
            self._next_suspect(order)

    def _again(self, order: int, job: Job, cancelled: BaseException) -> Outcome | None:
        """Send a job again that was cancelled; return its failure where somebody cancelled it too often."""
        if getattr(cancelled, "reason", None) == LOST or self._client.status != "running":
            self._reconnected()
        elif self._hopeless(order):
            return Outcome(None, ("CancelledError", safe_text(cancelled)), float("nan"))
        self._submit(order, job)
        return None

    def _suspect(self, order: int, job: Job, killed: Any) -> Outcome | None:
        """Send a job again once no other suspect is out; return its failure where workers died on it then, too."""
        if self._hopeless(order):
            deaths = TRIES * (killed.allowed_failures + 1)
            text = f"{deaths} workers died at this point, the last of them {killed.last_worker.address}"
            return Outcome(None, ("KilledWorker", text), float("nan"))
        self._suspects.append((order, job))
        if len(self._suspects) == 1:
            self._submit(order, job)
        return None

    def _next_suspect(self, ended: int) -> None:
        if self._suspects and self._suspects[0][0] == ended:
            self._suspects.popleft()
            if self._suspects:
                self._submit(*self._suspects[0])

    def _hopeless(self, order: int) -> bool:
        """Note that Dask gave up a job; return whether it did so too often."""
        self._given_up[order] = self._given_up.get(order, 0) + 1
        return self._given_up[order] >= TRIES

    def _reconnected(self) -> None:
        """Wait while Dask tries to get the scheduler back (for as long as Client(timeout=) says)."""
        while self._client.status == "connecting":
            interrupts.check()
            time.sleep(STEP_SECONDS)
        if self._client.status != "running":
            raise self._gone()
        self._install()  # a scheduler that was started again knows nothing

    def _gone(self) -> RuntimeError:
        return RuntimeError(
            f"the Dask scheduler of {self._where} is gone (the client is {self._client.status}); what was evaluated is "
            "in the journal, if there is one: start a cluster, and make the same call again with its client"
        )

    @property
    def _where(self) -> str:
        return str(getattr(self._client.scheduler, "address", "a closed client"))
