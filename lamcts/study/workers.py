"""The pool of a run: this process, threads, worker processes, the user's executor, or one call for many points."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.spaces.values import brief
from lamcts.study.devices import VISIBLE, devices_of
from lamcts.study.evaluation import Call, evaluate, evaluate_together, takes
from lamcts.study.executors import InProcess, Pool, Renewed, Slot, Together
from lamcts.study.timeouts import interrupted_late
from lamcts.utils.argument_hints import TIMEOUT

if TYPE_CHECKING:
    from distributed import Client

    from lamcts.study.options import RunSettings

ALL = -1  # `workers`: one per core
THREADS = "threads"


def check_workers(workers: object, executor: object) -> None:
    """Raise ValueError for invalid `workers`, or an executor that cannot evaluate."""
    _check_executor(executor)
    if workers is None or (isinstance(workers, str) and workers == THREADS):
        return
    is_whole = isinstance(workers, (int, np.integer)) and not isinstance(workers, bool)
    if not (is_whole and (workers == ALL or workers >= 1)):  # type: ignore[operator]
        raise ValueError(
            f"workers: expected a whole number of at least 1, -1 (one a core), 'threads' or None, got {brief(workers)}"
        )


def check_timeout(timeout: object, workers: object) -> None:
    """Raise ValueError for a `timeout` that is not a number of seconds, or cannot be enforced."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < float("inf"):
        raise ValueError(f"timeout: expected a number above 0 or None, got {brief(timeout)}; {TIMEOUT}")
    if workers is None and not (hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()):
        raise ValueError(
            f"timeout: expected workers=n with it (1 is enough), since only a process can be ended here; {TIMEOUT}"
        )


def pool_of(f: Call, settings: "RunSettings") -> Pool:
    """Return the pool that evaluates a function with the settings of a run."""
    n = settings.workers
    devices = devices_of(settings.devices)
    timeout = settings.timeout
    if n is None and devices is not None:
        n = len(devices)
    if n == ALL or isinstance(n, str):
        n = min(cores(), settings.budget)
    limit = None if settings.workers == ALL else n
    call: Callable[..., Any] = partial(evaluate, f, takes(f, "seed"))
    if settings.vectorized:
        call = partial(evaluate_together, f, takes(f, "seed"))
        slots = [Slot(Together(), lambda: settings.batch)]
    elif settings.executor is not None and (client := client_of(settings.executor)) is not None:
        from lamcts.study.cluster import DaskExecutor

        dask = DaskExecutor(f, client, getattr(settings.executor, "_kwargs", None))
        call = dask.call
        slots = [Slot(dask, dask.size if limit is None else lambda: limit)]
    elif settings.executor is not None or settings.workers == THREADS:
        executor = Renewed.of(settings.executor or partial(ThreadPoolExecutor, n))
        size = limit or executor.workers
        slots = [Slot(executor, lambda: size)]
    elif n is not None and (n > 1 or timeout is not None or devices is not None):
        from lamcts.study.processes import WorkerProcess, evaluate_installed, picklable

        call = evaluate_installed
        sent = picklable(f, f"workers={min(n, settings.budget)}")
        variables = [{} if devices is None else {VISIBLE: devices[i]} for i in range(min(n, settings.budget))]
        processes = [
            WorkerProcess(sent, worker_variables, timeout, checks=not i) for i, worker_variables in enumerate(variables)
        ]
        slots = [Slot(process, lambda: 1, i) for i, process in enumerate(processes)]
    else:
        slots = [Slot(InProcess(), lambda: 1)]
        call = call if timeout is None else partial(interrupted_late, call, timeout)
    return Pool(call, slots, takes(f, "worker"), devices)


def client_of(executor: object) -> "Client | None":
    """Return the Dask client of an executor, which may be the client or `client.get_executor()`; None for another."""
    dask = sys.modules.get("distributed")  # loaded, if there is a client
    client = getattr(executor, "_client", executor)
    return client if dask is not None and isinstance(client, dask.Client) else None


def _check_executor(executor: object) -> None:
    """Raise ValueError for an executor that cannot evaluate."""
    if executor is None:
        return
    expected = "executor: expected a concurrent.futures executor, a Dask client, or a function that makes an executor"
    if hasattr(executor, "get_client"):
        raise ValueError(f"{expected}, got the cluster {type(executor).__name__}: pass executor=cluster.get_client()")
    if not (hasattr(executor, "submit") or callable(executor)):
        raise ValueError(f"{expected}, got {type(executor).__name__}")
    client = client_of(executor)
    if client is not None and client.asynchronous:
        raise ValueError("executor: expected a Dask client that blocks, got one made with asynchronous=True")
    if client is not None and client.status not in ("running", "connecting"):
        raise ValueError(f"executor: expected a Dask client that is connected, got one that is {client.status}")


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
